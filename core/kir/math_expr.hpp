// Values of a kernel under construction with the usual operators, so that the functions in
// math_*.cpp read like their formulas. Numbers on either side take the type of the other operand.
// Internal to core/kir.
#pragma once

#include <concepts>

#include "core/kir/math.hpp"
#include "core/kir/math_coef.hpp"

namespace ost::kir::expr {

struct Expr {
  Builder* b;
  Value v;

  DType type() const { return b->dtype(v); }
  bool is_f64() const { return type() == DType::f64; }
  // A number of the same type.
  Expr same(double c) const { return {b, b->float_const(type(), c)}; }
  Expr same(coef::Const c) const { return same(is_f64() ? c.f64 : c.f32); }
  template <std::integral I>
  Expr same(I c) const {
    if (is_float(type())) return same(static_cast<double>(c));
    const uint64_t mask =
        bits_of(type()) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(type())) - 1;
    return {b, b->constant(type(), static_cast<uint64_t>(c) & mask)};
  }
  Expr same(Expr e) const { return e; }
};

template <class T>
concept Number = std::integral<T> || std::same_as<T, double> || std::same_as<T, coef::Const>;

inline Expr make(Expr a, Op op, Expr c) { return {a.b, a.b->binary(op, a.v, c.v)}; }
#define OST_EXPR_OPERATOR(symbol, op)                                    \
  inline Expr operator symbol(Expr a, Expr c) { return make(a, op, c); } \
  template <Number N>                                                    \
  Expr operator symbol(Expr a, N c) {                                    \
    return make(a, op, a.same(c));                                       \
  }                                                                      \
  template <Number N>                                                    \
  Expr operator symbol(N a, Expr c) {                                    \
    return make(c.same(a), op, c);                                       \
  }
OST_EXPR_OPERATOR(+, Op::add)
OST_EXPR_OPERATOR(-, Op::sub)
OST_EXPR_OPERATOR(*, Op::mul)
OST_EXPR_OPERATOR(/, Op::div)
OST_EXPR_OPERATOR(&, Op::bit_and)
OST_EXPR_OPERATOR(|, Op::bit_or)
OST_EXPR_OPERATOR(^, Op::bit_xor)
OST_EXPR_OPERATOR(<<, Op::shl)
OST_EXPR_OPERATOR(>>, Op::shr)
#undef OST_EXPR_OPERATOR
inline Expr operator-(Expr a) { return {a.b, a.b->unary(Op::neg, a.v)}; }
inline Expr operator~(Expr a) { return {a.b, a.b->unary(Op::bit_not, a.v)}; }
inline Expr abs(Expr a) { return {a.b, a.b->unary(Op::abs, a.v)}; }

// Comparisons have names: an operator== that makes a record would surprise.
#define OST_EXPR_COMPARE(name, op, left, right)                                         \
  inline Expr name(Expr a, Expr c) { return {a.b, a.b->compare(op, left.v, right.v)}; } \
  template <Number N>                                                                   \
  Expr name(Expr a, N n) {                                                              \
    return name(a, a.same(n));                                                          \
  }
OST_EXPR_COMPARE(eq, Op::eq, a, c)
OST_EXPR_COMPARE(ne, Op::ne, a, c)
OST_EXPR_COMPARE(lt, Op::lt, a, c)
OST_EXPR_COMPARE(le, Op::le, a, c)
OST_EXPR_COMPARE(gt, Op::lt, c, a)
OST_EXPR_COMPARE(ge, Op::le, c, a)
#undef OST_EXPR_COMPARE

// where(cond, a, b); at least one of a and b is an Expr.
inline Expr where(Expr cond, Expr a, Expr c, bool rare = false) {
  return {cond.b, cond.b->where(cond.v, a.v, c.v, rare)};
}
template <Number N>
Expr where(Expr cond, Expr a, N c) {
  return where(cond, a, a.same(c));
}
template <Number N>
Expr where(Expr cond, N a, Expr c) {
  return where(cond, c.same(a), c);
}

inline Expr fma(Expr a, Expr x, Expr c) { return {a.b, a.b->fma(a.v, x.v, c.v)}; }
template <class B, class C>
Expr fma(Expr a, B x, C c) {
  return fma(a, a.same(x), a.same(c));
}

inline Expr cast(DType to, Expr x) { return {x.b, x.b->cast(to, x.v)}; }
inline Expr bitcast(DType to, Expr x) { return {x.b, x.b->bitcast(to, x.v)}; }
inline Expr ldexp(Expr x, Expr n) { return {x.b, x.b->ldexp(x.v, cast(DType::i32, n).v)}; }

// The bits of a float as a signed integer of its size, and back.
inline Expr to_bits(Expr x) { return bitcast(x.is_f64() ? DType::i64 : DType::i32, x); }
inline Expr from_bits(Expr i) {
  return bitcast(i.type() == DType::i64 ? DType::f64 : DType::f32, i);
}
inline Expr sign_bit(Expr x) { return to_bits(x) & (x.is_f64() ? INT64_MIN : int64_t{INT32_MIN}); }
// y >= 0 with the sign of x.
inline Expr copy_sign(Expr y, Expr x) { return from_bits(to_bits(y) | sign_bit(x)); }
// 2^i as a float, for an exponent i of the normal range given as i32 (f32) or i64 (f64).
inline Expr pow2(Expr i) {
  const bool wide = i.type() == DType::i64;
  return from_bits((i + (wide ? 1023 : 127)) << (wide ? 52 : 23));
}
inline Expr infinity(Expr like) { return like.same(__builtin_inf()); }
inline Expr nan(Expr like) { return like.same(__builtin_nan("")); }

// x limited to [lo, hi]; a NaN stays a NaN.
template <Number N>
Expr clamp_low(Expr x, N lo) {
  return where(lt(x, lo), lo, x);
}
template <Number N>
Expr clamp_high(Expr x, N hi) {
  return where(gt(x, hi), hi, x);
}

// c0 + c1 z + ... by Horner's rule with fma.
inline Expr horner(std::span<const double> c, Expr z) {
  Expr p = z.same(c.back());
  for (size_t k = c.size() - 1; k-- > 0;) p = fma(p, z, c[k]);
  return p;
}
inline Expr horner(const coef::Poly& p, Expr z) { return horner(z.is_f64() ? p.f64 : p.f32, z); }

// exp(x) = (1 + f + ...) 2^i with x = n ln2 + f: what all functions that need an exp share. `low`
// is what f lost.
struct ExpReduction {
  Expr n, i, f, low;
};
ExpReduction reduce_exp(Expr x);
struct Scaled {
  Expr p, i;  // p 2^i
};
Scaled exp_core(Expr x);  // x within the clamps of its caller
Expr exp(Expr x);

// x = m 2^e, with m around 1; e as a float of x's type. Positive x only; subnormals included.
struct Split {
  Expr m, e;
};
Split split(Expr x);
// c r for the usual inputs, and what log gives for zero, negative numbers, infinity and NaN.
Expr log_special(Expr x, Expr r);

Expr exp2(Expr x);
Expr exp2_core(Expr f);  // 2^f for |f| <= 1/2
Expr expm1(Expr x);
Expr log(Expr x);
Expr log2(Expr x);
Expr log1p(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr tanh(Expr x);
Expr sigmoid(Expr x);
Expr silu(Expr x);
Expr erf(Expr x);
Expr gelu(Expr x);
Expr rsqrt(Expr x);
Expr pow(Expr x, Expr y);

}  // namespace ost::kir::expr
