// A thin layer over llvm::IRBuilder: types, loops with carried values, conditionals with merged
// values, masks. Only this file and ops*.cpp know how vectors are made. A vector may be wider than
// any register: LLVM splits it, so one body of 64 lanes is four independent chains, on every ISA,
// with the same bits.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <ostinato/kir.hpp>

#include <string>

#include "plugins/cpu/abi/target.hpp"

namespace ost_cpu {

using llvm::Value;
using Values = llvm::SmallVector<Value*, 16>;

// What stops a compile: thrown inside the compiler library only, caught at its C entry.
struct CompileError {
  ost_status_t status;
  std::string message;
};

class Emit {
 public:
  Emit(llvm::Module& module, FeatureSet features);

  llvm::Module& module;
  llvm::IRBuilder<> b;
  const FeatureSet isa;
  const bool avx512;  // with masks for all element sizes
  llvm::Function* fn = nullptr;

  // --- functions
  // Starts a function at its entry block; the insertion point moves there.
  llvm::Function* begin(const std::string& name, llvm::ArrayRef<llvm::Type*> params,
                        llvm::Type* result, bool exported);

  // --- types. bool is i1 in registers and a byte in memory; f16 and bf16 are i16 everywhere.
  llvm::Type* type(uint32_t dtype);
  llvm::Type* memory_type(uint32_t dtype) {
    return dtype == OST_DTYPE_BOOL ? b.getInt8Ty() : type(dtype);
  }
  static unsigned lanes(const llvm::Type* t);  // 1 for a scalar
  static unsigned lanes(const Value* v) { return lanes(v->getType()); }
  static llvm::Type* widen(llvm::Type* scalar, unsigned lanes);  // scalar itself for 1 lane
  llvm::Type* like(llvm::Type* scalar, const Value* v) { return widen(scalar, lanes(v)); }
  llvm::Type* i32_like(const Value* v) { return like(b.getInt32Ty(), v); }

  // --- constants
  Value* i64(int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); }
  Value* constant(llvm::Type* t, uint64_t bits);  // splat of an integer or float given by its bits
  static Value* zero(llvm::Type* t) { return llvm::Constant::getNullValue(t); }
  Value* iota(llvm::Type* element, unsigned lanes);  // <0, 1, 2, ...>

  // --- vectors
  Value* splat(Value* v, unsigned lanes) {
    return lanes == 1 || isa_vector(v) ? v : b.CreateVectorSplat(lanes, v);
  }
  static bool isa_vector(const Value* v) { return v->getType()->isVectorTy(); }
  Value* slice(Value* v, unsigned from, unsigned lanes);
  Value* concat(llvm::ArrayRef<Value*> parts);  // equal widths, a power of two of them
  Value* reverse(Value* v);
  Values transpose(Values rows);  // n vectors of n lanes, n a power of two
  // f applied to pieces of `width` lanes of all operands (scalars and narrower vectors as they
  // are), put together again.
  Value* by_pieces(llvm::ArrayRef<Value*> operands, unsigned width,
                   llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> f);
  Value* prefix_mask(Value* count, unsigned lanes);  // lane < count, 0 <= count <= lanes
  Value* any(Value* mask);                           // i1 or vector of it -> i1
  // Combines the lanes in halves: lane l with lane l + w for w = lanes/2 ... 1.
  Value* fold(Value* v, llvm::function_ref<Value*(Value*, Value*)> combine);

  // --- control flow
  using Body = llvm::function_ref<Values(Value* iv, const Values& carry)>;
  // for (iv = lo; iv < hi; iv += step), signed; `carry` flows through. The loop may run zero times.
  Values loop(Value* lo, Value* hi, int64_t step, const Values& carry, Body body);
  void loop(Value* lo, Value* hi, int64_t step, llvm::function_ref<void(Value* iv)> body);
  Values branch(Value* cond, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
  void when(Value* cond, llvm::function_ref<void()> then);

  // --- memory
  Value* at(llvm::Type* element, Value* base, Value* index) {
    return b.CreateGEP(element, base, index);
  }
  Value* stack(llvm::Type* element, uint64_t count);  // 64-byte aligned, in the entry block
  void store(Value* v, Value* p, llvm::Align align, Value* mask);  // mask may be nullptr
  static llvm::Align align_of(uint32_t dtype) { return llvm::Align(ostinato::kir::size_of(dtype)); }

  // --- integers
  Value* add(Value* x, Value* y) { return b.CreateAdd(x, y); }
  Value* mul(Value* x, Value* y);
  Value* min(Value* x, Value* y);  // signed; constants are folded
  Value* max(Value* x, Value* y);
  Value* ceil_div(Value* x, int64_t y) { return b.CreateSDiv(b.CreateAdd(x, i64(y - 1)), i64(y)); }
};

}  // namespace ost_cpu
