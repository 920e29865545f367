// How a kernel of level 1 is laid out over groups and lanes. Made before anything is emitted, from
// the axes that stores and reductions depend on.
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
};

// Stores over the same axes; at each point all loads come before the stores.
struct Statement {
  AxisSet parallel = 0;
  AxisSet carry = 0;
  std::vector<kir::Value> stores;
};

// Statements that share their reductions, over axes that form a chain.
//
// points: a lane computes a point of all axes, reductions included. rows: a group computes a point
// of the first level; reductions at a level are computed by all lanes of the group, and what lies
// below the last level is spread over the lanes.
struct Nest {
  enum class Mode : uint8_t { points, rows };
  Mode mode = Mode::points;
  std::vector<Statement> parts;  // fewest axes first
  std::vector<AxisSet> levels;   // rows: ascending; all but the last axes of the nest
  AxisSet domain = 0;            // parallel axes of the largest statement
};

struct Plan {
  uint32_t lanes = 1;
  std::vector<Nest> nests;            // kernels without carry axes
  std::vector<Statement> statements;  // with carry axes, in order
};

Plan make_plan(const kir::Kernel& kernel, const kir::Scope& scope, const Target& target);

// Records that the roots need, ascending. `lazily`: without what only the first operand of a rare
// `where` needs.
std::vector<kir::Value> closure(const kir::Kernel& kernel, const std::vector<kir::Value>& roots,
                                bool lazily);

}  // namespace ost::codegen
