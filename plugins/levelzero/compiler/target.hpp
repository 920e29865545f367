// Targets, and the names that they have in images and cache keys.
//
//   spirv64, spirv64+fp64   SPIR-V 1.2 for any device that has what the plus signs say
//   skl, tgllp, dg2, pvc    the instructions of one Intel GPU, by ocloc's name for it
//
// All code depends on is in the key. There is no +fp16: f16 is a storage type, and its conversions
// are integer arithmetic. Code for either kind relies on groups of kMaxGroup work-items and on
// kLocalBytes of local memory, which every GPU of Intel's has; a device says these and not what it
// has beyond them, so that one image is good for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace levelzero {

constexpr uint32_t kMaxGroup = 256;
constexpr uint32_t kLocalBytes = 64 << 10;

struct Target {
  std::string_view key;
  std::string_view name;  // for people
  bool fp64 = false;
  bool native = false;  // made by ocloc
};

std::span<const Target> all_targets();
std::optional<Target> find_target(std::string_view key);
std::string_view spirv_target(bool fp64);  // the key of a device
// Bit (1 << OST_DTYPE_x) for each element type that kernels of the target may use.
uint32_t dtypes_of(const Target& target);

}  // namespace levelzero
