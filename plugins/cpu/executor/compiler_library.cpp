#include "compiler_library.hpp"

#include "../abi/kernel.h"

namespace ost_cpu {
namespace {

void inside() {}  // an address of this library

}  // namespace

CompilerLibrary::CompilerLibrary()
    : Companion(reinterpret_cast<const void*>(&inside), OST_CPU_COMPILER_FILE,
                OST_CPU_COMPILER_SYMBOL, OST_CPU_COMPILER_KEY_SECTION) {}

bool CompilerLibrary::fits(const ost_cpu_compiler_t& compiler) const {
  return compiler.abi == OST_CPU_COMPILER_ABI && compiler.kernel_abi == OST_CPU_KERNEL_ABI;
}

}  // namespace ost_cpu
