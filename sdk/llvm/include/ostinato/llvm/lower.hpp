// Level 2 of KIR to a module of LLVM 22, for plugins whose device has a code generator in LLVM.
//
// The kernel is one function. Its arguments, as in the form opencl-c of plugin.h:
//   for each parameter   ptr in the global address space, i64 offset in bytes of its first element
//   for each variable    i64
//   one                  i32, the bits of 1.0f
//
// Strict numerics are in the instructions, and no flag of a code generator may take them away:
//   * no fast-math flag, no contraction: an fma is where KIR says fma, and in sums into an
//     accumulator, which are fma(one, x, acc); products are fma(acc, x, -0) with -0 made of `one`.
//     A vectoriser may not reassociate these (docs/numerics.md says why one would)
//   * max and min by compares and selects: llvm.maximum loses NaN on one target
//   * f16 and bf16 are i16, their conversions integer arithmetic; no half, no bfloat
//   * conversions to integers are in range when they happen; shifts are below the width; no
//     division by 0 and no overflow of one: nothing is poison
//   * no integer type but i1, i8, i16, i32 and i64, and no *.with.overflow
//   * f32 division and square root are the target's, which has to round them correctly, or
//     integer arithmetic (Options::soft_divide)
#ifndef OSTINATO_LLVM_LOWER_HPP_
#define OSTINATO_LLVM_LOWER_HPP_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <ostinato/types.h>

#include <memory>

namespace ostinato::kir {

// What differs between targets, in one place.
class LlvmTarget {
 public:
  virtual ~LlvmTarget() = default;
  virtual void prepare(llvm::Module& module) const = 0;  // triple, data layout, metadata
  virtual unsigned global_space() const = 0;             // address spaces
  virtual unsigned local_space() const = 0;
  virtual void make_kernel(llvm::Function& function, uint32_t lanes) const = 0;
  // i64; `dimension`: 0 to 2.
  virtual llvm::Value* lane(llvm::IRBuilderBase& b) const = 0;
  virtual llvm::Value* group(llvm::IRBuilderBase& b, unsigned dimension) const = 0;
  // All lanes arrive, then see each other's stores to local and global memory.
  virtual void barrier(llvm::IRBuilderBase& b) const = 0;
};

struct LlvmOptions {
  bool fp64 = false;         // the device has f64
  bool soft_divide = false;  // division and square root of f32 by integers
  uint32_t max_lanes = 256;
  uint32_t local_bytes = 64 << 10;
  uint32_t private_bytes = 16 << 10;  // arrays of one lane
};

struct LlvmKernel {
  std::unique_ptr<llvm::Module> module;
  uint32_t params = 0, vars = 0, lanes = 0, local_bytes = 0;
};

// `kernel`: the binary form, of any origin. Errors say what was found and wanted.
llvm::Expected<LlvmKernel> lower_to_llvm(ost_bytes_t kernel, llvm::StringRef entry,
                                         const LlvmTarget& target, const LlvmOptions& options,
                                         llvm::LLVMContext& context);

}  // namespace ostinato::kir

#endif  // OSTINATO_LLVM_LOWER_HPP_
