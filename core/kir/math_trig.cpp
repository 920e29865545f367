// sin and cos. Up to a limit the argument is reduced by fma with pi/2 in three parts; beyond it
// exactly, by multiplying its mantissa with the bits of 2/pi that matter (Payne and Hanek), in
// integers alone. The second way is marked rare.
#include "core/kir/math_expr.hpp"

namespace ost::kir::expr {
namespace {

// a = r + low + q pi/2, q as an integer of a's size whose low two bits count.
struct Reduced {
  Expr r, low, q;
};

Reduced reduce_fast(Expr a) {
  const Expr t = fma(a, coef::kTwoOverPi, coef::kMagic);
  const Expr n = t - coef::kMagic;
  const Expr r1 = fma(n, -a.same(coef::kPiOver2Hi), a);  // exact
  const Expr p = n * coef::kPiOver2Mid;
  const Expr p_low = fma(n, coef::kPiOver2Mid, -p);
  const Expr r = r1 - p;
  const Expr low = fma(n, -a.same(coef::kPiOver2Lo), ((r1 - r) - p) - p_low);
  if (!a.is_f64()) return {r, low, to_bits(t)};
  const Expr w = r + low;
  return {w, low - (w - r), to_bits(t)};
}

// table[w + k] for k < 3 + 1 and 0 <= w <= limit, by halving: the top bit of w alone selects among
// the last entries.
struct Window {
  Expr word[4];
};
template <class Word, size_t N>
Window window(const Word (&table)[N], Expr w, uint32_t limit) {
  std::vector<Expr> entries;
  for (Word t : table) entries.push_back(w.same(t));
  for (uint32_t step = limit; step > 0; step /= 2) {
    const Expr set = ne(w & step, 0);
    const size_t keep = step == limit ? 4 : 0;  // w = limit has no lower bits
    std::vector<Expr> next;
    for (size_t i = 0; i < step + 3 && i < entries.size(); ++i) {
      const bool reachable = (keep == 0 || i < keep) && i + step < entries.size();
      next.push_back(reachable ? where(set, entries[i + step], entries[i]) : entries[i]);
    }
    entries = std::move(next);
  }
  return {{entries[0], entries[1], entries[2], entries[3]}};
}

// Bits [s, s + width) of a:b.
Expr funnel(Expr a, Expr b, Expr s, int width) { return (a << s) | ((b >> 1) >> (width - 1 - s)); }

// A fraction in chunks of a float's mantissa, most significant first, becomes hi + lo, then times
// pi/2.
Reduced times_half_pi(Expr fa, Expr fb, Expr fc, double unit, Expr sign, Expr q) {
  const double unit2 = unit * unit;
  const Expr t = fma(fb, unit2, fc);
  const Expr t_low = fma(fb, unit2, -t) + fc;
  Expr hi = fma(fa, unit, t);
  Expr lo = (fma(fa, unit, -hi) + t) + t_low;
  hi = from_bits(to_bits(hi) ^ sign);
  lo = from_bits(to_bits(lo) ^ sign);
  const Expr p = hi * coef::kPiOver2Hi;
  const Expr p_low =
      fma(hi, coef::kPiOver2Hi, -p) + fma(hi, coef::kPiOver2Mid, lo * coef::kPiOver2Hi);
  const Expr r = p + p_low;
  return {r, p_low - (r - p), q};
}

// 2^17 <= a < inf: 96 bits of 2/pi.
Reduced reduce_exact_f32(Expr a) {
  const Expr ia = bitcast(DType::u32, a);
  const Expr m = (ia & 0x7fffff) | 0x800000;
  const Expr pos = (ia >> 23) - 120;
  const Expr w = where(gt(pos >> 5, 4), 4, pos >> 5);  // infinity, NaN: any value, replaced later
  const Window t = window(coef::kTwoOverPiWords32, w, 4);
  const Expr s = pos & 31;
  const auto wide = [](Expr e) { return cast(DType::u64, e); };
  const Expr p0 = funnel(t.word[0], t.word[1], s, 32);
  const Expr p1 = funnel(t.word[1], t.word[2], s, 32);
  const Expr p2 = funnel(t.word[2], t.word[3], s, 32);
  const Expr h = (wide(m * p0) << 32) + wide(m) * wide(p1) + ((wide(m) * wide(p2)) >> 32);
  const Expr k = (h + (uint64_t{1} << 61)) >> 62;
  const Expr g = bitcast(DType::i64, h - (k << 62));  // fraction * 2^62
  const Expr negative = lt(g, 0);
  const Expr u = abs(g);
  const auto chunk = [](Expr e) { return cast(DType::f32, cast(DType::i32, e)); };
  const Expr sign = where(negative, cast(DType::i32, g).same(INT32_MIN), 0);
  return times_half_pi(chunk(u >> 38), chunk((u >> 14) & 0xffffff), chunk(u & 0x3fff) * 0x1p-62,
                       0x1p-24, sign, cast(DType::i32, k));
}

Expr mul_high(Expr a, Expr b) {  // u64 x u64, the upper half
  const Expr al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
  const Expr mid = ah * bl + ((al * bl) >> 32);
  const Expr mid2 = al * bh + (mid & 0xffffffff);
  return ah * bh + (mid >> 32) + (mid2 >> 32);
}

// 2^30 <= a < inf: 192 bits of 2/pi, the product modulo 2^128 in two words.
Reduced reduce_exact_f64(Expr a) {
  const Expr ia = bitcast(DType::u64, a);
  const Expr m = (ia & 0xfffffffffffff) | 0x10000000000000;
  const Expr pos = (ia >> 52) - 1013;
  const Expr w = where(gt(pos >> 6, 16), 16, pos >> 6);
  const Window t = window(coef::kTwoOverPiWords64, w, 16);
  const Expr s = pos & 63;
  const Expr p0 = funnel(t.word[0], t.word[1], s, 64);
  const Expr p1 = funnel(t.word[1], t.word[2], s, 64);
  const Expr p2 = funnel(t.word[2], t.word[3], s, 64);
  const Expr low1 = m * p1;
  const Expr h_lo = low1 + mul_high(m, p2);
  const Expr carry = cast(DType::u64, lt(h_lo, low1));
  const Expr h_hi = m * p0 + mul_high(m, p1) + carry;
  const Expr k = (h_hi + (uint64_t{1} << 61)) >> 62;
  const Expr g = h_hi - (k << 62);  // g : h_lo is the fraction * 2^126
  const Expr negative = lt(bitcast(DType::i64, g), 0);
  const Expr u_lo = where(negative, 0 - h_lo, h_lo);
  const Expr u_hi = where(negative, ~g + cast(DType::u64, eq(h_lo, 0)), g);
  const auto chunk = [](Expr e) { return cast(DType::f64, bitcast(DType::i64, e)); };
  const Expr middle = ((u_hi << 42) | (u_lo >> 22)) & 0xfffffffffffff;
  const Expr sign =
      bitcast(DType::i64, where(negative, u_lo.same(uint64_t{1} << 63), u_lo.same(0)));
  return times_half_pi(chunk(u_hi >> 10), chunk(middle), chunk(u_lo & 0x3fffff) * 0x1p-126, 0x1p-52,
                       sign, bitcast(DType::i64, k));
}

// sin(r + low + q pi/2), sign bits xor'ed.
Expr polynomial(const Reduced& x, Expr sign) {
  const Expr r = x.r;
  const Expr z = r * r;
  const Expr s = r + fma(r * z, horner(coef::kSin, z), x.low);
  const Expr w = fma(z, -0.5, 1);
  const Expr w_low = fma(z, -0.5, 1 - w);
  const Expr c = w + fma(z * z, horner(coef::kCos, z), fma(-r, x.low, w_low));
  const Expr y = where(ne(x.q & 1, 0), c, s);
  const Expr flip = (x.q & 2) << (r.is_f64() ? 62 : 30);
  return from_bits(to_bits(y) ^ (flip ^ sign));
}

Expr sin_or_cos(Expr x, int quarter) {
  const Expr a = abs(x);
  const Expr sign = quarter ? sign_bit(x).same(0) : sign_bit(x);
  const auto rotated = [&](Reduced r) { return Reduced{r.r, r.low, quarter ? r.q + 1 : r.q}; };
  const Expr fast = polynomial(rotated(reduce_fast(a)), sign);
  const Expr exact =
      polynomial(rotated(x.is_f64() ? reduce_exact_f64(a) : reduce_exact_f32(a)), sign);
  const Expr slow = where(lt(a, infinity(x)), exact, x - x);
  const Expr far = x.is_f64() ? ge(a, 0x1p30) : gt(a, 0x1p17);
  return where(far, slow, fast, true);
}

}  // namespace

Expr sin(Expr x) { return sin_or_cos(x, 0); }
Expr cos(Expr x) { return sin_or_cos(x, 1); }

}  // namespace ost::kir::expr
