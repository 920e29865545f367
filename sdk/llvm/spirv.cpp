#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>
#include <ostinato/llvm/spirv.hpp>

#include "spirv_codegen.hpp"

extern "C" {  // what <llvm/Support/TargetSelect.h> declares for all targets that were built
void LLVMInitializeSPIRVTargetInfo();
void LLVMInitializeSPIRVTarget();
void LLVMInitializeSPIRVTargetMC();
void LLVMInitializeSPIRVAsmPrinter();
}

namespace ostinato::kir {
namespace {

constexpr const char* kTriple = "spirv64v1.2-unknown-unknown";

const llvm::Target* spirv() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    LLVMInitializeSPIRVAsmPrinter();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

// A function of OpenCL C, which the code generator knows by its mangled name.
llvm::CallInst* call(llvm::IRBuilderBase& b, const char* name, llvm::Type* result,
                     uint32_t argument, bool convergent) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, {b.getInt32Ty()}, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  llvm::CallInst* made = b.CreateCall(callee, {b.getInt32(argument)});
  made->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  if (convergent) {
    function->setConvergent();
    made->setConvergent();
  } else {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
  }
  return made;
}

llvm::Error wrong(const std::string& what) {
  return llvm::createStringError(std::make_error_code(std::errc::io_error), "%s", what.c_str());
}

}  // namespace

SpirvTarget::SpirvTarget() {
  const llvm::Target* target = spirv();
  if (!target) return;
  machine_.reset(target->createTargetMachine(llvm::Triple(kTriple), "", "", {}, std::nullopt));
}
SpirvTarget::~SpirvTarget() = default;

void SpirvTarget::prepare(llvm::Module& module) const {
  module.setTargetTriple(llvm::Triple(kTriple));
  if (machine_) module.setDataLayout(machine_->createDataLayout());
}

void SpirvTarget::make_kernel(llvm::Function& function, uint32_t lanes) const {
  function.setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  llvm::IRBuilder<> b(function.getContext());
  const auto number = [&](uint32_t n) { return llvm::ConstantAsMetadata::get(b.getInt32(n)); };
  function.setMetadata("reqd_work_group_size",
                       llvm::MDNode::get(b.getContext(), {number(lanes), number(1), number(1)}));
}

llvm::Value* SpirvTarget::lane(llvm::IRBuilderBase& b) const {
  return call(b, "_Z12get_local_idj", b.getInt64Ty(), 0, false);
}
llvm::Value* SpirvTarget::group(llvm::IRBuilderBase& b, unsigned dimension) const {
  return call(b, "_Z12get_group_idj", b.getInt64Ty(), dimension, false);
}
void SpirvTarget::barrier(llvm::IRBuilderBase& b) const {
  constexpr uint32_t kLocalFence = 1, kGlobalFence = 2;
  call(b, "_Z7barrierj", b.getVoidTy(), kLocalFence | kGlobalFence, true);
}

llvm::Expected<std::string> SpirvTarget::emit(llvm::Module& module) const {
  if (!machine_) return wrong("this LLVM has no code generator for SPIR-V");
  std::string text;
  llvm::raw_string_ostream problems(text);
  if (llvm::verifyModule(module, &problems))
    return wrong("the lowering made invalid code: " + problems.str());
  return generate_spirv(*machine_, module);
}

}  // namespace ostinato::kir
