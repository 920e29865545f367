// Measures the error of the elementary functions: prints rows of the table of docs/numerics.md.
// usage: numerics_ulp TYPE BITS [FUNCTION...]
// f32: 2^BITS stratified inputs, all of them with BITS = 32. f64: 2^BITS inputs of four kinds in
// turn: any bits, the function's own range, near 0, near 1. pow takes two arguments, also in f32,
// and is sampled.
//
// Each result is compared with the C library in a wider type; where that estimate comes near the
// maximum so far, MPFR decides. So the maximum is exact over the inputs seen.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tests/numerics/function_kernel.hpp"
#include "tests/numerics/reference.hpp"
#include "tests/numerics/stratified.hpp"

namespace {

using namespace ost;
using kir::Fn;

template <class Float>
using WideOf = std::conditional_t<sizeof(Float) == 4, double, long double>;

struct Maximum {
  double ulp = 0, x = 0, y = 0;
};

struct Table {
  Maximum normal, subnormal;
  double absolute = 0;  // largest absolute error
  uint64_t inputs = 0, finite = 0, misrounded = 0, above_one = 0, wrong_special = 0;
  double special_x = 0, special_y = 0;
};

template <class Float>
double range_of(Fn fn) {  // inputs of interest lie within +-range
  constexpr bool f64 = sizeof(Float) == 8;
  switch (fn) {
    case Fn::exp:
    case Fn::expm1:
    case Fn::sigmoid:
    case Fn::silu:
      return f64 ? 750 : 104;
    case Fn::exp2:
      return f64 ? 1080 : 151;
    case Fn::sin:
    case Fn::cos:
      return f64 ? 1e6 : 1e5;
    case Fn::tanh:
      return 20;
    case Fn::erf:
    case Fn::gelu:
      return 8;
    default:
      return 100;
  }
}

template <class Float>
Float sample(Fn fn, uint64_t i, int bits) {
  if (sizeof(Float) == 4 && fn != Fn::pow) return numerics::input<Float>(i, bits);
  const uint64_t h = numerics::mix(i);
  const double unit = static_cast<double>(static_cast<int64_t>(h)) * 0x1p-63;  // (-1, 1)
  switch (i % 4) {
    case 0:
      return numerics::from_bits<Float>(static_cast<numerics::BitsOf<Float>>(h));
    case 1:
      return static_cast<Float>(unit * range_of<Float>(fn));
    case 2:
      return static_cast<Float>(unit * 2);
    default:
      return static_cast<Float>(1 + unit * 0.5);
  }
}

// Exponents for which x^y stays in range most of the time.
template <class Float>
Float exponent_for(Float x, uint64_t i) {
  const uint64_t h = numerics::mix(i ^ 0x5bd1e995);
  if (i % 16 == 0) return numerics::partner(x);
  const double limit = sizeof(Float) == 4 ? 150 : 1080;
  const double l = std::log2(std::fabs(static_cast<double>(x)));
  const double unit = static_cast<double>(static_cast<int64_t>(h)) * 0x1p-63;
  const double y = l != 0 && std::isfinite(l) ? unit * limit / l : unit * 100;
  return static_cast<Float>(x < 0 ? std::nearbyint(y) : y);
}

// The unit in the last place of the type around `exact`: the spacing of floats there, subnormals
// included.
template <class Float>
long double unit_of(long double exact) {
  using Limits = std::numeric_limits<Float>;
  const int e =
      exact == 0 ? Limits::min_exponent : std::max(std::ilogb(exact) + 1, Limits::min_exponent);
  return std::ldexp(1.0L, e - Limits::digits);
}

template <class Float>
class Meter {
 public:
  explicit Meter(Fn fn) : fn_(fn) {}

  void add(Float x, Float y, Float got) {
    using Wide = WideOf<Float>;
    ++t_.inputs;
    const Wide ref = numerics::wide_reference<Wide>(fn_, x, y);
    const auto rounded = static_cast<Float>(ref);
    if (!std::isfinite(rounded) || rounded == 0 || !std::isfinite(got))
      return special(x, y, got, rounded);
    ++t_.finite;
    if (rounded != got) ++t_.misrounded;
    const long double error =
        std::fabs(static_cast<long double>(ref) - static_cast<long double>(got));
    if (static_cast<double>(error) > t_.absolute) t_.absolute = static_cast<double>(error);
    const double ulp = static_cast<double>(error / unit_of<Float>(ref));
    if (ulp > 1) ++t_.above_one;
    const bool small = std::fabs(static_cast<double>(ref)) < std::numeric_limits<Float>::min();
    const bool outside = fn_ == Fn::gelu && x <= -1;  // composed: no relative bound there
    if (outside) return;
    Maximum& m = small ? t_.subnormal : t_.normal;
    if (ulp + 0.01 < m.ulp || ulp < 0.5) return;
    const auto exact = exact_.compare(fn_, x, y, got);
    const double true_ulp = static_cast<double>(exact.error / unit_of<Float>(exact.exact));
    if (true_ulp > m.ulp) m = {true_ulp, x, y};
  }

  const Table& table() const { return t_; }

 private:
  // Zeros, infinities and NaNs: the class and the sign of the result must be right; a rounding to
  // or from the largest finite or the smallest number may differ by one step.
  void special(Float x, Float y, Float got, Float rounded) {
    if (got != got || rounded != rounded) {
      if (got != got && rounded != rounded) return;
    } else if (std::signbit(got) == std::signbit(rounded)) {
      if (got == rounded) return;
      if (std::nextafter(got, rounded) == rounded) return;
    }
    if (fn_ == Fn::gelu && x <= -1) return;
    if (t_.wrong_special++ == 0) t_.special_x = x, t_.special_y = y;
  }

  Fn fn_;
  Table t_;
  numerics::Exact exact_;
};

template <class Float>
Result<Table> measure(Fn fn, int bits) {
  const uint64_t total = uint64_t{1} << bits;
  const size_t n = std::min<uint64_t>(total, 1 << 16);
  OST_TRY_ASSIGN(auto function, numerics::Evaluator<Float>::create(fn, n));
  std::vector<Float> x(n), y(n), out(n);
  Meter<Float> meter(fn);
  for (uint64_t first = 0; first < total; first += n) {
    for (size_t i = 0; i < n; ++i) {
      x[i] = sample<Float>(fn, first + i, bits);
      if (fn == Fn::pow) y[i] = exponent_for(x[i], first + i);
    }
    OST_TRY(function.run(x.data(), y.data(), out.data()));
    for (size_t i = 0; i < n; ++i) meter.add(x[i], y[i], out[i]);
  }
  return meter.table();
}

void print(const char* type, Fn fn, const Table& t) {
  std::printf(
      "%s %-8s inputs %llu max %.4f ulp at (%a, %a), subnormal %.4f at (%a, %a), misrounded %.4f "
      "%%, above 1 ulp %llu, "
      "max abs %.3g, wrong specials %llu",
      type, kir::name_of(fn), static_cast<unsigned long long>(t.inputs), t.normal.ulp, t.normal.x,
      t.normal.y, t.subnormal.ulp, t.subnormal.x, t.subnormal.y,
      100.0 * static_cast<double>(t.misrounded) / static_cast<double>(t.finite ? t.finite : 1),
      static_cast<unsigned long long>(t.above_one), t.absolute,
      static_cast<unsigned long long>(t.wrong_special));
  if (t.wrong_special) std::printf(", first at (%a, %a)", t.special_x, t.special_y);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string type = argc > 1 ? argv[1] : "";
  const int bits = argc > 2 ? std::atoi(argv[2]) : 0;
  if ((type != "f32" && type != "f64") || bits < 1 || bits > 40) {
    std::fprintf(stderr, "usage: numerics_ulp f32|f64 BITS [FUNCTION...]\n");
    return 2;
  }
  for (const Fn fn : numerics::kFunctions) {
    bool wanted = argc == 3;
    for (int i = 3; i < argc; ++i) wanted = wanted || std::string(argv[i]) == kir::name_of(fn);
    if (!wanted) continue;
    const auto table = type == "f32" ? measure<float>(fn, bits) : measure<double>(fn, bits);
    if (!table) {
      std::fprintf(stderr, "%s: %s\n", kir::name_of(fn), table.error().message.c_str());
      return 70;
    }
    print(type.c_str(), fn, *table);
  }
}
