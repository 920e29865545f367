// How a kernel becomes an image for a target: the form that the driver gets, and the cache key.
#pragma once

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

// OST_UNIMPLEMENTED if the device accepts no form that this host can make.
Result<Recipe> recipe_for(const kir::Kernel& kernel, const Driver& driver,
                          const ost_device_info_t& info);

// The grid and the group of a DISPATCH command, for these variables by slot.
void set_launch(codegen::Launch& launch, std::span<const int64_t> vars, ost_command_t& command);

// Calls the driver's compiler.
Result<std::vector<uint8_t>> compile(const Recipe& recipe, const Driver& driver);

}  // namespace ost::runtime
