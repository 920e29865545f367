// erf and gelu.
#include "core/kir/math_expr.hpp"

namespace ost::kir::expr {
namespace {

// -log(erfc(c)) for c >= 1.
Expr minus_log_erfc(Expr c) {
  if (!c.is_f64()) return horner(coef::kErfLarge32, c);
  // Two ranges, one Horner chain: the coefficients are selected.
  const Expr large = gt(c, 2.25);
  constexpr size_t kTerms = std::size(coef::kErfLarge64);
  static_assert(kTerms == std::size(coef::kErfMiddle64));
  const auto k = [&](size_t i) {
    return where(large, c.same(coef::kErfLarge64[i]), c.same(coef::kErfMiddle64[i]));
  };
  Expr q = k(kTerms - 1);
  for (size_t i = kTerms - 1; i-- > 0;) q = fma(q, c, k(i));
  return q;
}

}  // namespace

Expr erf(Expr x) {
  const Expr a = abs(x);
  const Expr small = fma(a, horner(coef::kErfSmall, x * x), a);
  const Expr q = minus_log_erfc(clamp_high(a, coef::Const{0x1.f9999ap+1, 5.95}));  // f32: 3.95f
  const Scaled e = exp_core(-q);
  const Expr large = fma(-e.p, pow2(e.i), 1);
  return copy_sign(where(lt(a, 1), small, large), x);
}

// The usual composition, whose absolute error is small everywhere and whose relative error is not
// bounded for x < -1.
Expr gelu(Expr x) { return (0.5 * x) * (1 + erf(x * coef::kSqrtHalf)); }

}  // namespace ost::kir::expr
