#include "data.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.hpp"

namespace ost::conform {
namespace {

struct FloatFormat {
  uint64_t exponent;  // mask
  uint64_t sign;
};

FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f16:
      return {0x7c00u, 0x8000u};
    case DType::bf16:
      return {0x7f80u, 0x8000u};
    case DType::f32:
      return {0x7f800000u, 0x80000000u};
    default:
      return {0x7ff0000000000000u, 0x8000000000000000u};
  }
}

bool is_finite(DType type, uint64_t bits) {
  const FloatFormat f = format_of(type);
  return (bits & f.exponent) != f.exponent;
}

uint64_t encode(DType type, double v) {
  if (type == DType::f64) return std::bit_cast<uint64_t>(v);
  const auto f = static_cast<float>(v);
  if (type == DType::f32) return std::bit_cast<uint32_t>(f);
  return type == DType::f16 ? f32_to_f16(f) : f32_to_bf16(f);
}

uint64_t float_value(DType type, Flavour flavour, Random& random) {
  if (flavour == Flavour::moderate)
    return encode(type, std::normal_distribution<double>(0, 1)(random));
  if (flavour == Flavour::index) return encode(type, static_cast<double>(random() % 44) - 3);
  constexpr double kSpecial[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 2.5,
                                 HUGE_VAL,
                                 -HUGE_VAL,
                                 NAN,
                                 1e-42,
                                 -1e-42,
                                 1e-38,
                                 1e-310,
                                 3e38,
                                 -3e38,
                                 65504,
                                 65520,
                                 2147483648.0,
                                 -2147483649.0,
                                 127.5,
                                 255.5,
                                 -128.5,
                                 9.3e18,
                                 1.8446744073709552e19,
                                 16777217,
                                 4503599627370497.5};
  for (;;) {
    uint64_t bits = 0;
    switch (random() % 3) {
      case 0:
        bits = encode(type, kSpecial[random() % std::size(kSpecial)]);
        break;
      case 1:
        bits = encode(type, std::normal_distribution<double>(0, 4)(random));
        break;
      default:
        bits = random() & (~uint64_t{0} >> (64 - bits_of(type)));
    }
    if (flavour == Flavour::any || is_finite(type, bits)) return bits;
  }
}

uint64_t int_value(DType type, Flavour flavour, Random& random) {
  const uint32_t width = bits_of(type);
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  if (flavour == Flavour::index) return (random() % 44 - 3) & mask;
  if (flavour == Flavour::moderate) return (random() % 7 - 3) & mask;
  switch (random() % 3) {
    case 0:
      return (random() % 70 - 3) & mask;
    case 1: {
      const uint64_t top = uint64_t{1} << (width - 1);
      const uint64_t special[] = {0, 1, mask, top, top - 1, top + 1, mask - 1, width, width - 1};
      return special[random() % std::size(special)] & mask;
    }
    default:
      return random() & mask;
  }
}

}  // namespace

uint64_t value_of(DType type, Flavour flavour, Random& random) {
  if (type == DType::boolean) return random() & 1;
  return is_float(type) ? float_value(type, flavour, random) : int_value(type, flavour, random);
}

Bytes values(DType type, uint64_t count, Flavour flavour, Random& random) {
  const uint32_t size = size_of(type);
  Bytes out(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = value_of(type, flavour, random);
    std::memcpy(out.data() + i * size, &bits, size);
  }
  return out;
}

uint64_t element(DType type, std::span<const uint8_t> data, size_t i) {
  uint64_t bits = 0;
  const uint32_t size = size_of(type);
  std::memcpy(&bits, data.data() + i * size, size);
  if (!is_float(type) || is_finite(type, bits)) return bits;
  const FloatFormat f = format_of(type);
  return (bits & (f.exponent | f.sign)) == bits ? bits : ~uint64_t{0};
}

}  // namespace ost::conform
