// Stores expressions over the results of a tile that are in registers.
#pragma once

#include <functional>
#include <span>

#include "core/codegen/staging.hpp"

namespace ost::codegen {

// Where registers of lanes are in a tile: in runs of four, so that lanes read neighbouring vectors.
Value place_in_tile(GroupBuilder& b, Value lane, int64_t lanes, int64_t registers, int64_t i);

// What a record is at register row i and register column j of a lane; `finish` makes the value of
// it, of the tile's row.
struct TileResult {
  Value record;
  std::function<Value(int64_t i, int64_t j)> at;
  std::function<Value(Value x, Value row)> finish;
};

// `memory`: a local array of the results' type with lanes_m * bn elements for each of them, free for
// all lanes. `stores` emits the statement, with rows and columns bound and the records given.
void write_tile(Evaluator& e, const TileShape& shape, const TileSide& rows, const TileSide& columns,
                Value memory, std::span<const TileResult> results,
                const std::function<void()>& stores);

}  // namespace ost::codegen
