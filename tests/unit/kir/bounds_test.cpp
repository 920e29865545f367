// What the bounds prover must prove: the accesses that the scheduler makes. And what it must
// refuse: each negative case is shown to be out of bounds for some value of its variables, or is
// marked as true but beyond the method.
#include <gtest/gtest.h>

#include "tests/unit/kir/brute_force.hpp"

namespace ost::kir::testing {
namespace {

class Bounds : public ::testing::Test {
 protected:
  Value c(int64_t v) { return b.i64(v); }
  Value var(int64_t min, int64_t max) { return b.var(vars_++, min, max); }
  Value axis(Value n, Role role = Role::parallel) { return b.axis(n, role); }
  Value input(Value count, DType type = DType::f32) {
    return b.param(params_++, type, count, OST_KIR_READ);
  }
  Value both(Value x, Value y) { return b.bit_and(x, y); }
  Value inside(Value index, Value extent) { return both(b.le(c(0), index), b.lt(index, extent)); }

  // Reads `count` elements at `index`; what happens to the value does not matter.
  void read(Value count, Value index, Value mask = kNone) {
    const Value sum = b.reduce(Combine::max, Order::any, b.load(input(count), index, mask),
                               axis(c(1), Role::reduce));
    values_.push_back(sum);
  }
  std::string verdict() {
    for (Value v : values_) b.store(b.param(params_++, DType::f32, c(1), OST_KIR_WRITE), c(0), v);
    Result<Kernel> k = b.build();
    if (!k) return k.error().message;
    kernel_ = *k;
    const Result<> proved = prove_bounds(kernel_);
    outside_ = outside_somewhere(kernel_).value_or("");
    EXPECT_TRUE(!proved || outside_.empty()) << outside_;
    return proved ? "proved" : proved.error().message;
  }
  // Refused with this reason, and rightly: brute force finds an access outside.
  void expect_refused(const char* reason) {
    EXPECT_NE(verdict().find(reason), std::string::npos);
    EXPECT_NE(outside_, "") << "no access is outside for small values";
  }

  Builder b;
  Kernel kernel_;
  std::string outside_;
  uint32_t vars_ = 0;
  uint32_t params_ = 0;
  std::vector<Value> values_;
};

TEST_F(Bounds, RowMajorIndicesWithSymbolicExtents) {
  const Value n = var(0, 1000), m = var(0, 1000);
  const Value i = axis(n), j = axis(m), k = axis(c(3));
  read(b.mul(b.mul(n, m), c(3)), b.add(b.mul(b.add(b.mul(i, m), j), c(3)), k));
  read(b.mul(b.mul(m, n), c(3)), b.add(b.mul(b.add(b.mul(j, n), i), c(3)), k));  // permuted
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, OneStepBeyondIsRefused) {
  const Value n = var(0, 1000), m = var(0, 1000);
  const Value i = axis(n), j = axis(m);
  read(b.mul(n, m), b.add(b.add(b.mul(i, m), j), c(1)));  // i = n-1, j = m-1: the count itself
  expect_refused("the index may reach the count");
}

TEST_F(Bounds, SwappedStridesAreRefused) {
  const Value n = var(0, 1000), m = var(0, 1000);
  const Value i = axis(n), j = axis(m);
  read(b.mul(n, m), b.add(b.mul(i, n), j));  // n = 2, m = 1: i*2 = 2 of 2 elements
  expect_refused("the index may reach the count");
}

TEST_F(Bounds, FlipsAndShrinks) {
  const Value n = var(0, 1000);
  const Value i = axis(n), j = axis(c(8)), half = axis(b.div(n, c(2)));
  read(n, b.sub(b.sub(n, c(1)), i));
  read(b.mul(n, c(8)), b.add(b.mul(b.sub(b.sub(n, c(1)), i), c(8)), b.sub(c(7), j)));
  read(n, b.mul(half, c(2)));  // every second
  read(n, b.add(b.mul(half, c(2)), c(1)));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, PadsAreMaskedOnBothSides) {
  const Value n = var(0, 1000), lo = var(0, 10), hi = var(0, 10);
  const Value i = axis(b.add(b.add(n, lo), hi)), j = axis(c(5));
  const Value from = b.sub(i, lo);
  read(b.mul(n, c(5)), b.add(b.mul(from, c(5)), j), both(b.le(lo, i), b.lt(i, b.add(lo, n))));
  read(b.mul(n, c(5)), b.add(b.mul(from, c(5)), j), inside(from, n));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, AMaskOnOneSideIsNotEnough) {
  const Value n = var(1, 1000);
  const Value i = axis(b.add(n, c(2)));
  read(n, b.sub(i, c(1)), b.lt(b.sub(i, c(1)), n));  // i = 0 reads -1
  expect_refused("the index may be negative");
}

TEST_F(Bounds, AMaskOfADisjunctionIsNotEnough) {
  const Value n = var(1, 1000);
  const Value i = axis(b.add(n, c(2)));
  read(n, b.sub(i, c(1)), b.bit_or(b.le(c(1), i), b.lt(i, b.add(n, c(1)))));
  expect_refused("is not proved to be in bounds");
}

TEST_F(Bounds, NegatedConditionsCount) {
  const Value n = var(1, 1000);
  const Value i = axis(b.add(n, c(2)));
  const Value from = b.sub(i, c(1));
  read(n, from, b.unary(Op::bit_not, b.bit_or(b.lt(from, c(0)), b.le(n, from))));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ReshapesByConstantsAndSymbols) {
  const Value n = var(0, 500), m = var(0, 300);
  const Value p = axis(b.mul(b.mul(n, m), c(6)));
  read(b.mul(b.mul(n, m), c(6)),
       b.add(b.mul(b.rem(p, b.mul(n, c(6))), m), b.div(p, b.mul(n, c(6)))));
  const Value q = axis(b.mul(n, c(24)));
  const Value row = b.div(q, c(24)), column = b.rem(b.div(q, c(4)), c(6)), cell = b.rem(q, c(4));
  read(b.mul(n, c(24)), b.add(b.mul(b.add(b.mul(cell, c(6)), column), n), row));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ConvolutionsWithStrideDilationAndPadding) {
  const Value h = var(1, 500);
  const Value out =
      axis(b.add(b.div(b.sub(b.add(h, c(2)), c(3)), c(2)), c(1)));  // stride 2, pad 1, kernel 3
  const Value k = axis(c(3), Role::reduce), channel = axis(c(16), Role::reduce);
  const Value row = b.sub(b.add(b.mul(out, c(2)), k), c(1));
  const Value load =
      b.load(input(b.mul(h, c(16))), b.add(b.mul(row, c(16)), channel), inside(row, h));
  const Value sum = b.reduce(Combine::sum, Order::blk256,
                             b.reduce(Combine::sum, Order::blk256, load, channel), k);
  b.store(b.param(params_++, DType::f32, b.add(h, c(1)), OST_KIR_WRITE), out, sum);
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ConvolutionsWithoutPaddingNeedNoMask) {
  const Value h = var(5, 500), w = var(5, 500);
  const Value y = axis(b.sub(h, c(4))), x = axis(b.sub(w, c(4)));
  const Value ky = axis(c(5)), kx = axis(c(5));
  read(b.mul(h, w), b.add(b.mul(b.add(y, ky), w), b.add(x, kx)));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, GathersWithNegativeIndices) {
  const Value n = var(0, 1000), m = var(0, 100);
  const Value i = axis(c(10)), j = axis(m);
  const Value at =
      b.load(input(c(10), DType::i64), i);  // any i64: at + n may wrap where at is large
  const Value from = b.where(b.lt(at, c(0)), b.add(at, n), at);
  read(b.mul(n, m), b.add(b.mul(from, m), j), inside(from, n));
  read(n, from,
       both(b.le(b.unary(Op::neg, n), at),
            b.lt(at, n)));  // the mask is about `at`, the index is `from`
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ClampedGathers) {
  const Value n = var(1, 1000), m = var(0, 100);
  const Value j = axis(m);
  const Value at = b.cast(DType::i64, b.load(input(c(10), DType::i32), axis(c(10))));
  const Value low = b.binary(Op::max, at, c(0));
  read(b.mul(n, m), b.add(b.mul(b.binary(Op::min, low, b.sub(n, c(1))), m), j));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, AClampToAnEmptyExtentIsRefused) {
  const Value n = var(0, 1000);  // n = 0: min(.., -1) is -1
  const Value at = b.cast(DType::i64, b.load(input(c(10), DType::i32), axis(c(10))));
  read(n, b.binary(Op::min, b.binary(Op::max, at, c(0)), b.sub(n, c(1))));
  expect_refused("the index may be negative");
}

TEST_F(Bounds, UnmaskedGathersAreRefused) {
  const Value n = var(1, 1000);
  const Value at = b.load(input(c(10), DType::i64), axis(c(10)));
  read(n, at);
  expect_refused("the index may be negative");
}

TEST_F(Bounds, AnEqualityMaskPlacesTheIndex) {
  const Value n = var(1, 1000);
  const Value at = b.load(input(c(10), DType::i64), axis(c(10)));
  const Value i = axis(n);
  read(n, at, b.compare(Op::eq, at, i));  // one-hot
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ConcatenationsReadEachPartUnderItsMask) {
  const Value n = var(0, 100), m = var(0, 100);
  const Value i = axis(b.add(n, m));
  read(n, i, b.lt(i, n));
  read(m, b.sub(i, n), b.le(n, i));
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, TheWrongPartOfAConcatenationIsRefused) {
  const Value n = var(0, 100), m = var(0, 100);
  const Value i = axis(b.add(n, m));
  read(m, i, b.le(n, i));
  expect_refused("the index may reach the count");
}

TEST_F(Bounds, AnIndexWithoutItsAxisIsReadEvenIfTheAxisIsEmpty) {
  const Value n = var(0, 100);
  const Value i = axis(n);
  read(n, b.mul(i, c(0)),
       b.lt(i, n));  // the index 0 does not depend on the axis, so it is read for n = 0 too
  expect_refused("the index may reach the count");
}

TEST_F(Bounds, AFalseMaskReadsNothing) {
  Kernel k;  // not made by the builder, which would drop the load
  const auto text =
      "kir 1.0 l1 strict\n%0 = const i64 5\n%1 = const i64 0\n%2 = param f32 slot=0 r %1\n%3 = "
      "const bool false\n"
      "%4 = load f32 %2, %0, %3\n";
  k = *from_text(text);
  ASSERT_TRUE(verify(k));
  EXPECT_TRUE(prove_bounds(k));
}

TEST_F(Bounds, StoresAreProvedAsWell) {
  const Value n = var(0, 100);
  const Value i = axis(n);
  b.store(b.param(0, DType::f32, n, OST_KIR_WRITE), i, b.f32(1));
  EXPECT_TRUE(prove_bounds(*b.build()));
  const Value m = b.var(0, 0, 100);
  b.store(b.param(0, DType::f32, m, OST_KIR_WRITE), b.add(b.axis(m, Role::parallel), b.i64(1)),
          b.f32(1));
  const auto refused = prove_bounds(*b.build());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("store of slot 0 is not proved to be in bounds"),
            std::string::npos);
}

TEST_F(Bounds, ArgreduceIsAnIndexOfItsAxis) {
  const Value n = var(1, 100);
  const Value values = input(n);
  const Value r = axis(n, Role::reduce);
  const Value best = b.argreduce(Combine::max, b.load(values, r), r);
  read(n, best);
  EXPECT_EQ(verdict(), "proved");
}

TEST_F(Bounds, ArgreduceOfAnEmptyAxisIsRefused) {
  const Value n = var(0, 100);  // n = 0: the result is 0, the count is 0
  const Value values = input(n);
  const Value r = axis(n, Role::reduce);
  read(n, b.argreduce(Combine::max, b.load(values, r), r));
  expect_refused("the index may reach the count");
}

TEST_F(Bounds, ErrorsNameTheRecordAndTheRange) {
  const Value n = var(1, 9);
  read(n, axis(c(20)));
  EXPECT_EQ(verdict(),
            "kir record 9: load of slot 0 is not proved to be in bounds: the index may reach the "
            "count (index %6 is in 0..19, the count "
            "is %2); wanted an index below the count for all variable values, or a mask that makes "
            "it so");
}

// True, but beyond the method: no step relates the square to the product of two different indices.
TEST_F(Bounds, ReasoningAboutSquaresIsNotAttempted) {
  const Value n = var(1, 100);
  const Value i = axis(n), j = axis(n);
  read(c(10000),
       b.sub(b.add(b.mul(i, i), b.mul(j, j)), b.mul(i, j)));  // i*i + j*j - i*j >= 0 always
  EXPECT_NE(verdict().find("the index may be negative"), std::string::npos);
  EXPECT_EQ(outside_, "");
}

// A stranger's kernel must not buy much time or memory. The time is not measured here, where
// machines are busy: the test has ctest's limit, and without the budgets it would take hours.
TEST_F(Bounds, WorkOnManyAccessesIsBounded) {
  Kernel k;
  const auto record = [&](Op op, DType type, std::initializer_list<Value> operands,
                          uint64_t imm = 0, uint32_t aux = 0) {
    Inst inst{static_cast<uint16_t>(op),
              static_cast<uint8_t>(type),
              0,
              aux,
              {kNone, kNone, kNone, kNone},
              imm};
    for (Value v : operands) inst.src[inst.nsrc++] = v;
    k.insts.push_back(inst);
    return static_cast<Value>(k.insts.size() - 1);
  };
  const Value zero = record(Op::constant, DType::i64, {}, 0);
  const Value most = record(Op::constant, DType::i64, {}, 1000);
  const Value n = record(Op::var, DType::i64, {zero, most});
  const Value source = record(Op::param, DType::f32, {n}, 0, OST_KIR_READ);
  std::vector<Value> axes;
  for (uint64_t id = 0; id < 64; ++id)
    axes.push_back(record(Op::axis, DType::i64, {n}, id, OST_KIR_AXIS_PARALLEL));
  Value sum = axes[0];
  for (size_t i = 0; i < 300'000; ++i) {
    const Value product = record(Op::mul, DType::i64, {axes[i % 64], axes[i * 7 % 64]});
    sum = record(i % 2 ? Op::sub : Op::add, DType::i64, {sum, product});
    record(Op::load, DType::f32, {source, sum});
  }
  ASSERT_TRUE(verify(k)) << verify(k).error().message;
  EXPECT_FALSE(prove_bounds(k));
}

TEST_F(Bounds, WorkIsBounded) {
  std::string text =
      "kir 1.0 l1 strict\n%0 = const i64 0\n%1 = const i64 1000\n%2 = var i64 slot=0 %0, %1\n%3 = "
      "param f32 slot=0 r %2\n";
  int next = 4;
  for (int i = 0; i < 20; ++i) text += fmt::format("%{} = axis i64 parallel %2\n", next++);
  int sum = 4;
  for (int i = 1; i < 20; ++i) {
    text += fmt::format("%{} = mul i64 %{}, %{}\n", next, 4 + i, 4 + (i * 7) % 20);
    text += fmt::format("%{} = {} i64 %{}, %{}\n", next + 1, i % 2 ? "sub" : "add", sum, next);
    sum = next + 1;
    next += 2;
  }
  text += fmt::format("%{} = load f32 %3, %{}\n", next, sum);
  const Result<Kernel> k = from_text(text);
  ASSERT_TRUE(k) << k.error().message;
  ASSERT_TRUE(verify(*k)) << verify(*k).error().message;
  EXPECT_FALSE(prove_bounds(*k));
}

}  // namespace
}  // namespace ost::kir::testing
