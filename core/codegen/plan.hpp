// How a kernel of level 1 is laid out over groups and lanes. Made before anything is emitted, from
// the axes that stores and reductions depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/codegen/attention_plan.hpp"
#include "core/codegen/statement.hpp"
#include "core/codegen/tile_plan.hpp"

namespace ost::codegen {

// Statements that share their reductions, over axes that form a chain.
//
// points: a lane computes a point of all axes, reductions included. rows: some lanes of a
// group compute a point of the first level, a row; reductions at a level are computed by all lanes of
// the row, and what lies below the last level is spread over them. tiles: a group computes a tile of the points of
// contractions or of an attention.
struct Nest {
  enum class Mode : uint8_t { points, rows, tiles };
  Mode mode = Mode::points;
  std::vector<Statement> parts;  // fewest axes first
  std::vector<AxisSet> levels;   // rows: ascending; all but the last axes of the nest
  AxisSet domain = 0;            // parallel axes of the largest statement
  int64_t row_lanes = 1;         // rows: of a group, that share a row; a power of two
  std::optional<TilePlan> tile;
  std::optional<AttentionPlan> attention;
};

struct Plan {
  uint32_t lanes = 1;
  std::vector<Nest> nests;            // kernels without carry axes
  std::vector<Statement> statements;  // with carry axes, in order
};

Plan make_plan(const kir::Kernel& kernel, const kir::Scope& scope, const Target& target);

}  // namespace ost::codegen
