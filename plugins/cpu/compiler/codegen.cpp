#include "plugins/cpu/compiler/codegen.hpp"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <memory>
#include <mutex>

#include "plugins/cpu/compiler/emit.hpp"

namespace ost_cpu {

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

// Loop strength reduction and both schedulers cost a third of the compile time and gain nothing on
// this code. These switches are global to LLVM, which is private to this library where it is linked
// statically.
void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
#ifdef OST_CPU_PRIVATE_LLVM
    const char* options[] = {"ostinato", "-disable-lsr", "-enable-misched=false",
                             "-disable-post-ra"};
    llvm::cl::ParseCommandLineOptions(4, options);
#endif
  });
}

}  // namespace

const char* llvm_version() { return LLVM_VERSION_STRING; }

struct Codegen::State {
  std::unique_ptr<llvm::TargetMachine> machine;
};

Codegen::Codegen(FeatureSet isa) : state_(new State) {
  initialise();
  std::string error;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw CompileError{OST_INTERNAL, "cpu: LLVM has no x86-64 target: " + error};
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // an fma only where the kernel says so
  state_->machine.reset(target->createTargetMachine(
      triple, "x86-64", to_llvm_features(isa), options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
}

Codegen::~Codegen() { delete state_; }

void Codegen::prepare(llvm::Module& module) const {
  module.setDataLayout(state_->machine->createDataLayout());
  module.setTargetTriple(state_->machine->getTargetTriple());
}

std::string Codegen::emit(llvm::Module& module, int file_type) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  llvm::legacy::PassManager passes;
  if (state_->machine->addPassesToEmitFile(passes, out, nullptr,
                                           static_cast<llvm::CodeGenFileType>(file_type), true))
    throw CompileError{OST_INTERNAL, "cpu: LLVM cannot emit code for x86-64"};
  passes.run(module);
  return {buffer.data(), buffer.size()};
}

std::string Codegen::object(llvm::Module& module) {
  return emit(module, static_cast<int>(llvm::CodeGenFileType::ObjectFile));
}
std::string Codegen::assembly(llvm::Module& module) {
  return emit(module, static_cast<int>(llvm::CodeGenFileType::AssemblyFile));
}

}  // namespace ost_cpu
