// The accumulators of one contraction over a tile of outputs: stages both operands in local memory
// and multiplies from there, in the order of the contraction's tag (docs/numerics.md §2).
#pragma once

#include "core/codegen/evaluator.hpp"
#include "core/codegen/tile_plan.hpp"

namespace ost::codegen {

// Which rows (or columns) of the result: points `first`, first + 1, ... of some axes, of which
// `count` exist. Points beyond the last one are computed as the last one.
struct TileSide {
  std::vector<Value> axes;
  Value first = kNone, count = kNone;
  bool whole = false;  // all points of all tiles exist
};

class TileProduct {
 public:
  // `memory`: a local array of the contraction's type with buffers * stage() elements at least.
  TileProduct(Evaluator& e, const TileShape& shape, const TileContract& contract, Value memory);

  // Leaves the results in registers. Other axes of the operands are bound. Local memory is free
  // before and after it for all lanes.
  void run(const TileSide& rows, const TileSide& columns);

  // Output i, j of this lane.
  Value at(int64_t i, int64_t j);
  // Of register row i of a row of lanes, and of register column j: the position in the tile.
  static Value place(GroupBuilder& b, Value lane, int64_t lanes, int64_t registers, int64_t i);
  Value row(int64_t i) { return place(b_, lane_m_, shape_.lanes_m, shape_.tm, i); }
  Value column(int64_t j) { return place(b_, lane_n_, shape_.lanes_n, shape_.tn, j); }
  Value lane_m() const { return lane_m_; }
  Value lane_n() const { return lane_n_; }

 private:
  struct Side {
    Value operand;
    const TileSide* where;
    int64_t size, pitch, offset;  // in a stage
    bool along_k;                 // neighbouring lanes take neighbouring steps
    uint64_t neutral;             // bits of what stands in for steps beyond the last one
    struct Element {
      std::vector<Value> digits;
      Value k, place;
    };
    std::vector<Element> elements;  // that this lane stages
  };

  void find_elements(Side& side);
  std::vector<Value> fetch(const Side& side, Value step);
  void keep(const Side& side, const std::vector<Value>& values, Value buffer);
  void pipeline();
  void multiply(Value buffer);
  void next_chain(Value step);
  Value step(Value a, Value b, Value acc);
  template <class F>
  void each_output(F&& f) {
    for (int64_t o = 0; o < shape_.tm * shape_.tn; ++o) f(b_.i64(o));
  }

  Evaluator& e_;
  GroupBuilder& b_;
  TileShape shape_;
  Value k_axis_, memory_;
  DType type_;
  Value count_ = kNone, steps_ = kNone;  // of the contraction
  Value lane_m_, lane_n_;
  Value chain_ = kNone, total_ = kNone;  // private arrays; no total where one chain is all
  bool whole_k_;
  Side a_, b_side_;
};

}  // namespace ost::codegen
