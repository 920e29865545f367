#include "spirv_library.hpp"

namespace levelzero {
namespace {

void inside() {}  // an address of this library

}  // namespace

SpirvLibrary::SpirvLibrary()
    : Companion(reinterpret_cast<const void*>(&inside), OST_LEVELZERO_SPIRV_FILE,
                OST_LEVELZERO_SPIRV_SYMBOL, OST_LEVELZERO_SPIRV_KEY_SECTION) {}

bool SpirvLibrary::fits(const ost_levelzero_spirv_t& library) const {
  return library.abi == OST_LEVELZERO_SPIRV_ABI;
}

}  // namespace levelzero
