// The elementary functions: error bounds against the C library in a wider type, special cases,
// committed hashes.
#include "core/kir/math.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/kir/strict_exp.hpp"
#include "tests/numerics/function_kernel.hpp"
#include "tests/numerics/stratified.hpp"
#include "tests/numerics/wide_reference.hpp"
#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

template <class Float>
constexpr const char* kTypeName = sizeof(Float) == 4 ? "f32" : "f64";

template <class Float>
std::vector<Float> evaluate(Fn fn, const std::vector<Float>& x, const std::vector<Float>& y = {}) {
  auto function = numerics::Evaluator<Float>::create(fn, x.size());
  EXPECT_TRUE(function) << function.error().message;
  std::vector<Float> out(x.size());
  const Result<> ran = function->run(x.data(), y.empty() ? x.data() : y.data(), out.data());
  EXPECT_TRUE(ran) << ran.error().message;
  return out;
}

// --- hashes ---

template <class Float>
uint64_t hash_of(Fn fn, int bits) {
  const uint64_t total = uint64_t{1} << bits;
  const size_t n = 1 << 14;
  auto function = numerics::Evaluator<Float>::create(fn, n);
  EXPECT_TRUE(function) << function.error().message;
  std::vector<Float> x(n), y(n), out(n);
  numerics::Hash<Float> hash;
  for (uint64_t first = 0; first < total; first += n) {
    for (size_t i = 0; i < n; ++i) {
      x[i] = numerics::input<Float>(first + i, bits);
      if (fn == Fn::pow) y[i] = numerics::partner(x[i]);
    }
    const Result<> ran = function->run(x.data(), y.data(), out.data());
    EXPECT_TRUE(ran) << ran.error().message;
    hash.add(first, out.data(), n);
  }
  return hash.value();
}

class MathHash : public ::testing::TestWithParam<Fn> {};
INSTANTIATE_TEST_SUITE_P(Functions, MathHash, ::testing::ValuesIn(numerics::kFunctions),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

#ifdef NDEBUG
constexpr int kBits32 = 24, kBits64 = 22;
#else
constexpr int kBits32 = 16, kBits64 = 16;  // unoptimised and sanitized builds
#endif

TEST_P(MathHash, OfF32IsTheCommittedOne) {
  const auto want =
      numerics::committed_hash("tests/numerics/hashes.txt", "f32", name_of(GetParam()), kBits32);
  ASSERT_TRUE(want) << "tests/numerics/hashes.txt has no line for it";
  EXPECT_EQ(hash_of<float>(GetParam(), kBits32), *want);
}
TEST_P(MathHash, OfF64IsTheCommittedOne) {
  const auto want =
      numerics::committed_hash("tests/numerics/hashes.txt", "f64", name_of(GetParam()), kBits64);
  ASSERT_TRUE(want) << "tests/numerics/hashes.txt has no line for it";
  EXPECT_EQ(hash_of<double>(GetParam(), kBits64), *want);
}

// --- error bounds ---

// The bounds that docs/numerics.md publishes, in units in the last place: normal and subnormal
// results.
struct Bound {
  double normal, subnormal;
};
Bound published_bound(Fn fn, bool f64) {
  std::ifstream page("docs/numerics.md");
  const std::string row = fmt::format("| {} ", name_of(fn));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(row)) continue;
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, '|');) cells.push_back(cell);
    if (cells.size() != 9) continue;  // a row of another table
    const auto number = [&](size_t i) {
      return cells[i].find_first_of("0123456789") == std::string::npos ? 0.5 : std::stod(cells[i]);
    };
    return f64 ? Bound{number(6), number(7)} : Bound{number(2), number(3)};
  }
  ADD_FAILURE() << "docs/numerics.md has no row for " << name_of(fn);
  return {};
}

template <class Float>
Float input_for(Fn fn, uint64_t i) {
  const auto unit = static_cast<double>(static_cast<int64_t>(numerics::mix(i))) * 0x1p-63;
  const double limit = sizeof(Float) == 4 ? 104 : 745;
  switch (i % 4) {
    case 0:
      return numerics::input<Float>(i, 16);
    case 1:
      return static_cast<Float>(unit * limit);
    case 2:
      return static_cast<Float>(unit * (fn == Fn::sin || fn == Fn::cos ? 1e5 : 4));
    default:
      return static_cast<Float>(1 + unit * 0.5);
  }
}

template <class Float>
void check_bound(Fn fn) {
  const Bound bound = published_bound(fn, sizeof(Float) == 8);
  using Wide = std::conditional_t<sizeof(Float) == 4, double, long double>;
  using Limits = std::numeric_limits<Float>;
  static_assert(std::numeric_limits<Wide>::digits > Limits::digits,
                "the reference must be wider than the result");
  std::vector<Float> x, y;
  for (uint64_t i = 0; i < 1 << 16; ++i) {
    x.push_back(input_for<Float>(fn, i));
    const double l = std::log2(std::fabs(static_cast<double>(x.back())));
    y.push_back(
        static_cast<Float>(std::isfinite(l) && l != 0
                               ? static_cast<double>(static_cast<int64_t>(numerics::mix(i + 7))) *
                                     0x1p-63 * (sizeof(Float) == 4 ? 120 : 1000) / l
                               : 1));
  }
  const auto got = evaluate(fn, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide exact = numerics::wide_reference<Wide>(fn, x[i], y[i]);
    if (!std::isfinite(static_cast<Float>(exact)) || static_cast<Float>(exact) == 0) continue;
    if (fn == Fn::gelu && x[i] <= -1) continue;  // composed: bounded absolutely, below
    const int e = std::max(std::ilogb(exact) + 1, Limits::min_exponent);
    const Wide unit = std::ldexp(Wide{1}, e - Limits::digits);
    const auto ulp = static_cast<double>(std::fabs(exact - static_cast<Wide>(got[i])) / unit);
    const bool small = std::fabs(exact) < static_cast<Wide>(Limits::min());
    ASSERT_LE(ulp, (small ? bound.subnormal : bound.normal) + 0.002)
        << name_of(fn) << "(" << x[i] << ", " << y[i] << ") = " << got[i];
  }
}

class MathError : public ::testing::TestWithParam<Fn> {};
INSTANTIATE_TEST_SUITE_P(Functions, MathError, ::testing::ValuesIn(numerics::kFunctions),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(MathError, OfF32IsWithinThePublishedBound) { check_bound<float>(GetParam()); }
TEST_P(MathError, OfF64IsWithinThePublishedBound) {
  if (std::numeric_limits<long double>::digits < 64)
    GTEST_SKIP() << "needs a long double that is wider than double";
  check_bound<double>(GetParam());
}

TEST(MathGelu, ErrorIsSmallAbsolutelyWhereItIsNotRelatively) {
  std::vector<float> x;
  for (int i = 0; i < 4096; ++i) x.push_back(-1.0f - static_cast<float>(i) / 256);
  const auto got = evaluate(Fn::gelu, x);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(static_cast<double>(got[i]),
                numerics::wide_reference<double>(Fn::gelu, static_cast<double>(x[i]), 0), 4.5e-7);
}

// --- special cases ---

template <class Float>
class MathSpecial : public ::testing::Test {
 protected:
  static constexpr Float kInf = std::numeric_limits<Float>::infinity();
  static constexpr Float kNaN = std::numeric_limits<Float>::quiet_NaN();
  static constexpr Float kTiny = std::numeric_limits<Float>::denorm_min();
  static constexpr Float kMax = std::numeric_limits<Float>::max();
  void expect(Fn fn, const std::vector<Float>& x, const std::vector<Float>& want) {
    EXPECT_TRUE(same_bits(evaluate(fn, x), want)) << name_of(fn);
  }
};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MathSpecial, Floats);
#define OST_SPECIALS                                                             \
  using F = TypeParam;                                                           \
  [[maybe_unused]] constexpr F inf = TestFixture::kInf, nan = TestFixture::kNaN, \
                               tiny = TestFixture::kTiny, max = TestFixture::kMax

TYPED_TEST(MathSpecial, ExponentialsAsInC99) {
  OST_SPECIALS;
  this->expect(Fn::exp, {0, F(-0.0), inf, -inf, nan, max, -max, tiny},
               {1, 1, inf, 0, nan, inf, 0, 1});
  this->expect(Fn::exp2, {0, F(-0.0), inf, -inf, nan, max, -max, 10, -10},
               {1, 1, inf, 0, nan, inf, 0, 1024, F(0x1p-10)});
  this->expect(Fn::expm1, {0, F(-0.0), inf, -inf, nan, max, -max, tiny, -tiny},
               {0, F(-0.0), inf, -1, nan, inf, -1, tiny, -tiny});
}

TYPED_TEST(MathSpecial, LogarithmsAsInC99) {
  OST_SPECIALS;
  this->expect(Fn::log, {1, 0, F(-0.0), -1, inf, -inf, nan}, {0, -inf, -inf, nan, inf, nan, nan});
  this->expect(Fn::log2, {1, 0, F(-0.0), -1, inf, -inf, nan, 8, F(0x1p-100), tiny},
               {0, -inf, -inf, nan, inf, nan, nan, 3, -100, F(sizeof(F) == 4 ? -149 : -1074)});
  this->expect(Fn::log1p, {0, F(-0.0), -1, -2, inf, -inf, nan, tiny, -tiny},
               {0, F(-0.0), -inf, nan, inf, nan, nan, tiny, -tiny});
}

TYPED_TEST(MathSpecial, SineAndCosine) {
  OST_SPECIALS;
  this->expect(Fn::sin, {0, F(-0.0), inf, -inf, nan, tiny, -tiny},
               {0, F(-0.0), nan, nan, nan, tiny, -tiny});
  this->expect(Fn::cos, {0, F(-0.0), inf, -inf, nan, tiny}, {1, 1, nan, nan, nan, 1});
}

// The hardest reductions: the arguments closest to a multiple of pi/2.
TEST(MathSpecial, SineOfHugeArguments) {
  for (float x : {0x1.a4acccp+87f, 0x1.fffffep+127f, 0x1.00002p+17f})
    EXPECT_NEAR(static_cast<double>(evaluate<float>(Fn::sin, {x})[0]),
                std::sin(static_cast<double>(x)), 4e-8)
        << x;
  EXPECT_NEAR(
      evaluate<double>(Fn::cos, {0x1.6ac5b262ca1ffp+849})[0] / std::cos(0x1.6ac5b262ca1ffp+849), 1,
      1e-15);
  EXPECT_NEAR(evaluate<double>(Fn::sin, {0x1.fffffffffffffp+1023})[0],
              std::sin(0x1.fffffffffffffp+1023), 1e-16);
}

TYPED_TEST(MathSpecial, TanhSigmoidAndErfSaturate) {
  OST_SPECIALS;
  this->expect(Fn::tanh, {0, F(-0.0), inf, -inf, nan, max, tiny, -tiny},
               {0, F(-0.0), 1, -1, nan, 1, tiny, -tiny});
  this->expect(Fn::erf, {0, F(-0.0), inf, -inf, nan, max, -max}, {0, F(-0.0), 1, -1, nan, 1, -1});
  this->expect(Fn::sigmoid, {0, F(-0.0), inf, -inf, nan, max, -max},
               {F(0.5), F(0.5), 1, 0, nan, 1, 0});
}

TYPED_TEST(MathSpecial, SiluOfMinusInfinityIsMinusZeroAndGeluOfItIsNaN) {
  OST_SPECIALS;
  this->expect(Fn::silu, {0, F(-0.0), inf, -inf, nan, max, -max},
               {0, F(-0.0), inf, F(-0.0), nan, max, F(-0.0)});
  this->expect(Fn::gelu, {0, F(-0.0), inf, -inf, nan}, {0, F(-0.0), inf, nan, nan});
}

TYPED_TEST(MathSpecial, RsqrtIsExactForPowersOfFour) {
  OST_SPECIALS;
  this->expect(Fn::rsqrt, {1, 4, 16, F(0x1p-126), 0, F(-0.0), -1, inf, -inf, nan},
               {1, F(0.5), F(0.25), F(0x1p63), inf, -inf, nan, 0, nan, nan});
}

// All pairs of special values, against the C library, which follows annex F of C99.
TYPED_TEST(MathSpecial, PowFollowsAnnexF) {
  OST_SPECIALS;
  const std::vector<F> values{0,
                              F(-0.0),
                              1,
                              -1,
                              2,
                              -2,
                              3,
                              -3,
                              F(0.5),
                              F(-0.5),
                              F(1.5),
                              F(-1.5),
                              inf,
                              -inf,
                              nan,
                              max,
                              -max,
                              tiny,
                              -tiny,
                              F(0x1p24),
                              F(0x1p24 + 2),
                              F(-0x1.fffffep23),
                              F(0x1p53),
                              F(0x1.fffffep23),
                              1000,
                              -1000,
                              1001,
                              -1001};
  std::vector<F> x, y;
  for (F a : values)
    for (F b : values) x.push_back(a), y.push_back(b);
  const auto got = evaluate(Fn::pow, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const F want = std::pow(x[i], y[i]);
    if (std::isfinite(want) && want != 0)
      EXPECT_NEAR(static_cast<double>(got[i] / want), 1, sizeof(F) == 4 ? 2e-7 : 4e-16)
          << x[i] << "^" << y[i];
    else
      EXPECT_TRUE(same_bits(got[i], want)) << x[i] << "^" << y[i];
  }
}

// --- agreement ---

TEST(StrictExp, OfTheAttnOrderHasTheBitsOfTheExpansion) {
  std::vector<float> x;
  for (uint64_t i = 0; i < 1 << 16; ++i) x.push_back(numerics::input<float>(i, 16));
  const auto got = evaluate(Fn::exp, x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(same_bits(scalar::strict_exp(x[i]), got[i])) << x[i];
}

TEST(Math, ExpandsToArithmeticThatVerifies) {
  for (Fn fn : numerics::kFunctions) {
    for (DType type : {DType::f32, DType::f64}) {
      const auto kernel = numerics::function_kernel(fn, type, 4);
      ASSERT_TRUE(kernel) << name_of(fn) << ": " << kernel.error().message;
      EXPECT_LT(kernel->insts.size(), 400u) << name_of(fn);
    }
  }
}

}  // namespace
}  // namespace ost::kir::testing
