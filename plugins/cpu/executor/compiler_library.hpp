// The other half of the plugin: libostinato_cpu_compiler.so beside it, opened on the first compile,
// so that a process that only replays never maps LLVM. Stays loaded.
#pragma once

#include <mutex>
#include <string>

#include "../abi/compiler.h"

namespace ost_cpu {

class CompilerLibrary {
 public:
  // Any thread. OST_UNAVAILABLE with the linker's words if it is missing.
  const ost_cpu_compiler_t& get();
  // Its key, read from the file where possible.
  std::string key();

 private:
  const ost_cpu_compiler_t& open();

  std::mutex mutex_;
  const ost_cpu_compiler_t* compiler_ = nullptr;
  std::string key_;
};

}  // namespace ost_cpu
