// The other half of the plugin: libostinato_cpu_compiler.so beside it, opened on the first compile.
#pragma once

#include <ostinato/plugin/companion.hpp>

#include "../abi/compiler.h"

namespace ost_cpu {

class CompilerLibrary : public ost::plugin::Companion<ost_cpu_compiler_t> {
 public:
  CompilerLibrary();

 protected:
  bool fits(const ost_cpu_compiler_t& compiler) const override;
};

}  // namespace ost_cpu
