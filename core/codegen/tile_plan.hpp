// Contractions whose outputs a group computes in tiles (docs/gpu-lowering.md): which nests they are,
// and the tile for a device. Pure functions of the kernel and the target.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/codegen/statement.hpp"
#include "core/kir/range.hpp"

namespace ost::codegen {

using kir::Value;

// A grid of lanes, each with tm x tn outputs; bk steps of the contraction are staged in local
// memory at a time. All are powers of two.
struct TileShape {
  int64_t lanes_m = 1, lanes_n = 1;
  int64_t tm = 1, tn = 1;
  int64_t bk = 16;
  int64_t buffers = 2;  // 2: the next stage is loaded while this one is used

  static constexpr int64_t kPad = 4;  // spreads columns over the banks, keeps 16 bytes aligned

  int64_t lanes() const { return lanes_m * lanes_n; }
  int64_t bm() const { return lanes_m * tm; }
  int64_t bn() const { return lanes_n * tn; }
  int64_t pitch_m() const { return bm() + kPad; }
  int64_t pitch_n() const { return bn() + kPad; }
  int64_t stage() const { return bk * (pitch_m() + pitch_n()); }  // elements
};

// What the choice of a shape depends on.
struct TileProblem {
  int64_t m = 1, n = 1, k = 1, batch = 1;  // typical extents
  int64_t contracts = 1;                   // that are computed at the same points
  uint32_t element_bytes = 4;
  bool many_chains = false;  // two accumulators an output: the chain and the total
  int64_t most_rows = INT64_MAX;
  bool columns_in_memory = false;  // neighbouring columns are neighbours in memory
};

// A few rows times a large matrix: each lane has a column, and some lanes share a column's chains.
struct SkinnyShape {
  int64_t rows = 1;            // at most
  int64_t columns = 64;        // of a group
  int64_t chains_at_once = 1;  // a power of two
  int64_t lanes() const { return columns * chains_at_once; }
};
std::optional<SkinnyShape> choose_skinny(const TileProblem& problem, const Target& target,
                                         uint32_t lanes);

// The shape with the least estimated time; `lanes`: the only size of a group that is allowed, or 0.
std::optional<TileShape> choose_tile(const TileProblem& problem, const Target& target,
                                     uint32_t lanes);

struct TileContract {
  Value record = kir::kNone;
  Value a = kir::kNone, b = kir::kNone;  // the operands of rows and of columns
};

// Rows and columns are the points of axes that only one operand has.
struct TilePlan {
  std::vector<TileContract> contracts;
  std::vector<Value> batch, m, n;  // axes, outermost first
  TileProblem problem;
  TileShape shape;
  std::optional<SkinnyShape> skinny;  // instead of the tile
};

// Axes over which an operand lies in memory in steps of one element.
class Strides {
 public:
  explicit Strides(const kir::Kernel& kernel, const kir::Scope& scope) : k_(kernel), s_(scope) {}
  // The factor of an axis in an index; nothing where it is no constant.
  std::optional<int64_t> of(Value index, Value axis) const;
  // All loads that an expression needs and that depend on the axis have the stride 1.
  bool unit(Value expression, Value axis) const;

 private:
  bool depends(Value v, Value axis) const { return (s_.depends[v] & s_.depends[axis]) != 0; }
  const kir::Kernel& k_;
  const kir::Scope& s_;
};

// The plan for a nest of one statement, but for its shape.
std::optional<TilePlan> find_tiles(const kir::Kernel& kernel, const kir::Scope& scope,
                                   const std::vector<kir::Range>& ranges,
                                   const Statement& statement);

// Of an extent whose values have this range.
int64_t typical(const kir::Range& range);

}  // namespace ost::codegen
