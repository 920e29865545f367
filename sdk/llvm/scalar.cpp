#include "scalar.hpp"

namespace ostinato::kir {

using llvm::Intrinsic::ID;
using Value = Scalar::Value;

void Scalar::use_one(Value* one, bool f64) {
  one32_ = b.CreateBitCast(one, b.getFloatTy());
  minus_zero32_ = b.CreateFNeg(b.CreateFSub(one32_, one32_));
  if (!f64) return;
  one64_ = b.CreateFPExt(one32_, b.getDoubleTy());
  minus_zero64_ = b.CreateFNeg(b.CreateFSub(one64_, one64_));
}

llvm::Type* Scalar::type(uint32_t t) const {
  if (t == OST_DTYPE_BOOL) return b.getInt1Ty();
  if (t == OST_DTYPE_F32) return b.getFloatTy();
  if (t == OST_DTYPE_F64) return b.getDoubleTy();
  return b.getIntNTy(bits_of(t));
}
llvm::Type* Scalar::memory_type(uint32_t t) const {
  return t == OST_DTYPE_BOOL ? b.getInt8Ty() : type(t);
}
llvm::Constant* Scalar::constant(uint32_t t, uint64_t bits) const {
  if (t == OST_DTYPE_F32)
    return llvm::ConstantFP::get(b.getContext(),
                                 llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
  if (t == OST_DTYPE_F64)
    return llvm::ConstantFP::get(b.getContext(),
                                 llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  return llvm::ConstantInt::get(type(t), bits);
}

Value* Scalar::bits(Value* x) const {
  return b.CreateBitCast(x, x->getType()->isDoubleTy() ? b.getInt64Ty() : b.getInt32Ty());
}
Value* Scalar::from_bits(Value* x) const {
  return b.CreateBitCast(x, x->getType()->isIntegerTy(64) ? b.getDoubleTy() : b.getFloatTy());
}
Value* Scalar::shift_rne(Value* value, Value* shift) const {
  Value* one = whole(value, 1);
  Value* quotient = b.CreateLShr(value, shift);
  Value* rest = b.CreateAnd(value, b.CreateSub(b.CreateShl(one, shift), one));
  Value* middle = b.CreateShl(one, b.CreateSub(shift, one));
  Value* odd = b.CreateICmpNE(b.CreateAnd(quotient, one), whole(value, 0));
  Value* up =
      b.CreateOr(b.CreateICmpUGT(rest, middle), b.CreateAnd(b.CreateICmpEQ(rest, middle), odd));
  return b.CreateAdd(quotient, pick(up, one, whole(value, 0)));
}

// --- one operand

Value* Scalar::unary(uint16_t op, uint32_t t, Value* x) {
  if (op == OST_KIR_OP_NOT) return b.CreateNot(x);
  if (is_int(t)) {
    Value* negative = b.CreateNeg(x);
    if (op == OST_KIR_OP_NEG) return negative;
    return is_signed(t) ? pick(b.CreateICmpSLT(x, whole(x, 0)), negative, x) : x;
  }
  const uint64_t sign = uint64_t{1} << (bits_of(t) - 1);
  switch (op) {
    case OST_KIR_OP_NEG:
      return from_bits(b.CreateXor(bits(x), whole(bits(x), sign)));
    case OST_KIR_OP_ABS:
      return from_bits(b.CreateAnd(bits(x), whole(bits(x), sign - 1)));
    case OST_KIR_OP_SQRT:
      if (soft_divide_ && t == OST_DTYPE_F32) return soft_sqrt(x);
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case OST_KIR_OP_FLOOR:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case OST_KIR_OP_CEIL:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
    case OST_KIR_OP_TRUNC:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
    default:  // rint
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
  }
}

// --- two operands

Value* Scalar::binary(uint16_t op, uint32_t t, Value* x, Value* y, bool accumulates) {
  if (t == OST_DTYPE_BOOL) return logical(op, x, y);
  return is_float(t) ? real_binary(op, x, y, accumulates) : whole_binary(op, is_signed(t), x, y);
}

Value* Scalar::real_binary(uint16_t op, Value* x, Value* y, bool accumulates) {
  const bool wide = x->getType()->isDoubleTy();
  switch (op) {
    case OST_KIR_OP_ADD:
      return accumulates ? fma(wide ? one64_ : one32_, y, x) : b.CreateFAdd(x, y);
    case OST_KIR_OP_SUB:
      return b.CreateFSub(x, y);
    case OST_KIR_OP_MUL:
      return accumulates ? fma(x, y, wide ? minus_zero64_ : minus_zero32_) : b.CreateFMul(x, y);
    case OST_KIR_OP_DIV:
      return soft_divide_ && !wide ? soft_div(x, y) : b.CreateFDiv(x, y);
    default:
      return extreme(op == OST_KIR_OP_MAX, x, y);
  }
}

// NaN wins, the first one's; -0 < +0: of equals, max has the bits in common and min those of both.
Value* Scalar::extreme(bool max, Value* x, Value* y) {
  Value* first = max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  Value* second = max ? b.CreateFCmpOGT(y, x) : b.CreateFCmpOLT(y, x);
  Value* both = max ? b.CreateAnd(bits(x), bits(y)) : b.CreateOr(bits(x), bits(y));
  Value* equal = pick(b.CreateOr(second, b.CreateFCmpUNO(y, y)), y, from_bits(both));
  return pick(b.CreateOr(first, b.CreateFCmpUNO(x, x)), x, equal);
}

Value* Scalar::fma(Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value* Scalar::whole_binary(uint16_t op, bool is_signed_type, Value* x, Value* y) {
  switch (op) {
    case OST_KIR_OP_ADD:
      return b.CreateAdd(x, y);
    case OST_KIR_OP_SUB:
      return b.CreateSub(x, y);
    case OST_KIR_OP_MUL:
      return b.CreateMul(x, y);
    case OST_KIR_OP_AND:
      return b.CreateAnd(x, y);
    case OST_KIR_OP_OR:
      return b.CreateOr(x, y);
    case OST_KIR_OP_XOR:
      return b.CreateXor(x, y);
    case OST_KIR_OP_DIV:
    case OST_KIR_OP_REM:
      return divide(op == OST_KIR_OP_REM, is_signed_type, x, y);
    case OST_KIR_OP_SHL:
    case OST_KIR_OP_SHR:
      return shift(op == OST_KIR_OP_SHL, is_signed_type, x, y);
    default: {  // min, max
      Value* less = is_signed_type ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
      return op == OST_KIR_OP_MIN ? pick(less, x, y) : pick(less, y, x);
    }
  }
}

// x / 0 and x rem 0 are 0, MIN / -1 is MIN: by 1 instead, whose remainder is 0.
Value* Scalar::divide(bool remainder, bool is_signed_type, Value* x, Value* y) {
  Value* zero = b.CreateICmpEQ(y, whole(y, 0));
  Value* minus = is_signed_type
                     ? b.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(y->getType()))
                     : b.getFalse();
  Value* by = pick(b.CreateOr(zero, minus), whole(y, 1), y);
  if (remainder) return is_signed_type ? b.CreateSRem(x, by) : b.CreateURem(x, by);
  Value* quotient = is_signed_type ? b.CreateSDiv(x, by) : b.CreateUDiv(x, by);
  if (is_signed_type) quotient = pick(minus, b.CreateNeg(x), quotient);
  return pick(zero, whole(x, 0), quotient);
}

Value* Scalar::shift(bool left, bool is_signed_type, Value* x, Value* y) {
  Value* inside = b.CreateICmpULT(y, whole(y, y->getType()->getIntegerBitWidth()));
  Value* by = pick(inside, y, whole(y, 0));
  Value* shifted = left             ? b.CreateShl(x, by)
                   : is_signed_type ? b.CreateAShr(x, by)
                                    : b.CreateLShr(x, by);
  return pick(inside, shifted, whole(x, 0));
}

Value* Scalar::logical(uint16_t op, Value* x, Value* y) {
  if (op == OST_KIR_OP_XOR) return b.CreateXor(x, y);
  const bool both = op == OST_KIR_OP_AND || op == OST_KIR_OP_MIN;
  return both ? b.CreateAnd(x, y) : b.CreateOr(x, y);
}

// Bools are compared by logic: SPIR-V has no order of them.
Value* Scalar::compare(uint16_t op, uint32_t t, Value* x, Value* y) {
  const auto which = [&](llvm::CmpInst::Predicate eq, llvm::CmpInst::Predicate ne,
                         llvm::CmpInst::Predicate lt, llvm::CmpInst::Predicate le) {
    return op == OST_KIR_OP_EQ ? eq : op == OST_KIR_OP_NE ? ne : op == OST_KIR_OP_LT ? lt : le;
  };
  using C = llvm::CmpInst;
  if (t == OST_DTYPE_BOOL) {
    if (op == OST_KIR_OP_NE) return b.CreateXor(x, y);
    if (op == OST_KIR_OP_EQ) return b.CreateNot(b.CreateXor(x, y));
    return op == OST_KIR_OP_LT ? b.CreateAnd(b.CreateNot(x), y) : b.CreateOr(b.CreateNot(x), y);
  }
  if (is_float(t))
    return b.CreateFCmp(which(C::FCMP_OEQ, C::FCMP_UNE, C::FCMP_OLT, C::FCMP_OLE), x, y);
  return b.CreateICmp(is_signed(t) ? which(C::ICMP_EQ, C::ICMP_NE, C::ICMP_SLT, C::ICMP_SLE)
                                   : which(C::ICMP_EQ, C::ICMP_NE, C::ICMP_ULT, C::ICMP_ULE),
                      x, y);
}

// x * 2^n with one rounding, in integers.
Value* Scalar::ldexp(uint32_t t, Value* x, Value* n) {
  const bool wide = t == OST_DTYPE_F64;
  const unsigned m = wide ? 52 : 23;         // bits of the fraction
  const int64_t most = wide ? 2047 : 255;    // the exponent of infinity
  const int64_t clamp = wide ? 5000 : 600;   // beyond that nothing changes
  const int64_t lowest = wide ? 1074 : 149;  // 2^-lowest is the smallest number
  Value* u = bits(x);
  const auto c = [&](int64_t v) { return whole(u, static_cast<uint64_t>(v)); };
  const int64_t sign_bit = wide ? INT64_MIN : int64_t{1} << 31;
  Value* sign = b.CreateAnd(u, c(sign_bit));
  Value* magnitude = b.CreateXor(u, sign);
  n = b.CreateSExt(n, u->getType());
  n = pick(b.CreateICmpSLT(n, c(-clamp)), c(-clamp), n);
  n = pick(b.CreateICmpSGT(n, c(clamp)), c(clamp), n);
  // A subnormal is its fraction, a whole number, times 2^-lowest.
  Value* subnormal = b.CreateICmpULT(magnitude, c(int64_t{1} << m));
  Value* scaled =
      bits(b.CreateUIToFP(b.CreateAnd(magnitude, c((int64_t{1} << m) - 1)), x->getType()));
  Value* normal = pick(subnormal, scaled, magnitude);
  Value* e =
      b.CreateAdd(b.CreateSub(b.CreateLShr(normal, c(m)), pick(subnormal, c(lowest), c(0))), n);
  Value* fraction = b.CreateAnd(normal, c((int64_t{1} << m) - 1));
  Value* plain = b.CreateOr(b.CreateShl(e, c(m)), fraction);
  Value* k = b.CreateSub(c(1), e);
  k = pick(b.CreateICmpSGT(k, c(m + 2)), c(m + 2), k);
  k = pick(b.CreateICmpSLT(k, c(1)), c(1), k);
  Value* tiny = shift_rne(b.CreateOr(fraction, c(int64_t{1} << m)), k);
  Value* result = pick(b.CreateICmpSGT(e, c(0)), plain, tiny);
  result = pick(b.CreateICmpSGE(e, c(most)), c(most << m), result);
  Value* special =
      b.CreateOr(b.CreateICmpEQ(magnitude, c(0)), b.CreateICmpUGE(magnitude, c(most << m)));
  return pick(special, x, from_bits(b.CreateOr(sign, result)));
}

}  // namespace ostinato::kir
