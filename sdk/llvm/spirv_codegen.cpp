// The module's analysis (SPIRVModuleAnalysis::MAI) is one static object, so one module at a time is
// generated in a process. Its table of the ids of basic blocks has the addresses of machine functions
// as keys and is not emptied between modules: at an address that was in use before, blocks would get
// ids of an earlier module, which are those of other values here. So the machine function is made
// here, at an address that no earlier one had.
#include "spirv_codegen.hpp"

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <mutex>
#include <unordered_set>

namespace ostinato::kir {
namespace {

std::mutex one_at_a_time;

// Memory for a machine function. What was used before is kept for ever, about a kilobyte for each
// module at most, so that the allocator cannot hand it out again.
void* fresh_memory() {
  static std::unordered_set<void*> used;  // under the mutex
  void* memory = ::operator new(sizeof(llvm::MachineFunction));
  while (used.contains(memory)) memory = ::operator new(sizeof(llvm::MachineFunction));
  used.insert(memory);
  return memory;
}

void insert_function(llvm::Function& function, llvm::TargetMachine& machine,
                     llvm::MachineModuleInfo& info) {
  const llvm::TargetSubtargetInfo& subtarget = *machine.getSubtargetImpl(function);
  std::unique_ptr<llvm::MachineFunction> made(new (fresh_memory()) llvm::MachineFunction(
      function, machine, subtarget, info.getContext(), 0));
  made->initTargetMachineFunctionInfo(subtarget);
  machine.registerMachineRegisterInfoCallback(*made);
  info.insertFunction(function, std::move(made));
}

llvm::Error wrong(const char* what) {
  return llvm::createStringError(std::make_error_code(std::errc::io_error), what);
}

llvm::Function* only_function(llvm::Module& module) {
  llvm::Function* found = nullptr;
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    if (found) return nullptr;
    found = &f;
  }
  return found;
}

}  // namespace

// Few passes: accumulators into registers, and what that leaves over. The device's own compiler
// optimises; what it gets should be small, and hold no instruction that some driver lacks
// (InstCombine and the vectorisers like to make such).
llvm::Expected<std::string> generate_spirv(llvm::TargetMachine& machine, llvm::Module& module) {
  llvm::Function* function = only_function(module);
  if (!function) return wrong("a module with more or less than one function");
  const std::scoped_lock lock(one_at_a_time);
  llvm::SmallString<0> words;
  llvm::raw_svector_ostream out(words);
  llvm::legacy::PassManager passes;
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.add(llvm::createDeadCodeEliminationPass());
  auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);  // the pass manager's
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile, true,
                                  info))
    return wrong("this LLVM writes no SPIR-V");
  insert_function(*function, machine, info->getMMI());
  passes.run(module);
  if (only_function(module) != function) return wrong("the code generator made more functions");
  return std::string(words);
}

}  // namespace ostinato::kir
