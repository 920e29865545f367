// What the layout of a kernel starts from: the device, and the stores by the axes that they are over.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kir/kernel.hpp"
#include "core/kir/scope.hpp"

namespace ost::codegen {

using AxisSet = uint64_t;

// What a device offers.
struct Target {
  uint32_t max_lanes = 1;    // largest work-group
  uint32_t local_bytes = 0;  // of a work-group
  // Lanes that compute at full rate in all of the device together: below it, more groups are better
  // than larger tiles. What a middling GPU has; no bit depends on it.
  uint32_t busy_lanes = 16384;
};

// Stores over the same axes; at each point all loads come before the stores.
struct Statement {
  AxisSet parallel = 0;
  AxisSet carry = 0;
  std::vector<kir::Value> stores;
};

// Records that the roots need, ascending. `lazily`: without what only the first operand of a rare
// `where` needs.
std::vector<kir::Value> closure(const kir::Kernel& kernel, const std::vector<kir::Value>& roots,
                                bool lazily);

}  // namespace ost::codegen
