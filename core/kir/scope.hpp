// Which axes each record depends on, as a bit set over axis ordinals, and which records are
// uniform.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::kir {

inline constexpr uint32_t kMaxAxes = 64;

struct Scope {
  std::vector<uint64_t> depends;  // by record: axes that the value is computed for each point of
  std::vector<char> uniform;  // by record: made of constants, variables and integer arithmetic only
  std::vector<Value> axes;    // by ordinal: the axis record

  // Extends the sets to all records of the kernel. The kernel has well-formed records and at most
  // 64 axes.
  void extend(const Kernel& kernel);
};

}  // namespace ost::kir
