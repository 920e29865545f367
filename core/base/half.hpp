// f16 (IEEE binary16) and bf16 conversions in integer arithmetic: to nearest, ties to even,
// subnormals kept, so that no compiler or CPU flag decides a bit. Narrowing makes one quiet NaN of
// every NaN (f16: sign kept; bf16: 0x7fc0).
#pragma once

#include <bit>
#include <cstdint>

namespace ost {

constexpr float bf16_to_f32(uint16_t h) {
  return std::bit_cast<float>(static_cast<uint32_t>(h) << 16);
}

constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

constexpr float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(mantissa) - 21;  // brings the leading one to bit 10
  mantissa = (mantissa << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | (static_cast<uint32_t>(113 - shift) << 23) | (mantissa << 13));
}

constexpr uint16_t f32_to_f16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 2^16 or more
  if (a >= 0x38800000u) {  // normal: rebias, round 13 bits away
    const uint32_t r = a - 0x38000000u;
    return static_cast<uint16_t>(sign | ((r + 0xfffu + ((r >> 13) & 1u)) >> 13));
  }
  if (a < 0x33000000u) return sign;  // below half of the smallest subnormal
  const uint32_t mantissa = (a & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126 - (a >> 23);  // 14 .. 24
  const uint32_t kept = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  return static_cast<uint16_t>(sign |
                               (kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u)));
}

// f64 goes to the narrow type with one rounding: f64 -> f32 is rounded to odd first, which cannot
// disturb the second rounding because f32 has more than two bits more than either target.
constexpr float f64_to_f32_odd(double value) {
  const float near = static_cast<float>(value);
  if (value != value || static_cast<double>(near) == value) return near;
  uint32_t bits = std::bit_cast<uint32_t>(near);
  if ((bits & 0x7fffffffu) == 0x7f800000u) return (bits >> 31) ? -0x1.fffffep127f : 0x1.fffffep127f;
  const bool too_large = (near < 0 ? -static_cast<double>(near) : static_cast<double>(near)) >
                         (value < 0 ? -value : value);
  if (too_large) bits -= 1;  // now truncated toward zero
  return std::bit_cast<float>(bits | 1u);
}
constexpr uint16_t f64_to_f16(double value) {
  const bool infinite = value == value && value - value != value - value;
  return f32_to_f16(infinite ? static_cast<float>(value) : f64_to_f32_odd(value));
}
constexpr uint16_t f64_to_bf16(double value) {
  const bool infinite = value == value && value - value != value - value;
  return f32_to_bf16(infinite ? static_cast<float>(value) : f64_to_f32_odd(value));
}

}  // namespace ost
