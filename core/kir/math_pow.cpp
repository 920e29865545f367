// pow: log2|x| in two parts, times y in two parts, exp2, and the special cases of C99 (annex F).
#include "core/kir/math_expr.hpp"

namespace ost::kir::expr {
namespace {

struct Pair {
  Expr hi, lo;
};

// log2(a) = e + 2/ln2 (s + s^3/3 + s^5 P(s^2)) with s = (m-1)/(m+1); the first two terms carry a
// low part.
Pair log2_pair(Expr a) {
  const auto [m, e] = split(a);
  const Expr f = m - 1;
  const Expr g = m + 1;
  const Expr g_low = m - (g - 1);
  const Expr y = 1 / g;
  const Expr s = f * y;
  const Expr s_low = fma(-s, g_low, fma(-s, g, f)) * y;
  const Expr z = s * s;
  const Expr z_low = fma(s, s, -z) + (s + s) * s_low;
  const Expr c = s * z;
  const Expr c_low = fma(s, z, -c) + fma(s, z_low, s_low * z);
  const Expr p = horner(coef::kPowTail, z);
  const Expr head_hi = a.same(coef::kPowHeadHi), cube_hi = a.same(coef::kPowCubeHi);
  const Expr t1 = head_hi * s;
  const Expr t1_low = fma(head_hi, s, -t1) + fma(head_hi, s_low, a.same(coef::kPowHeadLo) * s);
  const Expr t3 = cube_hi * c;
  // s^5; in f64 with its low part, because an error of s counts five times in it.
  const Expr c5 = a.is_f64() ? fma(c, z, fma(c, z_low, c_low * z)) : c * z;
  const Expr t3_tail = fma(a.same(coef::kPowCubeLo), c, c5 * p);
  const Expr t3_low = fma(cube_hi, c, -t3) + fma(cube_hi, c_low, t3_tail);
  const Expr h1 = e + t1;
  const Expr l1 = t1 - (h1 - e);
  const Expr h2 = h1 + t3;
  const Expr l2 = (t3 - (h2 - h1)) + (l1 + (t1_low + t3_low));
  const Expr hi = h2 + l2;
  return {hi, l2 - (hi - h2)};
}

Expr exp2_of_product(Expr y, Pair l, double limit) {
  Expr p = y * l.hi;
  const Expr low = where(lt(abs(p), limit), fma(y, l.hi, -p) + y * l.lo, 0);
  p = clamp_high(clamp_low(p, -limit), limit);
  const Expr t = p + coef::kMagic;
  const Expr f = (p - (t - coef::kMagic)) + low;
  return ldexp(exp2_core(f), to_bits(t) - to_bits(y.same(coef::kMagic)));
}

struct Parity {
  Expr integer, odd;  // bool
};
Parity parity(Expr y) {
  const Expr a = abs(y);
  const Expr big = ge(a, y.is_f64() ? 0x1p53 : 0x1p24);  // an even integer, or infinite
  const Expr safe = where(big, 0, y);
  const Expr i = cast(y.is_f64() ? DType::i64 : DType::i32, safe);
  const Expr whole = eq(cast(y.type(), i), safe);
  return {big | whole, ~big & whole & ne(i & 1, 0)};
}

}  // namespace

Expr pow(Expr x, Expr y) {
  const Expr ax = abs(x), ay = abs(y);
  const Expr inf = infinity(x);
  Expr v = exp2_of_product(y, log2_pair(ax), x.is_f64() ? 1100.0 : 160.0);
  const auto [integer, odd] = parity(y);
  const Expr y_negative = lt(y, 0);
  const Expr x_zero = eq(ax, 0);
  v = where(x_zero | eq(ax, inf), where(x_zero ^ y_negative, 0, inf), v);
  v = where(eq(ay, inf), where(eq(ax, 1), 1, where(gt(ax, 1) ^ y_negative, inf, 0)), v);
  const Expr negate = lt(to_bits(x), 0) & odd;
  v = where(negate, from_bits(to_bits(v) ^ sign_bit(x)), v);
  v = where(lt(x, 0) & lt(ax, inf) & ~integer & lt(ay, inf), nan(x), v);
  v = where(ne(x, x) | ne(y, y), x + y, v);
  return where(eq(y, 0) | eq(x, 1), 1, v);
}

}  // namespace ost::kir::expr
