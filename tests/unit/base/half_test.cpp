// Half conversions against the compiler's _Float16 (through F16C or libgcc) and against their
// definition.
#include "core/base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace ost {
namespace {

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

uint16_t reference_f16(float v) {
  const auto half = static_cast<_Float16>(v);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

TEST(Half, EveryF16BecomesItsF32AndBack) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    _Float16 half;
    const auto bits = static_cast<uint16_t>(h);
    std::memcpy(&half, &bits, 2);
    const float wide = f16_to_f32(bits);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half)));
      EXPECT_EQ(f32_to_f16(wide) & 0x7fff, 0x7e00);
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(wide), std::bit_cast<uint32_t>(static_cast<float>(half)))
          << h;
      EXPECT_EQ(f32_to_f16(wide), bits);
    }
  }
}

TEST(Half, EveryBf16BecomesItsF32AndBack) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float wide = bf16_to_f32(static_cast<uint16_t>(h));
    EXPECT_EQ(f32_to_bf16(wide), std::isnan(wide) ? 0x7fc0 : h);
  }
}

// Each exponent with mantissas around the rounding points, and random ones.
TEST(Half, F32RoundsToTheNearestEvenF16) {
  std::mt19937 rng(1);
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu,
                         0x8000u, 0xffffu, static_cast<uint32_t>(rng() & 0xffffu)}) {
      const float v = from_bits(high << 16 | low);
      if (std::isnan(v)) continue;
      ASSERT_EQ(f32_to_f16(v), reference_f16(v)) << std::hex << (high << 16 | low);
    }
  }
}

TEST(Half, F32RoundsToTheNearestEvenBf16) {
  std::mt19937 rng(2);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<uint32_t>(rng());
    const float v = from_bits(bits);
    if (std::isnan(v)) continue;
    const uint32_t low = bits & 0xffff;
    const bool up = low > 0x8000 || (low == 0x8000 && (bits >> 16 & 1));
    ASSERT_EQ(f32_to_bf16(v), static_cast<uint16_t>((bits >> 16) + up)) << std::hex << bits;
  }
  EXPECT_EQ(f32_to_bf16(from_bits(0x7f7fffff)), 0x7f80);  // rounds up to infinity
  EXPECT_EQ(f32_to_bf16(from_bits(0x7f800001)), 0x7fc0);
  EXPECT_EQ(f32_to_bf16(from_bits(0xffc00000)), 0x7fc0);
}

// A value just beside a tie of the narrow type must not be rounded twice.
TEST(Half, F64IsRoundedOnce) {
  EXPECT_EQ(f64_to_f16(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(f64_to_f16(1 + 0x1p-11 + 0x1p-50), 0x3c01);
  EXPECT_EQ(f64_to_bf16(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(f64_to_bf16(1 + 0x1p-8 + 0x1p-50), 0x3f81);
  EXPECT_EQ(f64_to_bf16(-(1 + 0x1p-8 + 0x1p-50)), 0xbf81);
  EXPECT_EQ(f64_to_f16(65519.99), 0x7bff);
  EXPECT_EQ(f64_to_f16(65520), 0x7c00);
  EXPECT_EQ(f64_to_f16(1e300), 0x7c00);
  EXPECT_EQ(f64_to_bf16(-1e300), 0xff80);
  EXPECT_EQ(f64_to_f16(-INFINITY), 0xfc00);
  EXPECT_EQ(f64_to_bf16(INFINITY), 0x7f80);
  EXPECT_EQ(f64_to_f16(0x1p-25), 0);
  EXPECT_EQ(f64_to_f16(0x1p-25 + 0x1p-60), 1);
  EXPECT_EQ(f64_to_f16(-0.0), 0x8000);
  EXPECT_EQ(f64_to_f16(1e-320), 0);
  EXPECT_EQ(f64_to_f16(NAN) & 0x7fff, 0x7e00);
}

TEST(Half, F64AgreesWithTheCompilersF16) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 200'000; ++i) {
    const int exponent = static_cast<int>(rng() % 46) - 28;
    double v = std::ldexp(1 + static_cast<double>(rng() >> 12) * 0x1p-52, exponent);
    if (i % 2)
      v = std::ldexp(std::floor(std::ldexp(v, 11 - exponent)), exponent - 11) +
          (i % 4 == 1 ? 0 : std::ldexp(1.0, exponent - 48));
    const auto half = static_cast<_Float16>(v);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    ASSERT_EQ(f64_to_f16(v), bits) << std::hexfloat << v;
  }
}

}  // namespace
}  // namespace ost
