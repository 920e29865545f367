// The interpreter as a machine: which points run, in which order, what they may touch. The meaning
// of each scalar operation is in scalar_test.cpp, the orders of reductions in orders_test.cpp.
#include "core/kir/interpret.hpp"

#include <numeric>

#include "core/kir/math.hpp"
#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

std::vector<float> iota(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

TEST(Interpret, RunsEachPointOfTheParallelAxes) {
  Oracle o;
  const Value x = o.input(DType::f32, iota(3)), y = o.input(DType::f32, iota(700));
  const Value out = o.output(DType::f32, 2100);
  const Value i = o.axis(3), j = o.axis(700);
  Builder& b = o.b;
  b.store(out, b.add(b.mul(i, b.i64(700)), j),
          b.add(b.mul(b.load(x, i), b.f32(1000)), b.load(y, j)));
  const auto got = o.result<float>();
  for (size_t i2 = 0; i2 < 3; ++i2)
    for (size_t j2 = 0; j2 < 700; ++j2)
      ASSERT_EQ(got[i2 * 700 + j2], static_cast<float>(1000 * i2 + j2));
}

TEST(Interpret, StoresWithoutAxesHappenOnce) {
  Oracle o;
  const Value out = o.output(DType::f32, 2);
  o.b.store(out, o.b.i64(1), o.b.f32(7));
  const auto got = o.result<float>();
  EXPECT_EQ(got[1], 7);
  EXPECT_EQ(bits(got[0]), 0xeeeeeeeeu) << "the other element is untouched";
}

TEST(Interpret, AnEmptyAxisRunsNothingAndAnEmptyReductionGivesTheIdentity) {
  Oracle o;
  const Value x = o.input(DType::f32, std::vector<float>{});
  const Value out = o.output(DType::f32, 3);
  Builder& b = o.b;
  const Value none = o.axis(0), r = o.axis(0, Role::reduce);
  b.store(out, none, b.load(x, none));
  b.store(out, b.i64(0), b.reduce(Combine::sum, Order::tree, b.load(x, r), r));
  b.store(out, b.i64(1), b.reduce(Combine::prod, Order::blk256, b.load(x, r), r));
  b.store(out, b.i64(2), b.reduce(Combine::max, Order::any, b.load(x, r), r));
  EXPECT_TRUE(same_bits(o.result<float>(), std::vector<float>{0, 1, -__builtin_inff()}));
}

TEST(Interpret, ExtentsAndCountsFollowTheVariables) {
  Oracle o;
  Builder& b = o.b;
  const Value n = b.var(0, 0, 10);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ),
              out = b.param(1, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  b.store(out, i, b.add(b.load(x, i), b.f32(1)));
  auto kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<float> in = iota(10), result(10, -1);
  const ParamData params[] = {{in.data(), 40}, {result.data(), 40}};
  for (int64_t n_value : {0, 3, 10}) {
    std::fill(result.begin(), result.end(), -1.0f);
    ASSERT_TRUE(interpret(*kernel, params, std::vector<int64_t>{n_value}));
    for (int64_t k = 0; k < 10; ++k)
      EXPECT_EQ(result[static_cast<size_t>(k)], k < n_value ? static_cast<float>(k + 1) : -1.0f);
  }
}

TEST(Interpret, AMaskedLoadIsZeroWithoutAnAccessAndAMaskedStoreDoesNothing) {
  Oracle o;
  const Value x = o.input(DType::f32, std::vector<float>{5, 6});
  const Value out = o.output(DType::f32, 4);
  Builder& b = o.b;
  const Value i = o.axis(4);
  b.store(out, i, b.load(x, i, b.lt(i, b.i64(2))), b.lt(i, b.i64(3)));
  const auto got = o.result<float>();
  EXPECT_EQ(std::vector(got.begin(), got.begin() + 3), (std::vector<float>{5, 6, 0}));
  EXPECT_EQ(bits(got[3]), 0xeeeeeeeeu);
}

TEST(Interpret, ReductionsNestAndUseOuterValues) {
  // out[i] = max_j sum_k x[j, k] * (i + 1)
  Oracle o;
  const Value x = o.input(DType::f32, iota(12));
  const Value out = o.output(DType::f32, 2);
  Builder& b = o.b;
  const Value i = o.axis(2), j = o.axis(3, Role::reduce), k = o.axis(4, Role::reduce);
  const Value scale = b.cast(DType::f32, b.add(i, b.i64(1)));
  const Value row =
      b.reduce(Combine::sum, Order::tree, b.mul(b.load(x, b.add(b.mul(j, b.i64(4)), k)), scale), k);
  b.store(out, i, b.reduce(Combine::max, Order::any, row, j));
  EXPECT_EQ(o.result<float>(), (std::vector<float>{8 + 9 + 10 + 11, 2 * (8 + 9 + 10 + 11)}));
}

TEST(Interpret, SoftmaxRowsShareTheirReductions) {
  constexpr int64_t kRows = 3, kColumns = 1100;
  Oracle o;
  const auto data = numbers(kRows * kColumns);
  const Value x = o.input(DType::f32, data);
  const Value out = o.output(DType::f32, kRows * kColumns);
  Builder& b = o.b;
  const Value i = o.axis(kRows), j = o.axis(kColumns), r = o.axis(kColumns, Role::reduce),
              r2 = o.axis(kColumns, Role::reduce);
  const auto at = [&](Value column) { return b.load(x, b.add(b.mul(i, b.i64(kColumns)), column)); };
  const Value m = b.reduce(Combine::max, Order::any, at(r), r);
  const Value sum = b.reduce(Combine::sum, Order::tree, expand(b, Fn::exp, b.sub(at(r2), m)), r2);
  const Value e = expand(b, Fn::exp, b.sub(at(j), m));
  b.store(out, b.add(b.mul(i, b.i64(kColumns)), j), b.mul(e, b.div(b.f32(1), sum)));
  const auto got = o.result<float>();
  for (size_t row = 0; row < kRows; ++row) {
    double total = 0, weight = 0;
    for (size_t c = 0; c < kColumns; ++c) {
      total += static_cast<double>(got[row * kColumns + c]);
      weight += std::exp(static_cast<double>(data[row * kColumns + c]));
    }
    EXPECT_NEAR(total, 1, 1e-5);
    const double want = std::exp(static_cast<double>(data[row * kColumns + 1099])) / weight;
    EXPECT_NEAR(static_cast<double>(got[row * kColumns + 1099]), want, 1e-6 * want);
  }
}

TEST(Interpret, MatmulIsFastEnoughToBeAnOracle) {
  // 64^3 in the plainest form; the count of multiplications is what matters, the bits are
  // orders_test's business.
  constexpr int64_t kN = 64;
  Oracle o;
  const auto x = numbers(kN * kN, 3), y = numbers(kN * kN, 4);
  const Value a = o.input(DType::f32, x), c = o.input(DType::f32, y);
  const Value out = o.output(DType::f32, kN * kN);
  Builder& b = o.b;
  const Value i = o.axis(kN), j = o.axis(kN), k = o.axis(kN, Role::reduce), n = b.i64(kN);
  b.store(out, b.add(b.mul(i, n), j),
          b.contract(Order::blk256, b.load(a, b.add(b.mul(i, n), k)),
                     b.load(c, b.add(b.mul(k, n), j)), k));
  const auto got = o.result<float>();
  for (size_t i2 : {0, 17, 63}) {
    for (size_t j2 : {0, 40, 63}) {
      float want = 0;
      for (size_t k2 = 0; k2 < kN; ++k2) want = std::fma(x[i2 * kN + k2], y[k2 * kN + j2], want);
      EXPECT_TRUE(same_bits(got[i2 * kN + j2], want));
    }
  }
}

// --- carry axes ---

TEST(InterpretCarry, EachIterationSeesTheStoresOfTheEarlierOnes) {
  // Running sum in place: s[0] += x[c]; y[c] = s[0]
  Oracle o;
  const Value x = o.input(DType::f32, std::vector<float>{1, 2, 3, 4});
  const Value s = o.input(DType::f32, std::vector<float>{10}, OST_KIR_READ | OST_KIR_WRITE);
  const Value y = o.output(DType::f32, 4);
  Builder& b = o.b;
  const Value c = o.axis(4, Role::carry);
  const Value next = b.add(b.load(s, b.i64(0)), b.load(x, c));
  b.store(s, b.i64(0), next);
  b.store(y, c, next);
  EXPECT_EQ(o.result<float>(), (std::vector<float>{11, 13, 16, 20}));
  EXPECT_EQ(o.contents<float>(1), std::vector<float>{20});
}

TEST(InterpretCarry, ScatterAddAppliesUpdatesInAscendingOrder) {
  // out[index[c], j] += update[c, j]: the order shows in the bits.
  Oracle o;
  const auto updates = numbers(6 * 2);
  const Value index = o.input(DType::i64, std::vector<int64_t>{1, 0, 1, 1, 0, 1});
  const Value update = o.input(DType::f32, updates);
  const Value out = o.input(DType::f32, std::vector<float>(4, 0.0f), OST_KIR_READ | OST_KIR_WRITE);
  Builder& b = o.b;
  const Value c = o.axis(6, Role::carry), j = o.axis(2);
  const Value at = b.add(b.mul(b.load(index, c), b.i64(2)), j);
  b.store(out, at, b.add(b.load(out, at), b.load(update, b.add(b.mul(c, b.i64(2)), j))));
  std::vector<float> want(4, 0.0f);
  constexpr size_t kIndex[] = {1, 0, 1, 1, 0, 1};
  for (size_t c2 = 0; c2 < 6; ++c2)
    for (size_t j2 = 0; j2 < 2; ++j2) want[kIndex[c2] * 2 + j2] += updates[c2 * 2 + j2];
  EXPECT_TRUE(same_bits(o.result<float>(), want));
}

TEST(InterpretCarry, OuterCarryAxesRunOutermost) {
  // y[0] = 10 * y[0] + (2 * c1 + c2), for c1 < 2, c2 < 2: digits in the order of execution
  Oracle o;
  const Value y = o.input(DType::i64, std::vector<int64_t>{0}, OST_KIR_READ | OST_KIR_WRITE);
  Builder& b = o.b;
  const Value c1 = o.axis(2, Role::carry), c2 = o.axis(2, Role::carry);
  const Value digit = b.add(b.mul(c1, b.i64(2)), c2);
  b.store(y, b.i64(0), b.add(b.mul(b.load(y, b.i64(0)), b.i64(10)), b.add(digit, b.i64(1))));
  EXPECT_EQ(o.result<int64_t>(), std::vector<int64_t>{1234});
}

TEST(InterpretCarry, StatementsOfOneIterationRunInRecordOrder) {
  // For each c: a row of t is written, then its sum is taken.
  Oracle o;
  const Value t = o.input(DType::f32, std::vector<float>(3), OST_KIR_READ | OST_KIR_WRITE);
  const Value y = o.output(DType::f32, 4);
  Builder& b = o.b;
  const Value c = o.axis(4, Role::carry), j = o.axis(3), r = o.axis(3, Role::reduce);
  b.store(t, j, b.cast(DType::f32, b.mul(c, j)));
  const Value element = b.load(t, b.add(r, b.mul(c, b.i64(0))));
  b.store(y, c,
          b.reduce(Combine::sum, Order::tree,
                   b.mul(element, b.cast(DType::f32, b.add(c, b.i64(1)))), r));
  const Result<> ran = o.run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(o.contents<float>(1), (std::vector<float>{0, 3 * 2, 6 * 3, 9 * 4}));
}

TEST(Interpret, InPlaceUpdatesUseTheValueOfTheirOwnPoint) {
  // x[i] = 2 x[i] and y[i] = x[i] + 1 with the old x
  Oracle o;
  const Value x = o.input(DType::f32, iota(600), OST_KIR_READ | OST_KIR_WRITE);
  const Value y = o.output(DType::f32, 600);
  Builder& b = o.b;
  const Value i = o.axis(600);
  const Value old = b.load(x, i);
  b.store(x, i, b.mul(old, b.f32(2)));
  b.store(y, i, b.add(old, b.f32(1)));
  const auto got = o.result<float>();
  EXPECT_EQ(got[599], 600);
  EXPECT_EQ(o.contents<float>(0)[599], 1198);
}

// --- rare ---

TEST(InterpretRare, TheHintChangesNoValue) {
  // The guarded value and one that other records use as well.
  const auto make = [](bool rare, float limit) {
    Oracle o;
    const Value x = o.input(DType::f32, iota(1000));
    const Value out = o.output(DType::f32, 2000);
    Builder& b = o.b;
    const Value i = o.axis(1000), v = b.load(x, i);
    const Value shared = b.mul(v, b.f32(3));
    const Value slow = b.add(b.mul(v, v), shared);
    const Value inner = b.where(b.lt(v, b.f32(limit + 5)), b.mul(slow, b.f32(2)), slow, rare);
    b.store(out, i, b.where(b.lt(v, b.f32(limit)), inner, v, rare));
    b.store(out, b.add(i, b.i64(1000)), shared);
    return o.result<float>();
  };
  for (float limit : {-10.0f, 3.0f, 511.0f, 2000.0f})
    EXPECT_EQ(make(true, limit), make(false, limit)) << limit;
}

// --- errors ---

std::string error_of(const Result<>& r) { return r ? "no error" : r.error().message; }

TEST(InterpretErrors, AnAccessOutOfBoundsNamesRecordIndexAndParam) {
  Oracle o;
  const Value x = o.input(DType::f32, iota(5));
  const Value out = o.output(DType::f32, 6);
  const Value i = o.axis(6);
  o.b.store(out, i, o.b.load(x, i));
  EXPECT_TRUE(contains(error_of(o.run()), "load at index 5 of param 0, which has 5 elements"));
}

TEST(InterpretErrors, ANegativeIndexOfAStoreIsOutOfBounds) {
  Oracle o;
  const Value out = o.output(DType::f32, 6);
  const Value i = o.axis(6);
  o.b.store(out, o.b.sub(i, o.b.i64(1)), o.b.f32(1));
  EXPECT_TRUE(contains(error_of(o.run()), "store at index -1 of param 0, which has 6 elements"));
}

TEST(InterpretErrors, AnAccessOutOfBoundsInsideOfAReductionIsFound) {
  Oracle o;
  const Value x = o.input(DType::f32, iota(5));
  const Value out = o.output(DType::f32, 1);
  const Value r = o.axis(6, Role::reduce);
  o.b.store(out, o.b.i64(0), o.b.reduce(Combine::sum, Order::tree, o.b.load(x, r), r));
  EXPECT_TRUE(contains(error_of(o.run()), "load at index 5"));
}

class InterpretArguments : public ::testing::Test {
 protected:
  void SetUp() override {
    Builder b;
    const Value n = b.var(0, 1, 10);
    const Value out = b.param(0, DType::f32, n, OST_KIR_WRITE);
    b.store(out, b.axis(n, Role::parallel), b.f32(1));
    auto k = b.build();
    ASSERT_TRUE(k) << k.error().message;
    kernel = *k;
  }
  std::string run(std::vector<ParamData> params, std::vector<int64_t> vars) {
    return error_of(interpret(kernel, params, vars));
  }
  Kernel kernel;
  float data[10];
};

TEST_F(InterpretArguments, OfWrongNumberOrSizeAreErrors) {
  EXPECT_EQ(run({{data, 40}}, {10}), "no error");
  EXPECT_EQ(run({{data, 39}}, {10}), "param 0 has 39 bytes, wanted 10 elements of 4 bytes");
  EXPECT_EQ(run({}, {10}), "the kernel has 1 params, 0 were given");
  EXPECT_EQ(run({{data, 40}}, {}), "the kernel has 1 variables, 0 values were given");
}

TEST_F(InterpretArguments, VariablesOutsideOfTheirBoundsAreErrors) {
  EXPECT_EQ(run({{data, 40}}, {0}), "variable 0 is 0, wanted 1 to 10");
  EXPECT_EQ(run({{data, 40}}, {11}), "variable 0 is 11, wanted 1 to 10");
}

TEST(Interpret, APreparedInterpreterRunsAgainWithOtherArguments) {
  Builder b;
  const Value n = b.var(0, 0, 1000);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ),
              out = b.param(1, DType::f32, b.i64(1), OST_KIR_WRITE);
  const Value r = b.axis(n, Role::reduce);
  b.store(out, b.i64(0),
          b.reduce(Combine::sum, Order::tree, b.mul(b.load(x, r), b.cast(DType::f32, r)), r));
  auto kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;
  auto prepared = Interpreter::create(*kernel);
  ASSERT_TRUE(prepared);
  std::vector<float> in(1000, 1.0f);
  float result = 0;
  for (int64_t size : {10, 1000, 0, 600, 3}) {
    const ParamData params[] = {{in.data(), 4000}, {&result, 4}};
    ASSERT_TRUE(prepared->run(params, std::vector<int64_t>{size}));
    EXPECT_EQ(result, static_cast<float>(size * (size - 1) / 2)) << size;
  }
}

}  // namespace
}  // namespace ost::kir::testing
