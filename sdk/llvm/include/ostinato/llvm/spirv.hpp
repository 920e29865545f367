// SPIR-V 1.2 for OpenCL and Level Zero, by LLVM's own code generator. No extension, and no
// capability beyond those that every driver of such a device has: emit_spirv looks at what was made
// and fails rather than hand out anything else.
#ifndef OSTINATO_LLVM_SPIRV_HPP_
#define OSTINATO_LLVM_SPIRV_HPP_

#include <string>

#include "lower.hpp"

namespace llvm {
class TargetMachine;
}

namespace ostinato::kir {

// For one compile; not for two threads at a time.
class SpirvTarget : public LlvmTarget {
 public:
  SpirvTarget();
  ~SpirvTarget() override;

  void prepare(llvm::Module& module) const override;
  unsigned global_space() const override { return 1; }
  unsigned local_space() const override { return 3; }
  void make_kernel(llvm::Function& function, uint32_t lanes) const override;
  llvm::Value* lane(llvm::IRBuilderBase& b) const override;
  llvm::Value* group(llvm::IRBuilderBase& b, unsigned dimension) const override;
  void barrier(llvm::IRBuilderBase& b) const override;

  // The module in binary form. Changes `module`.
  llvm::Expected<std::string> emit(llvm::Module& module) const;

 private:
  std::unique_ptr<llvm::TargetMachine> machine_;
};

// What the binary must not have: an unknown capability, an extension, an import, an integer of an
// odd width, arithmetic with carry. "" if it has none of these.
std::string check_spirv(llvm::StringRef words, bool fp64);

}  // namespace ostinato::kir

#endif  // OSTINATO_LLVM_SPIRV_HPP_
