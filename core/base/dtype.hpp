// Element types: names, sizes and classes. Values are those of the ABI (OST_DTYPE_*).
#pragma once

#include <ostinato/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ost {

enum class DType : uint8_t {
  boolean = OST_DTYPE_BOOL,
  i8 = OST_DTYPE_I8,
  i16 = OST_DTYPE_I16,
  i32 = OST_DTYPE_I32,
  i64 = OST_DTYPE_I64,
  u8 = OST_DTYPE_U8,
  u16 = OST_DTYPE_U16,
  u32 = OST_DTYPE_U32,
  u64 = OST_DTYPE_U64,
  f16 = OST_DTYPE_F16,
  bf16 = OST_DTYPE_BF16,
  f32 = OST_DTYPE_F32,
  f64 = OST_DTYPE_F64,
};

inline constexpr DType kAllDTypes[] = {
    DType::boolean, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
    DType::u32,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

constexpr bool is_valid(DType t) { return t >= DType::boolean && t <= DType::f64; }
constexpr bool is_float(DType t) { return t >= DType::f16; }
constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
// Storage-only types: KIR computes on them in f32.
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

constexpr uint32_t size_of(DType t) {
  switch (t) {
    case DType::boolean:
    case DType::i8:
    case DType::u8:
      return 1;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::u32:
    case DType::f32:
      return 4;
    case DType::i64:
    case DType::u64:
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr uint32_t bits_of(DType t) { return 8 * size_of(t); }

// "bool", "i8", ..., "bf16", "f32", "f64".
std::string_view name_of(DType t);
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace ost
