// exp, exp2, expm1 and what is made of them: tanh, sigmoid, silu. Every select keeps a NaN by the
// order of its comparison.
#include "core/kir/math_expr.hpp"

namespace ost::kir::expr {

ExpReduction reduce_exp(Expr x) {
  const Expr t = fma(x, coef::kLog2E, coef::kMagic);
  const Expr n = t - coef::kMagic;
  const Expr g = fma(n, -x.same(coef::kLn2Hi), x);  // exact
  const Expr minus_lo = x.same(coef::Const{-coef::kLn2Lo.f32, -coef::kLn2Lo.f64});
  const Expr f = fma(n, minus_lo, g);
  const Expr i = to_bits(t) - to_bits(x.same(coef::kMagic));
  return {n, i, f, fma(n, minus_lo, g - f)};
}

Scaled exp_core(Expr x) {
  const ExpReduction r = reduce_exp(x);
  const Expr p = horner(coef::kExp, r.f);
  if (!x.is_f64()) return {fma(fma(p, r.f, 1), r.f, 1), r.i};
  // 1 + f + (f^2 p + low) with what 1 + f lost added back.
  const Expr u = 1 + r.f;
  return {u + (fma(p * r.f, r.f, r.low) + (r.f - (u - 1))), r.i};
}

Expr exp(Expr x) {
  const Expr c = clamp_high(clamp_low(x, coef::Const{-104, -746}), coef::Const{89, 710});
  const Scaled e = exp_core(c);
  return ldexp(e.p, e.i);
}

Expr exp2_core(Expr f) { return fma(horner(coef::kExp2, f), f, 1); }

Expr exp2(Expr x) {
  const Expr c = clamp_high(clamp_low(x, coef::Const{-151, -1080}), coef::Const{129, 1025});
  const Expr t = c + coef::kMagic;
  const Expr f = c - (t - coef::kMagic);
  return ldexp(exp2_core(f), to_bits(t) - to_bits(x.same(coef::kMagic)));
}

Expr expm1(Expr x) {
  const Expr c = clamp_high(clamp_low(x, coef::Const{-20, -40}), coef::Const{89, 710});
  const auto [n, i, f, low] = reduce_exp(c);
  const Expr p = horner(coef::kExpm1, f);
  // (e^x - 1)/2 = u + ul + s f^2 p, with s = 2^(i-1)
  const Expr s = pow2(i - 1);
  const Expr b = s - 0.5;
  const Expr b_low = (s - b) - 0.5;
  const Expr u = fma(s, f, b);
  const Expr u_low = fma(s, f, b - u) + b_low;
  const Expr r = u + fma(s, fma(p * f, f, low), u_low);
  const Expr near_zero = copy_sign(abs(fma(p * f, f, f)), x);  // n = 0: f is x
  return where(eq(n, 0), near_zero, r + r);
}

namespace {

Expr tanh_f32(Expr x) {
  const Expr a = abs(x);
  const Expr z = x * x;
  const Expr small = fma(a * z, horner(coef::kTanh32, z), a);
  const Expr c = clamp_high(a, 10);
  const Scaled e = exp_core(c + c);
  const Expr large = 1 - 2 / (e.p * pow2(e.i) + 1);
  return copy_sign(where(lt(a, 0.8125), small, large), x);
}

// t / (t + 2) with t = expm1(2a) in two parts, and a corrected division.
Expr tanh_f64(Expr x) {
  const Expr a = abs(x);
  const Expr half = clamp_high(a, 20);
  const auto [n, i, f, low] = reduce_exp(half + half);
  const Expr p = horner(coef::kExp, f);
  const Expr s = pow2(i);
  const Expr b = s - 1;
  const Expr u = fma(s, f, b);
  const Expr u_low = fma(s, fma(p * f, f, low), fma(s, f, b - u));
  const Expr t = u + u_low;
  const Expr t_low = u_low - (t - u);
  const Expr d = t + 2;
  const Expr d_low = (t - (d - 2)) + t_low;
  const Expr y = 1 / d;
  const Expr q = t * y;
  const Expr r = fma(-q, d_low, fma(-q, d, t) + t_low);
  return copy_sign(where(lt(a, 0x1p-28), a, fma(r, y, q)), x);
}

}  // namespace

Expr tanh(Expr x) { return x.is_f64() ? tanh_f64(x) : tanh_f32(x); }

Expr sigmoid(Expr x) {
  const Expr c = clamp_low(-abs(x), coef::Const{-104, -746});
  const Scaled core = exp_core(c);
  const Expr e = ldexp(core.p, core.i);
  return where(ge(x, 0), 1, e) / (1 + e);
}

// x e keeps its bits although e alone may be subnormal: it is scaled in two steps, x between them.
Expr silu(Expr x) {
  const Expr c = clamp_low(-abs(x), coef::Const{-110, -760});
  const Scaled core = exp_core(c);
  const Expr h = core.i >> 1;
  const Expr p = core.p * pow2(h);
  const Expr s = pow2(core.i - h);
  const Expr e = p * s;
  return where(ge(x, 0), x, (p * c) * s) / (1 + e);
}

}  // namespace ost::kir::expr
