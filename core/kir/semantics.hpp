// The meaning of every scalar KIR operation on one element (docs/kir.md), as functions that are
// total: nothing traps, overflows or depends on the floating-point environment except its default
// rounding, to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/half.hpp"

namespace ost::kir::scalar {

// Storage of the two half types; a type of their own keeps them apart from u16.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

template <class T>
concept Float = std::floating_point<T>;
template <class T>
concept Half = std::same_as<T, F16> || std::same_as<T, BF16>;
template <class T>
concept Int = std::integral<T> && !std::same_as<T, bool>;

// Unsigned type to compute in: at least 32 bits, so that promotion to int cannot overflow.
template <Int T>
using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
template <Float T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <Float T>
constexpr Bits<T> bits(T x) {
  return std::bit_cast<Bits<T>>(x);
}
template <Float T>
constexpr T from_bits(Bits<T> b) {
  return std::bit_cast<T>(b);
}
template <Float T>
inline constexpr Bits<T> kSignBit = Bits<T>{1} << (8 * sizeof(T) - 1);

// --- one operand ---
template <Float T>
constexpr T neg(T x) {
  return from_bits<T>(bits(x) ^ kSignBit<T>);
}
template <Int T>
constexpr T neg(T x) {
  return static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x));
}
template <Float T>
constexpr T abs(T x) {
  return from_bits<T>(bits(x) & ~kSignBit<T>);
}
template <Int T>
constexpr T abs(T x) {
  if constexpr (std::is_signed_v<T>) return x < 0 ? neg(x) : x;
  return x;
}

// --- two operands ---
template <Float T>
constexpr T add(T a, T b) {
  return a + b;
}
template <Int T>
constexpr T add(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b));
}
template <Float T>
constexpr T sub(T a, T b) {
  return a - b;
}
template <Int T>
constexpr T sub(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
}
template <Float T>
constexpr T mul(T a, T b) {
  return a * b;
}
template <Int T>
constexpr T mul(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
}

template <Float T>
constexpr T div(T a, T b) {
  return a / b;
}
template <Int T>
constexpr T div(T a, T b) {  // toward zero; x/0 = 0, MIN/-1 = MIN
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return neg(a);
  }
  return static_cast<T>(a / b);
}
template <Int T>
constexpr T rem(T a, T b) {  // a - (a/b)*b, a rem 0 = 0
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

// NaN wins (the first operand's, if both are), and -0 < +0.
template <Float T>
constexpr T min(T a, T b) {
  if (a < b || a != a) return a;
  if (b < a || b != b) return b;
  return from_bits<T>(bits(a) | bits(b));
}
template <Float T>
constexpr T max(T a, T b) {
  if (a > b || a != a) return a;
  if (b > a || b != b) return b;
  return from_bits<T>(bits(a) & bits(b));
}
template <std::integral T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <std::integral T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

// The amount is the unsigned value of b; an amount of the width or more gives 0, for signed right
// shifts too.
template <Int T>
constexpr T shl(T a, T b) {
  using U = std::make_unsigned_t<T>;
  const U n = static_cast<U>(b);
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<Wrap<T>>(a) << n);
}
template <Int T>
constexpr T shr(T a, T b) {
  using U = std::make_unsigned_t<T>;
  const U n = static_cast<U>(b);
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(a >> n);
}

// --- ldexp: x * 2^n with one rounding ---
inline float ldexp(float x, int32_t n) {
  // Exact in double for every f32 and |n| <= 400; beyond that the result is 0 or infinity all the
  // same.
  const int32_t k = n < -400 ? -400 : n > 400 ? 400 : n;
  return static_cast<float>(static_cast<double>(x) *
                            from_bits<double>(static_cast<uint64_t>(1023 + k) << 52));
}
inline double ldexp(double x, int32_t n) {
  const uint64_t b = bits(x);
  const auto e = static_cast<int64_t>((b >> 52) & 0x7ff);
  const int64_t f = e + n;
  if (e > 0 && e < 0x7ff && f > 0 && f < 0x7ff)
    return from_bits<double>(b + (static_cast<uint64_t>(int64_t{n}) << 52));
  return std::ldexp(x, n);
}

// --- casts ---
inline float widen(F16 x) { return f16_to_f32(x.bits); }
inline float widen(BF16 x) { return bf16_to_f32(x.bits); }

// A double from which rounding to f16 or bf16 gives the correctly rounded integer: rounded to odd.
template <Int T>
constexpr double to_double_odd(T x) {
  const auto near = static_cast<double>(x);
  if constexpr (sizeof(T) < 8) return near;
  const bool negative = std::cmp_less(x, 0);
  const uint64_t magnitude =
      negative ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const int drop = 64 - std::countl_zero(magnitude | 1) - 53;  // bits that a double has no room for
  if (drop <= 0) return near;
  const uint64_t sticky = (magnitude & ((uint64_t{1} << drop) - 1)) ? uint64_t{1} << drop : 0;
  const auto odd = static_cast<double>(((magnitude >> drop) << drop) | sticky);
  return negative ? -odd : odd;
}

template <Int To, Float From>
constexpr To saturate(From x) {  // toward zero; NaN gives 0
  using Limits = std::numeric_limits<To>;
  // 2^(value bits): the first value that is too large, exact in both float types.
  constexpr From kEnd = static_cast<From>(uint64_t{1} << (Limits::digits - 1)) * From{2};
  if (x != x) return 0;
  if (x >= kEnd) return Limits::max();
  if (x <= -kEnd) return Limits::min();  // unsigned: -kEnd is far below 0
  if (std::is_unsigned_v<To> && x <= From{-1}) return 0;
  return static_cast<To>(x);
}

template <class To, class From>
constexpr To cast(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (Half<From>) {
    return cast<To>(widen(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From{0};
  } else if constexpr (Half<To>) {
    constexpr bool kF16 = std::same_as<To, F16>;
    if constexpr (std::same_as<From, float>) {
      return {kF16 ? f32_to_f16(x) : f32_to_bf16(x)};
    } else {
      double d;
      if constexpr (Int<From>)
        d = to_double_odd(x);
      else
        d = static_cast<double>(x);
      return {kF16 ? f64_to_f16(d) : f64_to_bf16(d)};
    }
  } else if constexpr (Int<To> && Float<From>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace ost::kir::scalar
