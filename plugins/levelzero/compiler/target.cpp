#include "target.hpp"

#include <ostinato/types.h>

#include <algorithm>

namespace levelzero {
namespace {

constexpr Target kTargets[] = {
    {"spirv64", "SPIR-V 1.2", false, false},
    {"spirv64+fp64", "SPIR-V 1.2 with f64", true, false},
    {"skl", "Intel Gen9 (Skylake)", true, true},
    {"tgllp", "Intel Xe-LP (Tiger Lake)", false, true},
    {"dg2", "Intel Xe-HPG (Arc A)", false, true},
    {"pvc", "Intel Xe-HPC (Data Center Max)", true, true},
};

}  // namespace

std::span<const Target> all_targets() { return kTargets; }

std::optional<Target> find_target(std::string_view key) {
  const auto* it = std::ranges::find(kTargets, key, &Target::key);
  if (it == std::end(kTargets)) return std::nullopt;
  return *it;
}

std::string_view spirv_target(bool fp64) { return kTargets[fp64 ? 1 : 0].key; }

uint32_t dtypes_of(const Target& target) {
  uint32_t types = 0;
  for (uint32_t t = OST_DTYPE_BOOL; t <= OST_DTYPE_F64; ++t) types |= 1u << t;
  return target.fp64 ? types : types & ~(1u << OST_DTYPE_F64);
}

}  // namespace levelzero
