// The meaning of each scalar operation (docs/kir.md), at the values where implementations differ.
#include <cmath>
#include <limits>

#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> unary(Op op, DType type, const std::vector<T>& x) {
  return map<T, T>(type, type, {x},
                   [op](Builder& b, const std::vector<Value>& v) { return b.unary(op, v[0]); });
}
template <class T>
std::vector<T> binary(Op op, DType type, const std::vector<T>& x, const std::vector<T>& y) {
  return map<T, T>(type, type, {x, y}, [op](Builder& b, const std::vector<Value>& v) {
    return b.binary(op, v[0], v[1]);
  });
}
template <class T>
std::vector<uint8_t> compare(Op op, DType type, const std::vector<T>& x, const std::vector<T>& y) {
  return map<uint8_t, T>(
      DType::boolean, type, {x, y},
      [op](Builder& b, const std::vector<Value>& v) { return b.compare(op, v[0], v[1]); });
}
template <class To, class From>
std::vector<To> cast(DType to, DType from, const std::vector<From>& x) {
  return map<To, From>(to, from, {x},
                       [to](Builder& b, const std::vector<Value>& v) { return b.cast(to, v[0]); });
}

using I8 = std::vector<int8_t>;
using U8 = std::vector<uint8_t>;
using I32 = std::vector<int32_t>;
using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;
using F64 = std::vector<double>;

TEST(ScalarInt, ArithmeticWraps) {
  EXPECT_EQ(binary<int8_t>(Op::add, DType::i8, {127, -128}, {1, -1}), (I8{-128, 127}));
  EXPECT_EQ(binary<int32_t>(Op::mul, DType::i32, {1 << 30, INT32_MIN}, {4, -1}),
            (I32{0, INT32_MIN}));
  EXPECT_EQ((binary<uint16_t>(Op::mul, DType::u16, {65535}, {65535})), std::vector<uint16_t>{1});
  EXPECT_EQ(binary<int64_t>(Op::sub, DType::i64, {INT64_MIN}, {1}), I64{INT64_MAX});
  EXPECT_EQ(unary<int8_t>(Op::neg, DType::i8, {-128, 5}), (I8{-128, -5}));
  EXPECT_EQ(unary<int32_t>(Op::abs, DType::i32, {INT32_MIN, -5}), (I32{INT32_MIN, 5}));
  EXPECT_EQ(unary<uint8_t>(Op::neg, DType::u8, {1}), U8{255});
}

TEST(ScalarInt, DivisionIsTotal) {
  EXPECT_EQ(binary<int32_t>(Op::div, DType::i32, {7, -7, 7, 5, INT32_MIN, 0}, {2, 2, -2, 0, -1, 0}),
            (I32{3, -3, -3, 0, INT32_MIN, 0}));
  EXPECT_EQ(binary<int32_t>(Op::rem, DType::i32, {7, -7, 7, 5, INT32_MIN, 0}, {2, 2, -2, 0, -1, 0}),
            (I32{1, -1, 1, 0, 0, 0}));
  EXPECT_EQ(binary<int8_t>(Op::div, DType::i8, {-128, -128}, {-1, 0}), (I8{-128, 0}));
  EXPECT_EQ(binary<int64_t>(Op::div, DType::i64, {INT64_MIN}, {-1}), I64{INT64_MIN});
  EXPECT_EQ(binary<uint8_t>(Op::div, DType::u8, {255, 3}, {2, 0}), (U8{127, 0}));
}

TEST(ScalarInt, ShiftsByTheWidthOrMoreGiveZero) {
  EXPECT_EQ(binary<int32_t>(Op::shl, DType::i32, {1, 1, 1, 1, -1}, {31, 32, 33, -1, 4}),
            (I32{INT32_MIN, 0, 0, 0, -16}));
  EXPECT_EQ(binary<int32_t>(Op::shr, DType::i32, {-8, -8, -8, -8}, {1, 31, 32, -1}),
            (I32{-4, -1, 0, 0}));
  EXPECT_EQ(binary<uint8_t>(Op::shr, DType::u8, {0x80, 0x80}, {7, 8}), (U8{1, 0}));
  EXPECT_EQ(binary<int8_t>(Op::shl, DType::i8, {1, 1}, {7, 8}), (I8{-128, 0}));
  EXPECT_EQ(binary<int64_t>(Op::shr, DType::i64, {INT64_MIN, INT64_MIN}, {63, 64}), (I64{-1, 0}));
}

TEST(ScalarInt, BitOperations) {
  EXPECT_EQ(unary<int32_t>(Op::bit_not, DType::i32, {0, 5}), (I32{-1, -6}));
  EXPECT_EQ(binary<uint8_t>(Op::bit_and, DType::u8, {0xf0}, {0x3c}), U8{0x30});
  EXPECT_EQ(binary<uint8_t>(Op::bit_or, DType::u8, {0xf0}, {0x3c}), U8{0xfc});
  EXPECT_EQ(binary<uint8_t>(Op::bit_xor, DType::u8, {0xf0}, {0x3c}), U8{0xcc});
}

TEST(ScalarInt, MinAndMaxFollowTheSign) {
  EXPECT_EQ(binary<int8_t>(Op::max, DType::i8, {-1}, {1}), I8{1});
  EXPECT_EQ(binary<uint8_t>(Op::max, DType::u8, {255}, {1}), U8{255});
  EXPECT_EQ(binary<int8_t>(Op::min, DType::i8, {-1}, {1}), I8{-1});
}

TEST(ScalarBool, NotMinMaxAndBitOperationsAreLogical) {
  const U8 x{0, 0, 1, 1}, y{0, 1, 0, 1};
  EXPECT_EQ(unary<uint8_t>(Op::bit_not, DType::boolean, {0, 1}), (U8{1, 0}));
  EXPECT_EQ(binary(Op::min, DType::boolean, x, y), (U8{0, 0, 0, 1}));
  EXPECT_EQ(binary(Op::max, DType::boolean, x, y), (U8{0, 1, 1, 1}));
  EXPECT_EQ(binary(Op::bit_xor, DType::boolean, x, y), (U8{0, 1, 1, 0}));
}

TEST(ScalarFloat, MinAndMaxLetNaNWinAndOrderZeros) {
  const F32 x{1, kNaN, 1, -0.0f, 0.0f, -kInf}, y{2, 1, kNaN, 0.0f, -0.0f, kInf};
  EXPECT_TRUE(same_bits(binary(Op::max, DType::f32, x, y), F32{2, kNaN, kNaN, 0.0f, 0.0f, kInf}));
  EXPECT_TRUE(
      same_bits(binary(Op::min, DType::f32, x, y), F32{1, kNaN, kNaN, -0.0f, -0.0f, -kInf}));
}

TEST(ScalarFloat, NegAndAbsWorkOnTheSignBit) {
  EXPECT_TRUE(same_bits(unary<float>(Op::neg, DType::f32, {0.0f, -0.0f, 1}), F32{-0.0f, 0.0f, -1}));
  EXPECT_TRUE(same_bits(unary<double>(Op::abs, DType::f64, {-0.0, -1}), F64{0.0, 1}));
}

TEST(ScalarFloat, ArithmeticIsIeeeWithSubnormals) {
  EXPECT_TRUE(
      same_bits(binary<float>(Op::mul, DType::f32, {0x1p-75f, 0x1.8p-75f}, {0x1p-75f, 0x1p-75f}),
                F32{0, 0x1p-149f}));
  EXPECT_TRUE(same_bits(binary<float>(Op::div, DType::f32, {1, -1, 0, 1}, {0, 0, 0, 3}),
                        F32{kInf, -kInf, kNaN, 0x1.555556p-2f}));
  EXPECT_TRUE(same_bits(unary<float>(Op::sqrt, DType::f32, {2, -1, -0.0f, 0x1p-149f}),
                        F32{0x1.6a09e6p0f, kNaN, -0.0f, 0x1.6a09e6p-75f}));
}

TEST(ScalarFloat, AMultiplicationAndAnAdditionRoundTwice) {
  const auto muladd = [](Builder& b, const std::vector<Value>& v) {
    return b.add(b.mul(v[0], v[1]), v[2]);
  };
  const auto fused = [](Builder& b, const std::vector<Value>& v) {
    return b.fma(v[0], v[1], v[2]);
  };
  const std::vector<F32> x{{0x1.000002p0f}, {0x1.000002p0f}, {-0x1.000004p0f}};
  EXPECT_TRUE(same_bits(map<float>(DType::f32, DType::f32, x, muladd), F32{0}));
  EXPECT_TRUE(same_bits(map<float>(DType::f32, DType::f32, x, fused), F32{0x1p-46f}));
  const std::vector<F64> d{{0x1.0000000000001p0}, {0x1.0000000000001p0}, {-0x1.0000000000002p0}};
  EXPECT_TRUE(same_bits(map<double>(DType::f64, DType::f64, d, muladd), F64{0}));
  EXPECT_TRUE(same_bits(map<double>(DType::f64, DType::f64, d, fused), F64{0x1p-104}));
}

TEST(ScalarFloat, RoundingToIntegersKeepsTheSign) {
  const F32 x{-0.5f, 0.5f, 1.5f, 2.5f, -1.5f, 0x1p30f};
  EXPECT_TRUE(same_bits(unary(Op::rint, DType::f32, x), F32{-0.0f, 0, 2, 2, -2, 0x1p30f}));
  EXPECT_TRUE(same_bits(unary(Op::floor, DType::f32, x), F32{-1, 0, 1, 2, -2, 0x1p30f}));
  EXPECT_TRUE(same_bits(unary(Op::ceil, DType::f32, x), F32{-0.0f, 1, 2, 3, -1, 0x1p30f}));
  EXPECT_TRUE(same_bits(unary(Op::trunc, DType::f32, x), F32{-0.0f, 0, 1, 2, -1, 0x1p30f}));
}

TEST(ScalarFloat, ComparisonsWithNaNAreFalseExceptNe) {
  const F32 x{kNaN, 1, 0.0f, 1}, y{1, kNaN, -0.0f, 2};
  EXPECT_EQ(compare(Op::eq, DType::f32, x, y), (U8{0, 0, 1, 0}));
  EXPECT_EQ(compare(Op::ne, DType::f32, x, y), (U8{1, 1, 0, 1}));
  EXPECT_EQ(compare(Op::lt, DType::f32, x, y), (U8{0, 0, 0, 1}));
  EXPECT_EQ(compare(Op::le, DType::f32, x, y), (U8{0, 0, 1, 1}));
}

TEST(ScalarInt, ComparisonsFollowTheSign) {
  EXPECT_EQ(compare<int8_t>(Op::lt, DType::i8, {-1}, {1}), U8{1});
  EXPECT_EQ(compare<uint8_t>(Op::lt, DType::u8, {255}, {1}), U8{0});
  EXPECT_EQ(compare<uint64_t>(Op::le, DType::u64, {UINT64_MAX}, {1}), U8{0});
}

template <class T>
std::vector<T> ldexp_of(DType type, const std::vector<T>& x, const I32& n) {
  Oracle o;
  const Value px = o.input(type, x), pn = o.input(DType::i32, n);
  const auto size = static_cast<int64_t>(x.size());
  const Value out = o.output(type, size);
  const Value i = o.axis(size);
  o.b.store(out, i, o.b.ldexp(o.b.load(px, i), o.b.load(pn, i)));
  return o.template result<T>();
}

TEST(ScalarFloat, LdexpRoundsOnceForEveryExponent) {
  EXPECT_TRUE(same_bits(
      ldexp_of<float>(DType::f32,
                      {1, 0x1.000002p0f, 0x1.8p0f, 1, 1, -1, 0x1p-149f, kNaN, kInf, 0x1p-149f},
                      {-149, -127, -150, -150, INT32_MAX, INT32_MIN, 276, 3, -500, 277}),
      F32{0x1p-149f, 0x1p-127f, 0x1p-149f, 0, kInf, -0.0f, 0x1p127f, kNaN, kInf, kInf}));
  EXPECT_TRUE(same_bits(
      ldexp_of<double>(DType::f64, {1, 0x1.8p0, 1, 1, -1, 0x1p-1074, 0x1.0000000000001p-1000},
                       {-1074, -1075, -1075, INT32_MAX, INT32_MIN, 2097, -23}),
      F64{0x1p-1074, 0x1p-1074, 0, HUGE_VAL, -0.0, 0x1p1023, 0x1p-1023}));
}

TEST(ScalarCast, FloatsToIntegersSaturateAndNaNGivesZero) {
  const F32 x{kNaN, 127.9f, 128, -128.9f, -129, kInf, -kInf, 255.9f, 256, -0.9f};
  EXPECT_EQ(cast<int8_t>(DType::i8, DType::f32, x),
            (I8{0, 127, 127, -128, -128, 127, -128, 127, 127, 0}));
  EXPECT_EQ(cast<uint8_t>(DType::u8, DType::f32, x), (U8{0, 127, 128, 0, 0, 255, 0, 255, 255, 0}));
  const F32 big{0x1p31f, 0x1.fffffep30f, -0x1p31f, -0x1.000002p31f, 0x1p63f, 0x1p64f, -0x1p63f};
  EXPECT_EQ(cast<int32_t>(DType::i32, DType::f32, big),
            (I32{INT32_MAX, 2147483520, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX, INT32_MIN}));
  EXPECT_EQ(
      cast<int64_t>(DType::i64, DType::f32, big),
      (I64{1LL << 31, 2147483520, -(1LL << 31), -2147483904LL, INT64_MAX, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(cast<uint64_t>(DType::u64, DType::f64, F64{-1, 0x1p63, 0x1p64, 0x1.fffffffffffffp63}),
            (std::vector<uint64_t>{0, 1ull << 63, UINT64_MAX, 0xfffffffffffff800}));
  EXPECT_EQ(cast<uint32_t>(DType::u32, DType::f64, F64{4294967295.5, 4294967296.0, -0.5}),
            (std::vector<uint32_t>{UINT32_MAX, UINT32_MAX, 0}));
}

TEST(ScalarCast, IntegersWrapToIntegersAndRoundToFloats) {
  EXPECT_EQ(cast<int8_t>(DType::i8, DType::i32, I32{128, -129, 255}), (I8{-128, 127, -1}));
  EXPECT_EQ(cast<uint64_t>(DType::u64, DType::i8, I8{-1}), std::vector<uint64_t>{UINT64_MAX});
  EXPECT_TRUE(same_bits(cast<float>(DType::f32, DType::i32, I32{16777217, 16777219, INT32_MAX}),
                        F32{16777216, 16777220, 0x1p31f}));
  EXPECT_TRUE(same_bits(
      cast<float>(DType::f32, DType::u64, std::vector<uint64_t>{UINT64_MAX, 0x8000008000000001}),
      F32{0x1p64f, 0x1.000002p63f}));
  EXPECT_TRUE(same_bits(cast<double>(DType::f64, DType::i64, I64{(1LL << 53) + 1, INT64_MIN}),
                        F64{0x1p53, -0x1p63}));
}

TEST(ScalarCast, BoolIsZeroOrOneAndAnyNonzeroValueIsTrue) {
  EXPECT_EQ(cast<uint8_t>(DType::boolean, DType::f32, F32{0, -0.0f, kNaN, 0x1p-149f, 256}),
            (U8{0, 0, 1, 1, 1}));
  EXPECT_EQ(cast<uint8_t>(DType::boolean, DType::i32, I32{0, 256, -1}), (U8{0, 1, 1}));
  EXPECT_TRUE(same_bits(cast<float>(DType::f32, DType::boolean, U8{0, 1}), F32{0, 1}));
  EXPECT_EQ(cast<uint8_t>(DType::boolean, DType::f16, std::vector<uint16_t>{0x8000, 1, 0x7e00}),
            (U8{0, 1, 1}));
}

TEST(ScalarCast, ToF16RoundsOnceFromEveryType) {
  using U16 = std::vector<uint16_t>;
  EXPECT_EQ(
      cast<uint16_t>(DType::f16, DType::f32,
                     F32{1, 65504, 65519.996f, 65520, 0x1p-25f, 0x1.000002p-25f, 0x1p-24f, -0.0f}),
      (U16{0x3c00, 0x7bff, 0x7bff, 0x7c00, 0, 1, 1, 0x8000}));
  // Through f32 this double would become a tie and then go up: twice rounded.
  EXPECT_EQ(
      cast<uint16_t>(DType::f16, DType::f64,
                     F64{0x1.001fffffffffp0, 0x1.002p0, 0x1.0020000000001p0, 1e300, -HUGE_VAL}),
      (U16{0x3c00, 0x3c00, 0x3c01, 0x7c00, 0xfc00}));
  EXPECT_EQ(cast<uint16_t>(DType::f16, DType::i64, I64{2049, 2051, 65519, 65520, INT64_MIN}),
            (U16{0x6800, 0x6802, 0x7bff, 0x7c00, 0xfc00}));
}

TEST(ScalarCast, ToBf16RoundsOnceFromEveryType) {
  using U16 = std::vector<uint16_t>;
  EXPECT_EQ(
      cast<uint16_t>(DType::bf16, DType::f32,
                     F32{1, 0x1.01p0f, 0x1.03p0f, 0x1.fffffep127f, kNaN, 0x1p-133f, 0x1p-134f}),
      (U16{0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x7fc0, 1, 0}));
  EXPECT_EQ(cast<uint16_t>(DType::bf16, DType::f64, F64{0x1.0100000000001p0, 0x1.00ffffffffffp0}),
            (U16{0x3f81, 0x3f80}));
  // 2^62 + 2^54 is a tie; one more is above it although a double cannot say so.
  EXPECT_EQ(cast<uint16_t>(DType::bf16, DType::i64,
                           I64{(1LL << 62) + (1LL << 54), (1LL << 62) + (1LL << 54) + 1,
                               -((1LL << 62) + (1LL << 54) + 1)}),
            (U16{0x5e80, 0x5e81, 0xde81}));
  EXPECT_EQ(cast<uint16_t>(DType::bf16, DType::u64,
                           std::vector<uint64_t>{(1ull << 63) + (1ull << 55) + 1}),
            U16{0x5f01});
}

TEST(ScalarCast, HalfTypesWidenExactly) {
  const std::vector<uint16_t> h{0x0001, 0x03ff, 0x0400, 0x7bff, 0xfc00, 0x8000};
  EXPECT_TRUE(same_bits(cast<float>(DType::f32, DType::f16, h),
                        F32{0x1p-24f, 0x1.ff8p-15f, 0x1p-14f, 65504, -kInf, -0.0f}));
  EXPECT_TRUE(
      same_bits(cast<double>(DType::f64, DType::bf16, std::vector<uint16_t>{0x0001, 0x7f80}),
                F64{0x1p-133, HUGE_VAL}));
  EXPECT_EQ(cast<int8_t>(DType::i8, DType::f16, std::vector<uint16_t>{0x5c00, 0xfc00}),
            (I8{127, -128}));
}

TEST(ScalarWhere, SelectsBitsOfAnyType) {
  const auto f = [](Builder& b, const std::vector<Value>& v) {
    return b.where(b.compare(Op::eq, b.bitcast(DType::u16, v[0]), b.bitcast(DType::u16, v[1])),
                   v[0], v[2]);
  };
  EXPECT_EQ(
      (map<uint16_t, uint16_t>(DType::f16, DType::f16, {{0x7e01, 1}, {0x7e01, 2}, {5, 6}}, f)),
      (std::vector<uint16_t>{0x7e01, 6}));
}

TEST(ScalarBitcast, KeepsTheBits) {
  const auto f = [](Builder& b, const std::vector<Value>& v) {
    return b.bitcast(DType::i32, v[0]);
  };
  EXPECT_EQ((map<int32_t, float>(DType::i32, DType::f32, {{1.0f, -0.0f}}, f)),
            (I32{0x3f800000, INT32_MIN}));
}

}  // namespace
}  // namespace ost::kir::testing
