// Brings a block of an operand into local memory, each element once for the whole group: `steps` of
// an axis by `size` points of other axes.
#pragma once

#include "core/codegen/evaluator.hpp"
#include "core/codegen/tile_plan.hpp"

namespace ost::codegen {

// Which rows (or columns) of a tile: points `first`, first + 1, ... of some axes, of which `count`
// exist. Points beyond the last one are computed as the last one.
struct TileSide {
  std::vector<Value> axes;
  Value first = kNone, count = kNone;
  bool whole = false;  // all points of all tiles exist
};

// The axes have constant extents, and tiles of this size divide their points.
bool are_whole_tiles(const Evaluator& e, const std::vector<Value>& axes, int64_t tile);

struct StagingShape {
  int64_t steps = 1, size = 1;  // of a block; step s and point x are at s * pitch + x
  int64_t pitch = 1;
  int64_t lanes = 1;    // that share the work; a divisor of steps * size
  uint64_t beyond = 0;  // bits of what stands in for steps beyond the last one
  int64_t visited = 1;  // steps are visited up to a multiple of this one
};

class Staging {
 public:
  // `axis`: of the steps.
  Staging(Evaluator& e, const StagingShape& shape, Value operand, Value axis);

  // Where the blocks are; what is made here is used by fetch, in the same region or within it.
  void begin(const TileSide& side);
  // This lane's elements of the block that starts at a step. There is a step at least.
  std::vector<Value> fetch(Value first_step);
  void keep(const std::vector<Value>& values, Value memory, Value base);

 private:
  struct Element {
    std::vector<Value> digits;
    Value step = kNone, place = kNone;
  };
  Evaluator& e_;
  GroupBuilder& b_;
  StagingShape shape_;
  Value operand_, axis_;
  bool whole_;  // all steps of all blocks exist
  std::vector<Value> axes_;
  std::vector<Element> elements_;
};

}  // namespace ost::codegen
