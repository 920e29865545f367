// From a kernel to an LLVM module with its one exported function (plugins/cpu/abi/kernel.h).
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "plugins/cpu/abi/target.hpp"
#include "plugins/cpu/compiler/facts.hpp"

namespace ost_cpu {

// Returns what was chosen, in words, for the compile log.
std::string emit_kernel(llvm::Module& module, const kir::Kernel& kernel, const std::string& name,
                        FeatureSet isa);

}  // namespace ost_cpu
