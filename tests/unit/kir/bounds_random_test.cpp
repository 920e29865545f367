// The prover never claims too much: for random indices, masks and counts, whatever it proves is
// checked at every point.
#include <gtest/gtest.h>

#include "tests/unit/kir/brute_force.hpp"
#include "tests/unit/kir/index_expression.hpp"

namespace ost::kir::testing {
namespace {

constexpr uint32_t kSeeds = 2500;

struct Tally {
  int proved = 0;
  int refused_rightly = 0;  // some point is outside
  int refused = 0;          // inside at all points, but not proved
};

// A number out of memory, in the place of an axis. Its "extent" is not a bound.
Space::Axis data(Builder& b) {
  const Value source = b.param(2, DType::i64, b.i64(1), OST_KIR_READ);
  return {b.load(source, b.i64(0)), b.i64(2)};
}

void check_one(uint32_t seed, Tally& tally) {
  std::mt19937 rng(seed);
  Builder b;
  Space space = Space::random(b, rng);
  if (seed % 4 == 1) space.axes.push_back(data(b));
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
  if (seed % 4 != 1) b.param(2, DType::i64, b.i64(1), OST_KIR_READ);
  const Value source = b.param(0, DType::f32, count, OST_KIR_READ);
  const Value target = b.param(1, DType::f32, b.i64(1), OST_KIR_WRITE);
  b.store(target, b.i64(0), b.load(source, index, mask));
  const Result<Kernel> kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;

  const bool proved = prove_bounds(*kernel).has_value();
  const auto outside = outside_somewhere(*kernel);
  const bool inside = !outside;
  EXPECT_TRUE(inside || !proved) << outside.value_or("") << ", seed " << seed << "\n"
                                 << to_text(*kernel);
  ++(proved ? tally.proved : inside ? tally.refused : tally.refused_rightly);
}

TEST(ProveBounds, NeverClaimsTooMuch) {
  Tally tally;
  for (uint32_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) check_one(seed, tally);
  RecordProperty("proved", tally.proved);
  RecordProperty("refused_rightly", tally.refused_rightly);
  RecordProperty("refused_though_inside", tally.refused);
  std::printf("proved %d, rightly refused %d, refused though inside %d\n", tally.proved,
              tally.refused_rightly, tally.refused);
  EXPECT_GT(tally.proved, 500);
  EXPECT_GT(tally.refused_rightly, 500);
}

}  // namespace
}  // namespace ost::kir::testing
