// The prover never claims too much: for random indices, masks and counts, whatever it proves is checked at every point.
#include <gtest/gtest.h>

#include "tests/unit/kir/index_expression.hpp"

namespace ost::kir::testing {
namespace {

constexpr uint32_t kSeeds = 2500;

struct Access {
  Value index;
  Value mask;   // kNone: always
  Value count;
};

bool is_inside(const Kernel& k, const Access& a, const Point& point) {
  if (a.mask != kNone && eval(k, a.mask, point) == 0) return true;
  const int64_t index = eval(k, a.index, point);
  return index >= 0 && index < eval(k, a.count, point);
}

// The records of the finished kernel that the space's axes and variables became.
Space found_in(const Kernel& k, const Space& space) {
  Space out;
  for (Value v = 0; v < k.insts.size(); ++v) {
    if (k.op(v) == Op::var) {
      out.vars.push_back(v);
      out.var_max.push_back(space.var_max[k.insts[v].imm]);
    }
    if (k.op(v) == Op::axis) out.axes.push_back({v, k.insts[v].src[0]});
  }
  return out;
}

struct Tally {
  int proved = 0;
  int refused_rightly = 0;  // some point is outside
  int refused = 0;          // inside at all points, but not proved
};

void check_one(uint32_t seed, Tally& tally) {
  std::mt19937 rng(seed);
  Builder b;
  const Space space = Space::random(b, rng);
  TreeMaker maker(b, space, rng);
  const Value index = (seed % 3 == 0 ? maker.reshaped() : maker.index(3)).build(b);
  const Value mask = seed % 2 ? maker.condition(2).build(b) : kNone;
  Value count = b.i64(static_cast<int64_t>(rng() % 12));
  for (const Space::Axis& axis : space.axes) {
    if (rng() % 2) count = b.mul(count, axis.extent);
  }
  if (seed % 3 == 0) {
    count = b.i64(1);
    for (const Space::Axis& axis : space.axes) count = b.mul(count, axis.extent);
  }
  const Value source = b.param(0, DType::f32, count, OST_KIR_READ);
  const Value target = b.param(1, DType::f32, b.i64(1), OST_KIR_WRITE);
  b.store(target, b.i64(0), b.load(source, index, mask));
  const Result<Kernel> kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;

  Access access{kNone, kNone, kNone};
  for (Value v = 0; v < kernel->insts.size(); ++v) {
    if (kernel->op(v) == Op::load) access = {kernel->insts[v].src[1], kernel->insts[v].src[2], kernel->insts[kernel->insts[v].src[0]].src[0]};
  }
  const bool proved = prove_bounds(*kernel).has_value();
  bool inside = true;
  if (access.index != kNone) {
    found_in(*kernel, space).for_each_point(*kernel, [&](const Point& point) { inside = inside && is_inside(*kernel, access, point); });
  }
  EXPECT_TRUE(inside || !proved) << "seed " << seed << "\n" << to_text(*kernel);
  ++(proved ? tally.proved : inside ? tally.refused : tally.refused_rightly);
}

TEST(ProveBounds, NeverClaimsTooMuch) {
  Tally tally;
  for (uint32_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) check_one(seed, tally);
  RecordProperty("proved", tally.proved);
  RecordProperty("refused_rightly", tally.refused_rightly);
  RecordProperty("refused_though_inside", tally.refused);
  std::printf("proved %d, rightly refused %d, refused though inside %d\n", tally.proved, tally.refused_rightly, tally.refused);
  EXPECT_GT(tally.proved, 500);
  EXPECT_GT(tally.refused_rightly, 500);
}

}  // namespace
}  // namespace ost::kir::testing
