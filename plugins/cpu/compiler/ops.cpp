#include "plugins/cpu/compiler/ops.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include <bit>

#include "plugins/cpu/compiler/ops_soft.hpp"

namespace ost_cpu {

using namespace ostinato;
using llvm::Intrinsic::ID;

namespace {

Value* unary(Emit& e, ID id, Value* x) { return e.b.CreateUnaryIntrinsic(id, x); }
Value* binary(Emit& e, ID id, Value* x, Value* y) { return e.b.CreateBinaryIntrinsic(id, x, y); }

Value* rounding(Emit& e, uint16_t op, Value* x) {
  if (!has(e.isa, "sse4.1")) return soft_round(e, op, x);
  switch (op) {
    case OST_KIR_OP_FLOOR:
      return unary(e, llvm::Intrinsic::floor, x);
    case OST_KIR_OP_CEIL:
      return unary(e, llvm::Intrinsic::ceil, x);
    case OST_KIR_OP_TRUNC:
      return unary(e, llvm::Intrinsic::trunc, x);
    default:
      return unary(e, llvm::Intrinsic::roundeven, x);
  }
}

// vrangeps orders zeros as KIR does but lets a NaN lose; the sum of the operands is a NaN wherever
// one of them is.
Value* extreme_avx512(Emit& e, bool max, Value* x, Value* y) {
  const bool f32 = x->getType()->getScalarType()->isFloatTy();
  const unsigned width = f32 ? 16 : 8;
  const auto id = f32 ? llvm::Intrinsic::x86_avx512_mask_range_ps_512
                      : llvm::Intrinsic::x86_avx512_mask_range_pd_512;
  return e.by_pieces({x, y}, width, [&](llvm::ArrayRef<Value*> p) {
    Value* all = llvm::ConstantInt::get(e.b.getIntNTy(width), -1, true);
    Value* r = e.b.CreateIntrinsic(
        id, {}, {p[0], p[1], e.b.getInt32(max ? 5 : 4), p[0], all, e.b.getInt32(4)});
    return e.b.CreateSelect(e.b.CreateFCmpUNO(p[0], p[1]), e.b.CreateFAdd(p[0], p[1]), r);
  });
}

Value* extreme(Emit& e, bool max, uint32_t t, Value* x, Value* y) {
  if (t == OST_DTYPE_BOOL) return max ? e.b.CreateOr(x, y) : e.b.CreateAnd(x, y);
  // llvm.maximum and minimum: NaN wins and -0 < +0, as KIR has it.
  if (kir::is_float(t) && e.avx512 && Emit::lanes(x) >= 16) return extreme_avx512(e, max, x, y);
  if (kir::is_float(t))
    return binary(e, max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x, y);
  if (kir::is_signed(t))
    return binary(e, max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, x, y);
  return binary(e, max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, x, y);
}

Value* shift(Emit& e, bool left, uint32_t t, Value* x, Value* n) {
  llvm::Type* type = x->getType();
  Value* in_range = e.b.CreateICmpULT(n, llvm::ConstantInt::get(type, kir::bits_of(t)));
  Value* r = left                ? e.b.CreateShl(x, n)
             : kir::is_signed(t) ? e.b.CreateAShr(x, n)
                                 : e.b.CreateLShr(x, n);
  return e.b.CreateSelect(in_range, r, Emit::zero(type));
}

Value* compare(Emit& e, uint16_t op, uint32_t t, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  const bool f = kir::is_float(t), s = kir::is_signed(t);
  P p;
  switch (op) {
    case OST_KIR_OP_EQ:
      p = f ? P::FCMP_OEQ : P::ICMP_EQ;
      break;
    case OST_KIR_OP_NE:
      p = f ? P::FCMP_UNE : P::ICMP_NE;
      break;
    case OST_KIR_OP_LT:
      p = f ? P::FCMP_OLT : s ? P::ICMP_SLT : P::ICMP_ULT;
      break;
    default:
      p = f ? P::FCMP_OLE : s ? P::ICMP_SLE : P::ICMP_ULE;
      break;
  }
  return f ? e.b.CreateFCmp(p, x, y) : e.b.CreateICmp(p, x, y);
}

Value* integer_or_float(Emit& e, uint16_t op, uint32_t t, Value* x, Value* y) {
  const bool f = kir::is_float(t);
  switch (op) {
    case OST_KIR_OP_ADD:
      return f ? e.b.CreateFAdd(x, y) : e.b.CreateAdd(x, y);
    case OST_KIR_OP_SUB:
      return f ? e.b.CreateFSub(x, y) : e.b.CreateSub(x, y);
    case OST_KIR_OP_MUL:
      return f ? e.b.CreateFMul(x, y) : e.b.CreateMul(x, y);
    default:
      return f ? e.b.CreateFDiv(x, y) : emit_div(e, x, y, kir::is_signed(t));
  }
}

// Nonzero and not -1, known now: a plain division is total.
bool is_safe_divisor(Value* y) {
  const auto* c = llvm::dyn_cast<llvm::Constant>(y);
  if (!c) return false;
  if (y->getType()->isVectorTy()) c = c->getSplatValue();
  const auto* i = llvm::dyn_cast_or_null<llvm::ConstantInt>(c);
  return i && !i->isZero() && !i->isMinusOne();
}

// Up to 32 bits in vectors: the quotient of two such integers in f64 is off by less than its
// distance to the next integer, so truncation gives the exact one. There is no vector division for
// integers.
Value* div_by_f64(Emit& e, Value* x, Value* y, bool is_signed) {
  llvm::Type* wide = e.like(e.b.getDoubleTy(), x);
  const auto to_wide = [&](Value* v) {
    return is_signed ? e.b.CreateSIToFP(v, wide) : e.b.CreateUIToFP(v, wide);
  };
  Value* q = e.b.CreateFDiv(to_wide(x), to_wide(y));
  return is_signed ? e.b.CreateFPToSI(q, x->getType()) : e.b.CreateFPToUI(q, x->getType());
}

// x / y for y neither 0 nor (signed) -1.
Value* div_safe(Emit& e, Value* x, Value* y, bool is_signed) {
  const bool constant = llvm::isa<llvm::Constant>(y);
  if (Emit::isa_vector(x) && x->getType()->getScalarSizeInBits() <= 32 && !constant)
    return div_by_f64(e, x, y, is_signed);
  return is_signed ? e.b.CreateSDiv(x, y) : e.b.CreateUDiv(x, y);
}

Value* scalef(Emit& e, Value* x, Value* n) {
  const bool f32 = x->getType()->getScalarType()->isFloatTy();
  const unsigned width = f32 ? 16 : 8;
  const auto id = f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                      : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  Value* nf = e.b.CreateSIToFP(n, x->getType());
  return e.by_pieces({x, nf}, width, [&](llvm::ArrayRef<Value*> p) {
    Value* all = llvm::ConstantInt::get(e.b.getIntNTy(width), -1, true);
    return e.b.CreateIntrinsic(id, {}, {p[0], p[1], p[0], all, e.b.getInt32(4)});
  });
}

Value* power_of_two(Emit& e, Value* n, llvm::Type* floating) {  // n within the normal exponents
  const bool f32 = floating->getScalarType()->isFloatTy();
  llvm::Type* bits = e.like(f32 ? e.b.getInt32Ty() : e.b.getInt64Ty(), n);
  Value* biased =
      e.b.CreateAdd(e.b.CreateSExt(n, bits), llvm::ConstantInt::get(bits, f32 ? 127 : 1023));
  return e.b.CreateBitCast(e.b.CreateShl(biased, llvm::ConstantInt::get(bits, f32 ? 23 : 52)),
                           floating);
}

// Exact in double for every f32 and |n| <= 400, and beyond that the result is 0 or infinity all the
// same.
Value* ldexp_f32(Emit& e, Value* x, Value* n) {
  llvm::Type* wide = e.like(e.b.getDoubleTy(), x);
  Value* k = binary(e, llvm::Intrinsic::smin, n, llvm::ConstantInt::get(n->getType(), 400));
  k = binary(e, llvm::Intrinsic::smax, k, llvm::ConstantInt::get(n->getType(), -400, true));
  return e.b.CreateFPTrunc(e.b.CreateFMul(e.b.CreateFPExt(x, wide), power_of_two(e, k, wide)),
                           x->getType());
}

// Where no lane leaves the exponents of normal numbers, one product is the whole of it (and rounds
// once).
Value* ldexp_f32_vector(Emit& e, Value* x, Value* n) {
  Value* offset = e.b.CreateAdd(n, llvm::ConstantInt::get(n->getType(), 126));
  Value* far = e.b.CreateICmpUGT(offset, llvm::ConstantInt::get(n->getType(), 253));
  return e.branch(
      e.any(far), [&] { return Values{ldexp_f32(e, x, n)}; },
      [&] { return Values{e.b.CreateFMul(x, power_of_two(e, n, x->getType()))}; })[0];
}

// The steps of musl's scalbn without its branches: a step down leaves 53 bits of room, so only the
// last product rounds.
Value* ldexp_f64(Emit& e, Value* x, Value* n) {
  llvm::Type* t = n->getType();
  const auto number = [&](int v) {
    return llvm::ConstantInt::get(t, static_cast<uint64_t>(v), true);
  };
  for (int pass = 0; pass < 2; ++pass) {
    Value* up = e.b.CreateICmpSGT(n, number(1023));
    Value* down = e.b.CreateICmpSLT(n, number(-1022));
    Value* factor =
        e.b.CreateSelect(up, e.constant(x->getType(), std::bit_cast<uint64_t>(0x1p1023)),
                         e.constant(x->getType(), std::bit_cast<uint64_t>(0x1p-969)));
    x = e.b.CreateSelect(e.b.CreateOr(up, down), e.b.CreateFMul(x, factor), x);
    n = e.b.CreateSelect(up, e.b.CreateSub(n, number(1023)),
                         e.b.CreateSelect(down, e.b.CreateAdd(n, number(969)), n));
  }
  n = binary(e, llvm::Intrinsic::smax, binary(e, llvm::Intrinsic::smin, n, number(1023)),
             number(-1022));
  return e.b.CreateFMul(x, power_of_two(e, n, x->getType()));
}

}  // namespace

Value* emit_fma(Emit& e, Value* x, Value* y, Value* z) {
  if (!has(e.isa, "fma")) return soft_fma(e, x, y, z);
  return e.b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value* emit_ldexp(Emit& e, Value* x, Value* n) {
  if (e.avx512 && Emit::lanes(x) >= 16) return scalef(e, x, n);
  if (!x->getType()->getScalarType()->isFloatTy()) return ldexp_f64(e, x, n);
  return Emit::isa_vector(x) ? ldexp_f32_vector(e, x, n) : ldexp_f32(e, x, n);
}

Value* emit_div(Emit& e, Value* x, Value* y, bool is_signed) {
  if (is_safe_divisor(y)) return div_safe(e, x, y, is_signed);
  llvm::Type* t = x->getType();
  Value* by_zero = e.b.CreateICmpEQ(y, Emit::zero(t));
  Value* one = llvm::ConstantInt::get(t, 1);
  if (!is_signed) {
    Value* q = div_safe(e, x, e.b.CreateSelect(by_zero, one, y), false);
    return e.b.CreateSelect(by_zero, Emit::zero(t), q);
  }
  Value* by_minus_one = e.b.CreateICmpEQ(y, llvm::ConstantInt::get(t, -1, true));
  Value* q = div_safe(e, x, e.b.CreateSelect(e.b.CreateOr(by_zero, by_minus_one), one, y), true);
  return e.b.CreateSelect(by_zero, Emit::zero(t),
                          e.b.CreateSelect(by_minus_one, e.b.CreateNeg(x), q));
}

Value* emit_rem(Emit& e, Value* x, Value* y, bool is_signed) {
  Value* r = e.b.CreateSub(x, e.b.CreateMul(emit_div(e, x, y, is_signed), y));
  if (is_safe_divisor(y)) return r;
  return e.b.CreateSelect(e.b.CreateICmpEQ(y, Emit::zero(y->getType())), Emit::zero(y->getType()),
                          r);
}

Value* emit_op(Emit& e, uint16_t op, uint32_t t, llvm::ArrayRef<Value*> x) {
  const bool f = kir::is_float(t);
  switch (op) {
    case OST_KIR_OP_NEG:
      return f ? e.b.CreateFNeg(x[0]) : e.b.CreateNeg(x[0]);
    case OST_KIR_OP_ABS:
      if (f) return unary(e, llvm::Intrinsic::fabs, x[0]);
      return kir::is_signed(t)
                 ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], e.b.getFalse())
                 : x[0];
    case OST_KIR_OP_SQRT:
      return unary(e, llvm::Intrinsic::sqrt, x[0]);
    case OST_KIR_OP_FLOOR:
    case OST_KIR_OP_CEIL:
    case OST_KIR_OP_TRUNC:
    case OST_KIR_OP_RINT:
      return rounding(e, op, x[0]);
    case OST_KIR_OP_NOT:
      return e.b.CreateNot(x[0]);
    case OST_KIR_OP_ADD:
    case OST_KIR_OP_SUB:
    case OST_KIR_OP_MUL:
    case OST_KIR_OP_DIV:
      return integer_or_float(e, op, t, x[0], x[1]);
    case OST_KIR_OP_REM:
      return emit_rem(e, x[0], x[1], kir::is_signed(t));
    case OST_KIR_OP_MIN:
      return extreme(e, false, t, x[0], x[1]);
    case OST_KIR_OP_MAX:
      return extreme(e, true, t, x[0], x[1]);
    case OST_KIR_OP_AND:
      return e.b.CreateAnd(x[0], x[1]);
    case OST_KIR_OP_OR:
      return e.b.CreateOr(x[0], x[1]);
    case OST_KIR_OP_XOR:
      return e.b.CreateXor(x[0], x[1]);
    case OST_KIR_OP_SHL:
      return shift(e, true, t, x[0], x[1]);
    case OST_KIR_OP_SHR:
      return shift(e, false, t, x[0], x[1]);
    case OST_KIR_OP_EQ:
    case OST_KIR_OP_NE:
    case OST_KIR_OP_LT:
    case OST_KIR_OP_LE:
      return compare(e, op, t, x[0], x[1]);
    case OST_KIR_OP_FMA:
      return emit_fma(e, x[0], x[1], x[2]);
    case OST_KIR_OP_LDEXP:
      return emit_ldexp(e, x[0], x[1]);
    default:
      throw CompileError{OST_INTERNAL,
                         "cpu: no lowering for operation " + std::string(kir::op_name(op))};
  }
}

Value* emit_combine(Emit& e, uint32_t combine, uint32_t t, Value* acc, Value* x) {
  switch (combine) {
    case OST_KIR_COMBINE_SUM:
      return integer_or_float(e, OST_KIR_OP_ADD, t, acc, x);
    case OST_KIR_COMBINE_PROD:
      return integer_or_float(e, OST_KIR_OP_MUL, t, acc, x);
    case OST_KIR_COMBINE_MAX:
      return extreme(e, true, t, acc, x);
    case OST_KIR_COMBINE_MIN:
      return extreme(e, false, t, acc, x);
    case OST_KIR_COMBINE_AND:
      return e.b.CreateAnd(acc, x);
    case OST_KIR_COMBINE_OR:
      return e.b.CreateOr(acc, x);
    default:
      return e.b.CreateXor(acc, x);
  }
}

Value* emit_identity(Emit& e, uint32_t combine, uint32_t t, unsigned lanes) {
  llvm::Type* type = Emit::widen(e.type(t), lanes);
  const bool max = combine == OST_KIR_COMBINE_MAX;
  if (combine == OST_KIR_COMBINE_AND) return llvm::Constant::getAllOnesValue(type);
  if (combine == OST_KIR_COMBINE_PROD) {
    return kir::is_float(t) ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  }
  if (!max && combine != OST_KIR_COMBINE_MIN) return Emit::zero(type);
  if (kir::is_float(t)) return llvm::ConstantFP::getInfinity(type, max);
  if (t == OST_DTYPE_BOOL) return llvm::ConstantInt::get(type, max ? 0 : 1);
  const unsigned bits = kir::bits_of(t);
  const llvm::APInt lowest =
      kir::is_signed(t) ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt highest =
      kir::is_signed(t) ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  return llvm::ConstantInt::get(type, max ? lowest : highest);
}

Value* emit_exp_f32(Emit& e, Value* x) {
  const auto number = [&](float v) { return llvm::ConstantFP::get(x->getType(), v); };
  Value* c = e.b.CreateSelect(e.b.CreateFCmpOLT(x, number(-104.0f)), number(-104.0f), x);
  c = e.b.CreateSelect(e.b.CreateFCmpOLT(number(89.0f), c), number(89.0f), c);
  Value* t = emit_fma(e, c, number(0x1.715476p+0f), number(0x1.8p23f));
  Value* n = e.b.CreateFSub(t, number(0x1.8p23f));
  Value* f = emit_fma(e, n, number(-0x1.62e43p-1f), c);
  f = emit_fma(e, n, number(0x1.05c61p-29f), f);
  Value* p = number(0x1.6ac862p-10f);
  for (const float k : {0x1.123de4p-7f, 0x1.555858p-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f})
    p = emit_fma(e, p, f, number(k));
  p = emit_fma(e, emit_fma(e, p, f, number(1.0f)), f, number(1.0f));
  llvm::Type* bits = e.i32_like(x);
  Value* i = e.b.CreateSub(e.b.CreateBitCast(t, bits),
                           e.constant(bits, std::bit_cast<uint32_t>(0x1.8p23f)));
  return emit_ldexp(e, p, i);
}

unsigned op_cost(uint16_t op) {
  switch (op) {
    case OST_KIR_OP_CONST:
    case OST_KIR_OP_PARAM:
    case OST_KIR_OP_VAR:
    case OST_KIR_OP_AXIS:
      return 0;
    case OST_KIR_OP_DIV:
    case OST_KIR_OP_REM:
    case OST_KIR_OP_SQRT:
      return 8;
    case OST_KIR_OP_LDEXP:
    case OST_KIR_OP_CAST:
      return 2;
    case OST_KIR_OP_CONTRACT:
    case OST_KIR_OP_FMA:
      return 2;
    case OST_KIR_OP_ATTN:
      return 40;
    default:
      return 1;
  }
}

}  // namespace ost_cpu
