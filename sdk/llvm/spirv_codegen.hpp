// LLVM's code generator for SPIR-V, around what LLVM 22 gets wrong when it is used more than once.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace ostinato::kir {

// `module` has one function with a body.
llvm::Expected<std::string> generate_spirv(llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace ostinato::kir
