// Division and square root of f32 in integers, for devices whose own are not correctly rounded: the
// quotient or root has two bits more than the result, and the last of them also says whether
// anything is behind it.
#include "scalar.hpp"

namespace ostinato::kir {

using Value = Scalar::Value;

// Of a finite number above 0.
Scalar::Parts Scalar::parts(Value* magnitude) {
  Value* fraction = b.CreateAnd(magnitude, u32(0x7fffff));
  Value* subnormal = b.CreateICmpULT(magnitude, u32(0x800000));
  Value* scaled = bits(b.CreateUIToFP(fraction, b.getFloatTy()));
  Value* normal = pick(subnormal, scaled, magnitude);
  Value* e = b.CreateSub(b.CreateLShr(normal, u32(23)), pick(subnormal, u32(149), u32(0)));
  return {e, b.CreateOr(b.CreateAnd(normal, u32(0x7fffff)), u32(0x800000))};
}

Value* Scalar::soft_div(Value* x, Value* y) {
  llvm::Type* i64 = b.getInt64Ty();
  const auto c = [&](uint64_t v) { return b.getInt64(v); };
  constexpr uint32_t kInfinity = 0x7f800000;
  Value* sign = b.CreateAnd(b.CreateXor(bits(x), bits(y)), u32(0x80000000));
  Value* a = b.CreateAnd(bits(x), u32(0x7fffffff));
  Value* d = b.CreateAnd(bits(y), u32(0x7fffffff));
  const Parts n = parts(a), m = parts(d);
  Value* dividend = b.CreateShl(b.CreateZExt(n.mantissa, i64), c(26));
  Value* divisor = b.CreateZExt(m.mantissa, i64);
  Value* q = b.CreateUDiv(dividend, divisor);  // above 2^25, below 2^27
  Value* inexact = b.CreateICmpNE(b.CreateMul(q, divisor), dividend);
  q = b.CreateTrunc(q, b.getInt32Ty());
  Value* high = b.CreateICmpUGE(q, u32(1 << 26));
  q = pick(high, b.CreateOr(b.CreateLShr(q, u32(1)), b.CreateAnd(q, u32(1))), q);
  q = b.CreateOr(q, b.CreateZExt(inexact, b.getInt32Ty()));
  Value* e = b.CreateAdd(b.CreateSub(n.exponent, m.exponent), pick(high, u32(127), u32(126)));
  Value* normal = b.CreateICmpSGT(e, u32(0));
  Value* k = pick(normal, u32(2), b.CreateSub(u32(3), e));
  k = pick(b.CreateICmpUGT(k, u32(28)), u32(28), k);
  Value* rounded = shift_rne(q, k);
  // The mantissa's highest bit, and a carry out of it, add to the exponent.
  Value* below = pick(normal, b.CreateShl(b.CreateSub(e, u32(1)), u32(23)), u32(0));
  Value* result = b.CreateAdd(below, rounded);
  result = pick(b.CreateICmpSGE(e, u32(255)), u32(kInfinity), result);
  const auto is = [&](Value* v, uint32_t what) { return b.CreateICmpEQ(v, u32(what)); };
  result = pick(b.CreateOr(is(a, 0), is(d, kInfinity)), u32(0), result);
  result = pick(b.CreateOr(is(a, kInfinity), is(d, 0)), u32(kInfinity), result);
  Value* undefined =
      b.CreateOr(b.CreateAnd(is(a, 0), is(d, 0)), b.CreateAnd(is(a, kInfinity), is(d, kInfinity)));
  Value* nan = b.CreateOr(undefined, b.CreateFCmpUNO(x, y));
  return from_bits(pick(nan, u32(0x7fc00000), b.CreateOr(sign, result)));
}

Value* Scalar::soft_sqrt(Value* x) {
  const auto c = [&](uint64_t v) { return b.getInt64(v); };
  Value* u = bits(x);
  Value* a = b.CreateAnd(u, u32(0x7fffffff));
  const Parts p = parts(a);
  // value = mantissa * 2^(exponent - 150); the exponent of what is under the root has to be even.
  Value* even = b.CreateICmpEQ(b.CreateAnd(p.exponent, u32(1)), u32(0));
  Value* under = b.CreateShl(b.CreateZExt(p.mantissa, b.getInt64Ty()), pick(even, c(28), c(27)));
  Value* root = c(0);  // of a number above 2^50 and below 2^52, by its 26 bits
  for (int i = 25; i >= 0; --i) {
    Value* tried = b.CreateOr(root, c(uint64_t{1} << i));
    root = pick(b.CreateICmpULE(b.CreateMul(tried, tried), under), tried, root);
  }
  Value* inexact = b.CreateICmpNE(b.CreateMul(root, root), under);
  Value* q = b.CreateOr(b.CreateTrunc(root, b.getInt32Ty()), b.CreateZExt(inexact, b.getInt32Ty()));
  Value* half = b.CreateAShr(b.CreateAdd(p.exponent, pick(even, u32(0), u32(1))), u32(1));
  Value* below = b.CreateShl(b.CreateAdd(half, u32(62)), u32(23));
  Value* result = b.CreateAdd(below, shift_rne(q, u32(2)));
  result = pick(b.CreateICmpEQ(a, u32(0x7f800000)), a, result);
  result = pick(b.CreateICmpEQ(a, u32(0)), u, result);
  Value* nan = b.CreateOr(b.CreateFCmpUNO(x, x), b.CreateFCmpOLT(x, real(x, 0)));
  return from_bits(pick(nan, u32(0x7fc00000), result));
}

}  // namespace ostinato::kir
