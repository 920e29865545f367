#include "plugins/cpu/compiler/ops_soft.hpp"

#include <bit>
#include <string>

namespace ost_cpu {

using namespace ostinato;

namespace {

Value* real(Value* like, double v) { return llvm::ConstantFP::get(like->getType(), v); }
Value* whole(llvm::Type* t, uint64_t v) { return llvm::ConstantInt::get(t, v); }
Value* fabs(Emit& e, Value* x) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
Value* copysign(Emit& e, Value* x, Value* s) {
  return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, s);
}

Value* rint(Emit& e, Value* x) {
  const double magic = x->getType()->getScalarType()->isFloatTy() ? 0x1p23 : 0x1p52;
  Value* a = fabs(e, x);
  Value* r = copysign(e, e.b.CreateFSub(e.b.CreateFAdd(a, real(x, magic)), real(x, magic)), x);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(a, real(x, magic)), r, x);
}

Value* floor(Emit& e, Value* x) {
  Value* r = rint(e, x);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(r, x), e.b.CreateFSub(r, real(x, 1)), r);
}

// Exact product in f64, exact error of the sum, the sum rounded to odd; the last rounding is then
// the only one.
Value* fma_f32_body(Emit& e, Value* x, Value* y, Value* z) {
  llvm::Type* wide = e.like(e.b.getDoubleTy(), x);
  llvm::Type* bits = e.like(e.b.getInt64Ty(), x);
  Value* p = e.b.CreateFMul(e.b.CreateFPExt(x, wide), e.b.CreateFPExt(y, wide));
  Value* c = e.b.CreateFPExt(z, wide);
  Value* s = e.b.CreateFAdd(p, c);
  Value* t = e.b.CreateFSub(s, p);
  Value* error = e.b.CreateFAdd(e.b.CreateFSub(p, e.b.CreateFSub(s, t)), e.b.CreateFSub(c, t));
  Value* u = e.b.CreateBitCast(s, bits);
  Value* even = e.b.CreateICmpEQ(e.b.CreateAnd(u, whole(bits, 1)), Emit::zero(bits));
  Value* inexact = e.b.CreateFCmpONE(error, Emit::zero(wide));
  // Away from zero if the error has the sum's sign.
  Value* differ = e.b.CreateXor(u, e.b.CreateBitCast(error, bits));
  Value* step = e.b.CreateOr(e.b.CreateAShr(differ, whole(bits, 63)), whole(bits, 1));
  Value* odd = e.b.CreateSelect(e.b.CreateAnd(inexact, even), e.b.CreateAdd(u, step), u);
  return e.b.CreateFPTrunc(e.b.CreateBitCast(odd, wide), x->getType());
}

// One copy of the body for each width, as a function: expressions have many an fma.
Value* fma_f32(Emit& e, Value* x, Value* y, Value* z) {
  return e.by_pieces({x, y, z}, 16, [&](llvm::ArrayRef<Value*> p) -> Value* {
    llvm::Type* t = p[0]->getType();
    const std::string name = "fma_f32_" + std::to_string(Emit::lanes(t));
    llvm::Function* f = e.module.getFunction(name);
    if (!f) {
      auto* outer = e.fn;
      const auto at = e.b.saveIP();
      f = e.begin(name, {t, t, t}, t, false);
      e.b.CreateRet(fma_f32_body(e, f->getArg(0), f->getArg(1), f->getArg(2)));
      e.fn = outer;
      e.b.restoreIP(at);
    }
    return e.b.CreateCall(f, {p[0], p[1], p[2]});
  });
}

// fma in f64 by 128-bit integers: a function of its own, called for each lane.
class FmaF64 {
 public:
  explicit FmaF64(Emit& e) : e_(e), b_(e.b), i64_(b_.getInt64Ty()), i128_(b_.getInt128Ty()) {}

  llvm::Function* function() {
    if (auto* known = e_.module.getFunction("fma_f64")) return known;
    auto* outer = e_.fn;
    const auto at = b_.saveIP();
    llvm::Type* f64 = b_.getDoubleTy();
    auto* f = e_.begin("fma_f64", {f64, f64, f64}, f64, false);
    b_.CreateRet(body(f->getArg(0), f->getArg(1), f->getArg(2)));
    e_.fn = outer;
    b_.restoreIP(at);
    return f;
  }

 private:
  struct Number {
    Value *mantissa, *exponent, *sign;  // magnitude = mantissa * 2^exponent, sign in bit 63
  };

  Value* c64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  Value* wide(Value* v) { return b_.CreateZExt(v, i128_); }
  Value* bits(Value* x) { return b_.CreateBitCast(x, i64_); }
  Value* umin(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y); }

  Number split(Value* x) {
    Value* u = bits(x);
    Value* e = b_.CreateAnd(b_.CreateLShr(u, c64(52)), c64(0x7ff));
    Value* m = b_.CreateAnd(u, c64((int64_t{1} << 52) - 1));
    Value* normal = b_.CreateICmpNE(e, c64(0));
    m = b_.CreateOr(m, b_.CreateSelect(normal, c64(int64_t{1} << 52), c64(0)));
    Value* exponent = b_.CreateSub(b_.CreateSelect(normal, e, c64(1)), c64(1075));
    return {m, exponent, b_.CreateAnd(u, c64(std::numeric_limits<int64_t>::min()))};
  }

  // v >> n with every bit that falls out gathered in bit 0.
  Value* shift_sticky(Value* v, Value* n) {
    n = wide(umin(n, c64(127)));
    Value* kept = b_.CreateLShr(v, n);
    Value* lost = b_.CreateICmpNE(b_.CreateShl(kept, n), v);
    return b_.CreateOr(kept, b_.CreateZExt(lost, i128_));
  }

  // magnitude * 2^exponent to the nearest double, ties to even; magnitude is not 0.
  Value* round(Value* magnitude, Value* exponent, Value* sign) {
    Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b_.getTrue());
    Value* top = b_.CreateSub(c64(127), b_.CreateTrunc(zeros, i64_));
    Value* E = b_.CreateAdd(top, exponent);  // of the leading bit
    Value* subnormal = b_.CreateICmpSLT(E, c64(-1022));
    Value* keep =
        b_.CreateSelect(subnormal, b_.CreateAdd(E, c64(1075)), c64(53));  // bits of the result
    Value* drop = b_.CreateSub(b_.CreateAdd(top, c64(1)), keep);
    // Two more bits than the result, the last one sticky.
    Value* m = b_.CreateShl(magnitude, wide(e_.max(b_.CreateSub(c64(2), drop), c64(0))));
    m = shift_sticky(m, e_.max(b_.CreateSub(drop, c64(2)), c64(0)));
    Value* q = b_.CreateTrunc(b_.CreateLShr(m, wide(c64(2))), i64_);
    Value* rest = b_.CreateTrunc(b_.CreateAnd(m, wide(c64(3))), i64_);
    Value* tie_up = b_.CreateAnd(q, c64(1));
    Value* up = b_.CreateICmpUGT(b_.CreateAdd(rest, tie_up), c64(2));
    q = b_.CreateAdd(q, b_.CreateZExt(up, i64_));
    Value* biased = b_.CreateShl(b_.CreateAdd(E, c64(1022)), c64(52));
    Value* u = b_.CreateAdd(q, b_.CreateSelect(subnormal, c64(0), biased));
    u = b_.CreateSelect(b_.CreateICmpSGT(E, c64(1023)), c64(0x7ff0000000000000), u);
    return b_.CreateBitCast(b_.CreateOr(u, sign), b_.getDoubleTy());
  }

  Value* body(Value* x, Value* y, Value* z) {
    const auto finite = [&](Value* v) {
      return b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v),
                              llvm::ConstantFP::getInfinity(v->getType()));
    };
    const auto nonzero = [&](Value* v) { return b_.CreateFCmpUNE(v, Emit::zero(v->getType())); };
    Value* xy_ordinary =
        b_.CreateAnd(b_.CreateAnd(finite(x), finite(y)), b_.CreateAnd(nonzero(x), nonzero(y)));
    Value* product = b_.CreateFMul(x, y);
    const Number a = split(x), m = split(y), c = split(z);
    Value* p = b_.CreateMul(wide(a.mantissa), wide(m.mantissa));
    Value* pe = b_.CreateAdd(a.exponent, m.exponent);
    Value* sign = b_.CreateXor(a.sign, m.sign);
    // Align: z moves up by at most 73 bits (no bit is lost), the rest of the distance the product
    // moves down.
    Value* d = b_.CreateSub(c.exponent, pe);
    Value* up = e_.min(e_.max(d, c64(0)), c64(73));
    Value* zs = b_.CreateShl(wide(c.mantissa), wide(up));
    zs = shift_sticky(zs, e_.max(b_.CreateNeg(d), c64(0)));
    Value* down = b_.CreateSub(e_.max(d, c64(0)), up);
    Value* ps = shift_sticky(p, down);
    Value* exponent = b_.CreateAdd(pe, down);
    Value* same = b_.CreateICmpEQ(sign, c.sign);
    Value* sum = b_.CreateSelect(same, b_.CreateAdd(ps, zs), b_.CreateSub(ps, zs));
    Value* negative = b_.CreateAnd(b_.CreateNot(same), b_.CreateICmpULT(ps, zs));
    sum = b_.CreateSelect(negative, b_.CreateNeg(sum), sum);
    sign = b_.CreateSelect(negative, c.sign, sign);
    Value* cancelled = b_.CreateICmpEQ(sum, Emit::zero(i128_));
    Value* r = round(b_.CreateSelect(cancelled, wide(c64(1)), sum), exponent, sign);
    r = b_.CreateSelect(cancelled, b_.CreateFAdd(product, z),
                        r);                       // an exact 0: the sign that the sum has
    r = b_.CreateSelect(nonzero(z), r, product);  // +-0 must not change the sign of an underflow
    r = b_.CreateSelect(finite(z), r, z);
    return b_.CreateSelect(xy_ordinary, r, b_.CreateFAdd(product, z));
  }

  Emit& e_;
  llvm::IRBuilder<>& b_;
  llvm::Type *i64_, *i128_;
};

Value* fma_f64(Emit& e, Value* x, Value* y, Value* z) {
  llvm::Function* f = FmaF64(e).function();
  if (!Emit::isa_vector(x)) return e.b.CreateCall(f, {x, y, z});
  Value* r = llvm::PoisonValue::get(x->getType());
  for (unsigned i = 0; i < Emit::lanes(x); ++i) {
    const auto lane = [&](Value* v) { return e.b.CreateExtractElement(v, uint64_t{i}); };
    r = e.b.CreateInsertElement(r, e.b.CreateCall(f, {lane(x), lane(y), lane(z)}), uint64_t{i});
  }
  return r;
}

}  // namespace

Value* soft_round(Emit& e, uint16_t op, Value* x) {
  switch (op) {
    case OST_KIR_OP_FLOOR:
      return floor(e, x);
    case OST_KIR_OP_CEIL:
      return e.b.CreateFNeg(floor(e, e.b.CreateFNeg(x)));
    case OST_KIR_OP_TRUNC:
      return copysign(e, floor(e, fabs(e, x)), x);
    default:
      return rint(e, x);
  }
}

Value* soft_fma(Emit& e, Value* x, Value* y, Value* z) {
  return x->getType()->getScalarType()->isFloatTy() ? fma_f32(e, x, y, z) : fma_f64(e, x, y, z);
}

// After F. Giesen's conversions: the exponent is rebased by an addition, subnormals by a
// floating-point subtraction.
Value* soft_f16_to_f32(Emit& e, Value* h) {
  llvm::Type* t = e.i32_like(h);
  llvm::Type* f = e.like(e.b.getFloatTy(), h);
  Value* u = e.b.CreateZExt(h, t);
  Value* x = e.b.CreateShl(e.b.CreateAnd(u, whole(t, 0x7fff)), whole(t, 13));
  Value* exponent = e.b.CreateAnd(x, whole(t, 0x7c00 << 13));
  x = e.b.CreateAdd(x, whole(t, 112u << 23));
  Value* special = e.b.CreateAdd(x, whole(t, 112u << 23));
  Value* sub = e.b.CreateFSub(e.b.CreateBitCast(e.b.CreateAdd(x, whole(t, 1u << 23)), f),
                              llvm::ConstantFP::get(f, 0x1p-14));
  x = e.b.CreateSelect(e.b.CreateICmpEQ(exponent, whole(t, 0x7c00 << 13)), special, x);
  x = e.b.CreateSelect(e.b.CreateICmpEQ(exponent, Emit::zero(t)), e.b.CreateBitCast(sub, t), x);
  Value* sign = e.b.CreateShl(e.b.CreateAnd(u, whole(t, 0x8000)), whole(t, 16));
  return e.b.CreateBitCast(e.b.CreateOr(x, sign), f);
}

Value* soft_f32_to_f16(Emit& e, Value* x) {
  llvm::Type* t = e.i32_like(x);
  llvm::Type* f = x->getType();
  constexpr uint32_t kInfinity = 255u << 23, kTooLarge = (127u + 16) << 23,
                     kMagic = (127u - 15 + 23 - 10 + 1) << 23;
  Value* bits = e.b.CreateBitCast(x, t);
  Value* u = e.b.CreateAnd(bits, whole(t, 0x7fffffff));
  Value* large = e.b.CreateSelect(e.b.CreateICmpUGT(u, whole(t, kInfinity)), whole(t, 0x7e00),
                                  whole(t, 0x7c00));
  Value* sub = e.b.CreateFAdd(e.b.CreateBitCast(u, f),
                              llvm::ConstantFP::get(f, std::bit_cast<float>(kMagic)));
  sub = e.b.CreateSub(e.b.CreateBitCast(sub, t), whole(t, kMagic));
  Value* odd = e.b.CreateAnd(e.b.CreateLShr(u, whole(t, 13)), whole(t, 1));
  Value* normal = e.b.CreateAdd(
      u, llvm::ConstantInt::get(t, static_cast<uint32_t>(((15u - 127u) << 23) + 0xfff)));
  normal = e.b.CreateLShr(e.b.CreateAdd(normal, odd), whole(t, 13));
  Value* r = e.b.CreateSelect(e.b.CreateICmpULT(u, whole(t, 113u << 23)), sub, normal);
  r = e.b.CreateSelect(e.b.CreateICmpUGE(u, whole(t, kTooLarge)), large, r);
  r = e.b.CreateOr(r, e.b.CreateLShr(e.b.CreateAnd(bits, whole(t, 0x80000000u)), whole(t, 16)));
  return e.b.CreateTrunc(r, e.like(e.b.getInt16Ty(), x));
}

Value* f64_to_f32_odd(Emit& e, Value* x) {
  llvm::Type* f = e.like(e.b.getFloatTy(), x);
  llvm::Type* t = e.i32_like(x);
  Value* near = e.b.CreateFPTrunc(x, f);
  Value* back = e.b.CreateFPExt(near, x->getType());
  Value* u = e.b.CreateBitCast(near, t);
  Value* beyond = e.b.CreateFCmpOGT(fabs(e, back), fabs(e, x));
  u = e.b.CreateSelect(beyond, e.b.CreateSub(u, whole(t, 1)), u);
  u = e.b.CreateSelect(e.b.CreateFCmpONE(back, x), e.b.CreateOr(u, whole(t, 1)), u);
  return e.b.CreateBitCast(u, f);
}

}  // namespace ost_cpu
