// libostinato_levelzero_spirv.so beside the plugin: KIR to SPIR-V by LLVM, opened on the first
// compile.
#pragma once

#include <ostinato/plugin/companion.hpp>

#include "../abi/spirv.h"

namespace levelzero {

class SpirvLibrary : public ost::plugin::Companion<ost_levelzero_spirv_t> {
 public:
  SpirvLibrary();

 protected:
  bool fits(const ost_levelzero_spirv_t& library) const override;
};

}  // namespace levelzero
