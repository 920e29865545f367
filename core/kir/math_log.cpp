// log, log2, log1p and rsqrt.
#include "core/kir/math_expr.hpp"

namespace ost::kir::expr {
namespace {

// Where the mantissa is cut: m is in [2/3, 4/3) for f32, in [sqrt(1/2), sqrt(2)) for f64.
Expr exponent_bits(Expr x_bits) {
  if (x_bits.type() == DType::i64)
    return (x_bits - 0x3fe6a09e667f3bcd) & static_cast<int64_t>(0xfff0000000000000);
  return (x_bits - 0x3f2aaaab) & static_cast<int32_t>(0xff800000);
}
Expr exponent_value(Expr k) {  // exact
  if (k.type() == DType::i64) return cast(DType::f64, k >> 52);
  return cast(DType::f32, k) * 0x1p-23;
}

// log(1+f) = f - (f^2/2 - s (f^2/2 + z P(z))) with s = f/(2+f), z = s^2 (f64).
struct LogSeries {
  Expr half_square, s_part;  // f^2/2 and s (f^2/2 + z P)
};
LogSeries log_series(Expr f, Expr low) {
  const Expr s = f / (2.0 + f);
  const Expr z = s * s;
  const Expr h = (0.5 * f) * f;
  return {h, fma(s, fma(horner(coef::kLog64, z), z, h), low)};
}

}  // namespace

Split split(Expr x) {
  const Expr subnormal = lt(x, coef::kMinNormal);
  const Expr scaled = where(subnormal, x * (x.is_f64() ? 0x1p52 : 0x1p23), x);
  const Expr ix = to_bits(scaled);
  const Expr k = exponent_bits(ix);
  const Expr shift = where(subnormal, x.same(x.is_f64() ? -52 : -23), x.same(0));
  return {from_bits(ix - k), exponent_value(k) + shift};
}

Expr log_special(Expr x, Expr r) {
  const Expr s = where(eq(x, 0), -infinity(x), where(lt(x, 0), nan(x), x + x));
  return where(gt(x, 0) & lt(x, infinity(x)), r, s);
}

Expr log(Expr x) {
  const auto [m, e] = split(x);
  const Expr f = m - 1;
  if (!x.is_f64()) {
    const Expr r = fma(horner(coef::kLog32, f), f * f, f);
    return log_special(x, fma(e, coef::kLn2Hi, r));
  }
  const LogSeries l = log_series(f, e * coef::kLn2ShortLo);
  return log_special(x, fma(e, coef::kLn2Short, f - (l.half_square - l.s_part)));
}

Expr log2(Expr x) {
  const auto [m, e] = split(x);
  const Expr f = m - 1;
  if (!x.is_f64()) {
    const Expr h = fma(f, coef::kLog2E, e);
    const Expr h_low = fma(f, coef::kLog2E, e - h);
    const Expr tail = fma(horner(coef::kLog2_32, f), f * f, fma(f, coef::kLog2ELo, h_low));
    return log_special(x, h + tail);
  }
  // log(1+f) = u + ul in two parts, times log2(e) in two parts, plus e.
  const LogSeries l = log_series(f, f.same(0));
  const Expr h_low = fma(0.5 * f, f, -l.half_square);  // what f^2/2 lost
  const Expr u = f - l.half_square;
  const Expr u_low = ((f - u) - l.half_square) + (l.s_part - h_low);
  const Expr p = u * coef::kLog2E;
  const Expr p_low = fma(u_low, coef::kLog2E, fma(u, coef::kLog2ELo, fma(u, coef::kLog2E, -p)));
  const Expr h = e + p;
  return log_special(x, h + (((e - h) + p) + p_low));
}

namespace {

// log1p(x) = log(m) + e ln2 with 1 + x = m 2^e; f = m - 1 keeps what the addition lost in `low`.
struct Log1pSplit {
  Expr e, f, low;
};
Log1pSplit split_log1p(Expr x) {
  const bool wide = x.is_f64();
  const Expr huge = gt(x, wide ? 0x1p1000 : 0x1p100);  // 1 + x is scaled, lest 2^-e be subnormal
  const Expr scaled = where(huge, x * 0x1p-64, x);
  const Expr k = exponent_bits(to_bits(scaled + 1));
  const Expr e = exponent_value(k) + where(huge, x.same(64), x.same(0));
  const Expr q = from_bits(to_bits(x.same(1)) - k);  // 2^-e
  const Expr c = q - 1;
  const Expr v = q * scaled;
  const Expr f = v + c;
  return {e, f, v - (f - c)};
}

}  // namespace

Expr log1p(Expr x) {
  const auto [e, f, low] = split_log1p(x);
  Expr r = f;
  if (!x.is_f64()) {
    const Expr p = horner(coef::kLog32, f);
    const Expr u = fma(e, coef::kLn2Hi, f);
    const Expr u_low = f + fma(e, coef::kLn2Hi, -u);
    r = u + fma(p, f * f, fma(-f, low, low) + u_low);
  } else {
    const LogSeries l = log_series(f, fma(e, coef::kLn2ShortLo, low / (1 + f)));
    r = fma(e, coef::kLn2Short, f - (l.half_square - l.s_part));
  }
  const Expr special = where(eq(x, -1), -infinity(x), where(lt(x, -1), nan(x), x + x));
  r = where(gt(x, -1) & lt(x, infinity(x)), r, special);
  return where(eq(x, 0), x, r);
}

// A seed from the bits, third-order steps, and one step with the error of x y^2 - 1 computed
// exactly.
Expr rsqrt(Expr x) {
  const bool wide = x.is_f64();
  const Expr subnormal = lt(x, coef::kMinNormal);
  const Expr scaled = where(subnormal, x * (wide ? 0x1p54 : 0x1p24), x);
  const Expr rescale = where(subnormal, x.same(wide ? 0x1p27 : 0x1p12), x.same(1));
  const Expr ix = to_bits(scaled);
  Expr y = from_bits((wide ? ix.same(0x5fe6eb50c7b537a9) : ix.same(0x5f375a86)) - (ix >> 1));
  for (int step = 0; step < (wide ? 2 : 1); ++step) {
    const Expr h = (scaled * y) * y;
    y = y * fma(h, fma(h, 0.375, -1.25), 1.875);
  }
  const Expr t = scaled * y;
  const Expr t_low = fma(scaled, y, -t);
  const Expr error = fma(-t_low, y, fma(-t, y, 1));
  y = fma(0.5 * y, error, y) * rescale;
  const Expr special = where(eq(x, 0), copy_sign(infinity(x), x),
                             where(gt(x, 0), 0, where(lt(x, 0), nan(x), x + x)));
  return where(gt(x, 0) & lt(x, infinity(x)), y, special);
}

}  // namespace ost::kir::expr
