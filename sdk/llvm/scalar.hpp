// The scalar operations of KIR as instructions. Everything is total: what an instruction leaves
// undefined is kept away from it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <ostinato/kir/view.hpp>

namespace ostinato::kir {

class Scalar {
 public:
  using Value = llvm::Value;

  Scalar(llvm::IRBuilder<>& builder, bool soft_divide) : b(builder), soft_divide_(soft_divide) {}

  // The argument `one`, from which sums and products take what no optimiser may know.
  void use_one(Value* one, bool f64);

  llvm::Type* type(uint32_t dtype) const;         // of a value: i1, iN (halves too), float, double
  llvm::Type* memory_type(uint32_t dtype) const;  // a bool is a byte
  llvm::Constant* constant(uint32_t dtype, uint64_t bits) const;

  // `accumulates`: the first operand is an accumulator.
  Value* unary(uint16_t op, uint32_t t, Value* x);
  Value* binary(uint16_t op, uint32_t t, Value* x, Value* y, bool accumulates);
  Value* compare(uint16_t op, uint32_t t, Value* x, Value* y);
  Value* fma(Value* x, Value* y, Value* z);
  Value* ldexp(uint32_t t, Value* x, Value* n);
  Value* cast(uint32_t to, uint32_t from, Value* x);
  Value* bitcast(uint32_t to, Value* x) { return b.CreateBitCast(x, type(to)); }

 private:
  // --- pieces
  Value* u32(uint32_t v) const { return b.getInt32(v); }
  Value* whole(Value* like, uint64_t v) const {
    const unsigned width = like->getType()->getIntegerBitWidth();
    return b.getInt(llvm::APInt(64, v).trunc(width));
  }
  Value* real(Value* like, double v) const { return llvm::ConstantFP::get(like->getType(), v); }
  Value* bits(Value* x) const;       // of a float, as an integer
  Value* from_bits(Value* x) const;  // i32 or i64
  Value* pick(Value* c, Value* x, Value* y) const { return b.CreateSelect(c, x, y); }
  // value >> shift, to nearest even; 1 <= shift < width.
  Value* shift_rne(Value* value, Value* shift) const;

  // --- scalar.cpp
  Value* real_binary(uint16_t op, Value* x, Value* y, bool accumulates);
  Value* whole_binary(uint16_t op, bool is_signed, Value* x, Value* y);
  Value* logical(uint16_t op, Value* x, Value* y);
  Value* extreme(bool max, Value* x, Value* y);
  Value* divide(bool remainder, bool is_signed, Value* x, Value* y);
  Value* shift(bool left, bool is_signed, Value* x, Value* y);

  // --- convert.cpp
  Value* f16_to_f32(Value* h);
  Value* f32_to_f16(Value* x);
  Value* bf16_to_f32(Value* h);
  Value* f32_to_bf16(Value* x);
  Value* f64_to_f32_odd(Value* x);
  Value* whole_to_half(bool f16, bool is_signed, Value* x);
  Value* saturate(uint32_t to, Value* x);
  Value* from_whole(uint32_t to, uint32_t from, Value* x);
  Value* from_real(uint32_t to, uint32_t from, Value* x);

  // --- soft.cpp: f32 by integers
  struct Parts {
    Value *exponent, *mantissa;  // mantissa in [2^23, 2^24); value = mantissa * 2^(exponent - 150)
  };
  Parts parts(Value* magnitude);
  Value* soft_div(Value* x, Value* y);
  Value* soft_sqrt(Value* x);

  llvm::IRBuilder<>& b;
  bool soft_divide_;
  Value *one32_ = nullptr, *minus_zero32_ = nullptr, *one64_ = nullptr, *minus_zero64_ = nullptr;
};

}  // namespace ostinato::kir
