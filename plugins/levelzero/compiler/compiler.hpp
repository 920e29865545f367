// The seam of the plugin's two halves. compiler/ knows targets, images and how kernels become them;
// it needs no Level Zero and no device. runtime/ knows the loader and devices; it needs no LLVM.
//
// What the runtime takes from here:
//   spirv_target, the limits   what a device says in ost_device_info_t, so that images fit it
//   parse_image                what an executable is loaded from: SPIR-V or a native binary
//   print_image                an image of what zeModuleGetNativeBinary gave, for the cache
// What this half takes from the runtime: nothing. driver.cpp puts the entries of both in one table.
//
// A kernel's arguments, by index of zeKernelSetArgumentValue, as in the form opencl-c of plugin.h:
//   2 p, 2 p + 1     parameter p: a pointer to global memory, and the offset in bytes (u64) of its
//                    first element
//   2 params + v     variable v (i64)
//   2 params + vars  `one` (u32): the bits of 1.0f, kOneBits
// The group has lanes x 1 x 1 work-items, which the module demands too. SPIR-V is to be built with
// kBuildFlags: division and square root are correctly rounded then. Local memory is declared by the
// module; nothing is set for it.
#pragma once

#include <memory>
#include <optional>
#include <ostinato/plugin.hpp>
#include <span>
#include <string>
#include <vector>

#include "image.hpp"
#include "target.hpp"

namespace levelzero {

constexpr uint32_t kOneBits = 0x3f800000;
constexpr const char* kBuildFlags = "-ze-fp32-correctly-rounded-divide-sqrt";

// Thread-safe. Nothing is opened or started before it is needed: a process that only replays maps
// no LLVM.
class Compiler {
 public:
  explicit Compiler(const ost::plugin::Host& host);
  ~Compiler();

  // What images can be made for on this machine: SPIR-V always, Intel GPUs where ocloc is.
  std::vector<Target> targets() const;
  // Compiler, version and flags, for cache keys. Fails for a target that is not known.
  std::string key(std::string_view target);
  std::string build(const ost_compile_t& job);  // kir-l2 -> image

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether a device can run the image; why not goes to `reason`.
ost_fit_t check_image(const ost_device_info_t& info, std::span<const std::byte> image,
                      ost_sink_t reason);

}  // namespace levelzero
