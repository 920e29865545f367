// Scalars as the bits of a graph constant (Node::bits: zero-extended to 64), and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/base/dtype.hpp"
#include "core/base/half.hpp"

namespace ost::ir {

constexpr uint64_t mask_of(DType type) {
  return type == DType::boolean ? 1 : ~uint64_t{0} >> (64 - bits_of(type));
}

// Rounded once, to nearest even. Only for float types.
inline uint64_t encode_float(DType type, double value) {
  switch (type) {
    case DType::f16:
      return f64_to_f16(value);
    case DType::bf16:
      return f64_to_bf16(value);
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<uint64_t>(value);
  }
}

inline double decode_float(DType type, uint64_t bits) {
  switch (type) {
    case DType::f16:
      return f16_to_f32(static_cast<uint16_t>(bits));
    case DType::bf16:
      return bf16_to_f32(static_cast<uint16_t>(bits));
    case DType::f32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

// The value of an integer constant; u64 wraps into i64.
constexpr int64_t decode_int(DType type, uint64_t bits) {
  if (!is_signed_int(type)) return static_cast<int64_t>(bits);
  const uint32_t unused = 64 - bits_of(type);
  return static_cast<int64_t>(bits << unused) >> unused;
}

// Whether `value` is one of the type's integers (u64 takes the non-negative half of i64).
constexpr bool int_fits(DType type, int64_t value) {
  if (type == DType::boolean) return value == 0 || value == 1;
  if (is_unsigned_int(type))
    return value >= 0 && (static_cast<uint64_t>(value) & ~mask_of(type)) == 0;
  return decode_int(type, static_cast<uint64_t>(value) & mask_of(type)) == value;
}

constexpr uint64_t encode_int(DType type, int64_t value) {
  return static_cast<uint64_t>(value) & mask_of(type);
}

// `value` as a type that need not be a float: bool is value != 0, integers must be exact. Nothing:
// does not fit.
inline std::optional<uint64_t> encode(DType type, double value) {
  if (is_float(type)) return encode_float(type, value);
  if (type == DType::boolean) return value != 0 ? 1 : 0;
  if (type == DType::u64 && value >= 0 && value < 0x1p64 && value == std::floor(value))
    return static_cast<uint64_t>(value);
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) return std::nullopt;
  const auto whole = static_cast<int64_t>(value);
  if (!int_fits(type, whole)) return std::nullopt;
  return encode_int(type, whole);
}

}  // namespace ost::ir
