// How a kernel becomes an image for a target: the form that the driver gets, and the cache key.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/codegen/form.hpp"
#include "core/kir/kernel.hpp"
#include "core/runtime/compile_cache.hpp"
#include "core/runtime/driver.hpp"

namespace ost::runtime {

struct Recipe {
  uint32_t form = OST_FORM_KIR_L1;
  std::vector<uint8_t> code;
  std::string entry;
  std::string target;
  std::string compiler_key;
  std::string options;
  std::string key;                        // hex of the CompileKey
  std::optional<codegen::Launch> launch;  // of forms below level 1
};

// The name of the entry in every image of this kernel: depends on the kernel only, so that renaming
// compiles nothing.
std::string entry_name(const kir::Kernel& kernel);

// Forms of kernels that were made already in this process: lowering and printing take longer than all
// else on the way to an image that is in the cache. For several threads at once; two that ask for the
// same kernel at the same time may both make it.
class FormCache {
 public:
  Result<std::shared_ptr<const codegen::Formed>> get(const kir::Kernel& kernel,
                                                     const ost_device_info_t& info);

 private:
  static constexpr size_t kMost = 1024;  // then it starts anew
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const codegen::Formed>> made_;
};

// OST_UNIMPLEMENTED if the device accepts no form that this host can make.
Result<Recipe> recipe_for(const kir::Kernel& kernel, const Driver& driver,
                          const ost_device_info_t& info, FormCache* forms = nullptr);

// The grid and the group of a DISPATCH command, for these variables by slot.
void set_launch(codegen::Launch& launch, std::span<const int64_t> vars, ost_command_t& command);

// Calls the driver's compiler.
Result<std::vector<uint8_t>> compile(const Recipe& recipe, const Driver& driver);

}  // namespace ost::runtime
