// Casts. Halves are 16-bit integers, and every rounding happens once.
#include "scalar.hpp"

namespace ostinato::kir {

using Value = Scalar::Value;

Value* Scalar::cast(uint32_t to, uint32_t from, Value* x) {
  if (to == from) return x;
  if (is_half(from)) {
    Value* wide = from == OST_DTYPE_F16 ? f16_to_f32(x) : bf16_to_f32(x);
    return cast(to, OST_DTYPE_F32, wide);
  }
  return is_float(from) ? from_real(to, from, x) : from_whole(to, from, x);
}

Value* Scalar::from_real(uint32_t to, uint32_t from, Value* x) {
  if (to == OST_DTYPE_BOOL) return b.CreateFCmpUNE(x, real(x, 0));
  if (is_int(to)) return saturate(to, x);
  if (to == OST_DTYPE_F64) return b.CreateFPExt(x, b.getDoubleTy());
  if (to == OST_DTYPE_F32) return b.CreateFPTrunc(x, b.getFloatTy());
  Value* narrow = from == OST_DTYPE_F64 ? f64_to_f32_odd(x) : x;
  return to == OST_DTYPE_F16 ? f32_to_f16(narrow) : f32_to_bf16(narrow);
}

// From a bool or an integer.
Value* Scalar::from_whole(uint32_t to, uint32_t from, Value* x) {
  if (to == OST_DTYPE_BOOL) return b.CreateICmpNE(x, whole(x, 0));
  if (from == OST_DTYPE_BOOL) {
    if (is_int(to)) return b.CreateZExt(x, type(to));
    const uint64_t one = to == OST_DTYPE_F64   ? 0x3ff0000000000000u
                         : to == OST_DTYPE_F32 ? 0x3f800000u
                         : to == OST_DTYPE_F16 ? 0x3c00u
                                               : 0x3f80u;
    return pick(x, constant(to, one), constant(to, 0));
  }
  if (is_int(to)) return b.CreateIntCast(x, type(to), is_signed(from));
  if (is_half(to)) return whole_to_half(to == OST_DTYPE_F16, is_signed(from), x);
  if (bits_of(from) < 32) x = b.CreateIntCast(x, b.getInt32Ty(), is_signed(from));
  return is_signed(from) ? b.CreateSIToFP(x, type(to)) : b.CreateUIToFP(x, type(to));
}

// Toward zero, saturated, NaN gives 0.
Value* Scalar::saturate(uint32_t to, Value* x) {
  const bool sign = is_signed(to);
  const unsigned digits = bits_of(to) - (sign ? 1 : 0);
  Value* end = real(x, digits == 64 ? 0x1p64 : static_cast<double>(uint64_t{1} << digits));
  Value* low = sign ? real(x, -static_cast<double>(uint64_t{1} << digits)) : real(x, 0);
  Value* above = b.CreateFCmpOGE(x, end);
  Value* below = b.CreateFCmpOLE(x, low);
  Value* inside = b.CreateAnd(b.CreateFCmpOLT(x, end), b.CreateFCmpOGT(x, low));
  Value* safe = pick(inside, x, real(x, 0));
  llvm::Type* wide = b.getIntNTy(std::max(32u, bits_of(to)));
  Value* whole_part = sign ? b.CreateFPToSI(safe, wide) : b.CreateFPToUI(safe, wide);
  Value* result = b.CreateTrunc(whole_part, type(to));
  const llvm::APInt least =
      sign ? llvm::APInt::getSignedMinValue(bits_of(to)) : llvm::APInt(bits_of(to), 0);
  const llvm::APInt most =
      sign ? llvm::APInt::getSignedMaxValue(bits_of(to)) : llvm::APInt::getMaxValue(bits_of(to));
  result = pick(above, b.getInt(most), result);
  return pick(below, b.getInt(least), result);
}

// --- f16 and bf16

Value* Scalar::bf16_to_f32(Value* h) {
  return from_bits(b.CreateShl(b.CreateZExt(h, b.getInt32Ty()), u32(16)));
}

Value* Scalar::f32_to_bf16(Value* x) {
  Value* u = bits(x);
  Value* nan = b.CreateICmpUGT(b.CreateAnd(u, u32(0x7fffffff)), u32(0x7f800000));
  Value* odd = b.CreateAnd(b.CreateLShr(u, u32(16)), u32(1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(u, u32(0x7fff)), odd), u32(16));
  return b.CreateTrunc(pick(nan, u32(0x7fc0), rounded), b.getInt16Ty());
}

Value* Scalar::f16_to_f32(Value* h) {
  Value* u = b.CreateZExt(h, b.getInt32Ty());
  Value* sign = b.CreateShl(b.CreateAnd(u, u32(0x8000)), u32(16));
  Value* e = b.CreateAnd(b.CreateLShr(u, u32(10)), u32(31));
  Value* m = b.CreateAnd(u, u32(0x3ff));
  Value* high = b.CreateShl(m, u32(13));
  Value* normal = b.CreateOr(b.CreateShl(b.CreateAdd(e, u32(112)), u32(23)), high);
  // A subnormal is a whole number times 2^-24: both are exact and no subnormal in f32.
  Value* tiny = b.CreateUIToFP(m, b.getFloatTy());
  tiny = bits(b.CreateFMul(tiny, real(tiny, 0x1p-24)));
  Value* result = pick(b.CreateICmpEQ(e, u32(0)), tiny, normal);
  result = pick(b.CreateICmpEQ(e, u32(31)), b.CreateOr(high, u32(0x7f800000)), result);
  return from_bits(b.CreateOr(sign, result));
}

Value* Scalar::f32_to_f16(Value* x) {
  Value* u = bits(x);
  Value* sign = b.CreateAnd(b.CreateLShr(u, u32(16)), u32(0x8000));
  Value* a = b.CreateAnd(u, u32(0x7fffffff));
  Value* odd = b.CreateAnd(b.CreateLShr(a, u32(13)), u32(1));
  Value* normal = b.CreateLShr(
      b.CreateAdd(b.CreateAdd(b.CreateSub(a, u32(0x38000000)), u32(0xfff)), odd), u32(13));
  // Subnormal in f16: units of 2^-24.
  Value* subnormal =
      b.CreateAnd(b.CreateICmpUGE(a, u32(0x33000000)), b.CreateICmpULT(a, u32(0x38800000)));
  Value* k = pick(subnormal, b.CreateSub(u32(126), b.CreateLShr(a, u32(23))), u32(1));
  Value* m = b.CreateOr(b.CreateAnd(a, u32(0x7fffff)), u32(0x800000));
  Value* result = pick(subnormal, shift_rne(m, k), normal);
  result = pick(b.CreateICmpULT(a, u32(0x33000000)), u32(0), result);
  result = pick(b.CreateICmpUGE(a, u32(0x477ff000)), u32(0x7c00), result);
  result = pick(b.CreateICmpUGT(a, u32(0x7f800000)), u32(0x7e00), result);
  return b.CreateTrunc(b.CreateOr(sign, result), b.getInt16Ty());
}

// Rounded to odd: a further rounding to 22 bits or fewer then is the only one.
Value* Scalar::f64_to_f32_odd(Value* x) {
  Value* near = b.CreateFPTrunc(x, b.getFloatTy());
  Value* u = bits(near);
  Value* back = b.CreateFPExt(near, b.getDoubleTy());
  Value* exact = b.CreateOr(b.CreateFCmpUNO(x, x), b.CreateFCmpOEQ(back, x));
  const uint64_t magnitude = ~uint64_t{0} >> 1;
  Value* beyond = b.CreateICmpUGT(b.CreateAnd(bits(back), whole(bits(back), magnitude)),
                                  b.CreateAnd(bits(x), whole(bits(x), magnitude)));
  Value* odd = b.CreateOr(b.CreateSub(u, pick(beyond, u32(1), u32(0))), u32(1));
  Value* infinite = b.CreateICmpEQ(b.CreateAnd(u, u32(0x7fffffff)), u32(0x7f800000));
  Value* largest = b.CreateOr(b.CreateAnd(u, u32(0x80000000)), u32(0x7f7fffff));
  return from_bits(pick(exact, u, pick(infinite, largest, odd)));
}

// Through an f32 that has all bits that matter: f16 ends at 65,504, and bf16 needs 8 bits and
// whether any is set behind them.
Value* Scalar::whole_to_half(bool f16, bool is_signed_type, Value* x) {
  x = b.CreateIntCast(x, b.getInt64Ty(), is_signed_type);
  Value* negative = is_signed_type ? b.CreateICmpSLT(x, b.getInt64(0)) : b.getFalse();
  Value* m = pick(negative, b.CreateNeg(x), x);
  Value* scale = constant(OST_DTYPE_F32, 0x3f800000);
  if (f16) {
    m = pick(b.CreateICmpUGT(m, b.getInt64(0x1ffff)), b.getInt64(0x1ffff), m);
  } else {
    for (int i = 0; i < 5; ++i) {
      Value* long_one = b.CreateICmpUGT(m, b.getInt64(0xffffff));
      Value* rest = b.CreateICmpNE(b.CreateAnd(m, b.getInt64(0xff)), b.getInt64(0));
      Value* shorter =
          b.CreateOr(b.CreateLShr(m, b.getInt64(8)), b.CreateZExt(rest, b.getInt64Ty()));
      m = pick(long_one, shorter, m);
      scale = pick(long_one, b.CreateFMul(scale, real(scale, 256)), scale);
    }
  }
  Value* wide = b.CreateUIToFP(b.CreateTrunc(m, b.getInt32Ty()), b.getFloatTy());
  wide = b.CreateFMul(wide, scale);
  wide = pick(negative, from_bits(b.CreateXor(bits(wide), u32(0x80000000))), wide);
  return f16 ? f32_to_f16(wide) : f32_to_bf16(wide);
}

}  // namespace ostinato::kir
