// Casts. Each rounds once: a narrowing to f16 or bf16 from anything wider than f32 goes through f32
// rounded to odd.
#include <bit>

#include "plugins/cpu/compiler/ops.hpp"
#include "plugins/cpu/compiler/ops_soft.hpp"

namespace ost_cpu {

using namespace ostinato;

namespace {

Value* number(llvm::Type* t, uint64_t v) { return llvm::ConstantInt::get(t, v); }

Value* f16_to_f32(Emit& e, Value* h) {
  if (!has(e.isa, "f16c")) return soft_f16_to_f32(e, h);
  return e.b.CreateFPExt(e.b.CreateBitCast(h, e.like(e.b.getHalfTy(), h)),
                         e.like(e.b.getFloatTy(), h));
}

Value* bf16_to_f32(Emit& e, Value* h) {
  llvm::Type* bits = e.i32_like(h);
  return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateZExt(h, bits), number(bits, 16)),
                           e.like(e.b.getFloatTy(), h));
}

Value* f32_to_f16(Emit& e, Value* x) {
  if (!has(e.isa, "f16c")) return soft_f32_to_f16(e, x);
  return e.b.CreateBitCast(e.b.CreateFPTrunc(x, e.like(e.b.getHalfTy(), x)),
                           e.like(e.b.getInt16Ty(), x));
}

Value* f32_to_bf16(Emit& e, Value* x) {
  llvm::Type* bits = e.i32_like(x);
  Value* u = e.b.CreateBitCast(x, bits);
  Value* even = e.b.CreateAnd(e.b.CreateLShr(u, number(bits, 16)), number(bits, 1));
  Value* r =
      e.b.CreateLShr(e.b.CreateAdd(u, e.b.CreateAdd(even, number(bits, 0x7fff))), number(bits, 16));
  r = e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), number(bits, 0x7fc0), r);
  return e.b.CreateTrunc(r, e.like(e.b.getInt16Ty(), x));
}

// An i64 or u64 as f64 rounded to odd.
Value* i64_to_f64_odd(Emit& e, Value* x, bool is_signed) {
  llvm::Type* t = x->getType();
  llvm::Type* f = e.like(e.b.getDoubleTy(), x);
  // Beyond 2^53, 11 low bits (all that may not fit) become one sticky bit, and the conversion is
  // exact.
  Value* low = e.b.CreateICmpNE(e.b.CreateAnd(x, number(t, 0x7ff)), Emit::zero(t));
  Value* cut = e.b.CreateAnd(x, llvm::ConstantInt::get(t, ~uint64_t{0x7ff}));
  cut = e.b.CreateOr(cut, e.b.CreateSelect(low, number(t, 0x800), Emit::zero(t)));
  Value* magnitude =
      is_signed ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, e.b.getFalse()) : x;
  Value* large = e.b.CreateICmpUGE(magnitude, number(t, uint64_t{1} << 53));
  x = e.b.CreateSelect(large, cut, x);
  return is_signed ? e.b.CreateSIToFP(x, f) : e.b.CreateUIToFP(x, f);
}

Value* to_half(Emit& e, Value* x, uint32_t from, uint32_t to) {
  if (from == OST_DTYPE_BOOL) x = e.b.CreateUIToFP(x, e.like(e.b.getFloatTy(), x));
  if (kir::is_int(from)) {
    const bool s = kir::is_signed(from);
    if (kir::bits_of(from) <= 16) {
      llvm::Type* f = e.like(e.b.getFloatTy(), x);
      x = s ? e.b.CreateSIToFP(x, f) : e.b.CreateUIToFP(x, f);
    } else {
      llvm::Type* f = e.like(e.b.getDoubleTy(), x);
      if (kir::bits_of(from) == 64)
        x = i64_to_f64_odd(e, x, s);
      else
        x = s ? e.b.CreateSIToFP(x, f) : e.b.CreateUIToFP(x, f);
    }
  }
  if (x->getType()->getScalarType()->isDoubleTy()) x = f64_to_f32_odd(e, x);
  return to == OST_DTYPE_F16 ? f32_to_f16(e, x) : f32_to_bf16(e, x);
}

Value* to_bool(Emit& e, Value* x) {
  if (x->getType()->getScalarType()->isIntegerTy())
    return e.b.CreateICmpNE(x, Emit::zero(x->getType()));
  return e.b.CreateFCmpUNE(x, Emit::zero(x->getType()));
}

}  // namespace

Value* emit_cast(Emit& e, Value* x, uint32_t from, uint32_t to) {
  if (from == to) return x;
  if (kir::is_half(from)) {
    x = from == OST_DTYPE_F16 ? f16_to_f32(e, x) : bf16_to_f32(e, x);
    return emit_cast(e, x, OST_DTYPE_F32, to);
  }
  if (kir::is_half(to)) return to_half(e, x, from, to);
  if (to == OST_DTYPE_BOOL) return to_bool(e, x);
  llvm::Type* type = e.like(e.type(to), x);
  const bool s = kir::is_signed(from);
  if (kir::is_float(from)) {
    if (kir::is_float(to))
      return to == OST_DTYPE_F64 ? e.b.CreateFPExt(x, type) : e.b.CreateFPTrunc(x, type);
    const auto id = kir::is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return e.b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  if (kir::is_float(to)) return s ? e.b.CreateSIToFP(x, type) : e.b.CreateUIToFP(x, type);
  return s ? e.b.CreateSExtOrTrunc(x, type) : e.b.CreateZExtOrTrunc(x, type);
}

Value* emit_bitcast(Emit& e, Value* x, uint32_t from, uint32_t to) {
  return from == to ? x : e.b.CreateBitCast(x, e.like(e.type(to), x));
}

}  // namespace ost_cpu
