// The accumulators of one contraction over a tile of outputs: stages both operands in local memory
// and multiplies from there, in the order of the contraction's tag (docs/numerics.md §2).
#pragma once

#include "core/codegen/staging.hpp"

namespace ost::codegen {

class TileProduct {
 public:
  // `memory`: a local array of the contraction's type with buffers * stage() elements at least.
  TileProduct(Evaluator& e, const TileShape& shape, const TileContract& contract, Value memory);

  // Leaves the results in registers. Other axes of the operands are bound. Local memory is free
  // before and after it for all lanes.
  void run(const TileSide& rows, const TileSide& columns);

  // Output i, j of this lane.
  Value at(int64_t i, int64_t j);
  // Of its register row i, and of its register column j: the position in the tile.
  Value row(int64_t i);
  Value column(int64_t j);

 private:
  void pipeline();
  void keep(const std::vector<Value>& a, const std::vector<Value>& b, Value buffer);
  void multiply(Value buffer);
  std::vector<Value> registers(Value start, int64_t count, int64_t lanes);
  void next_chain(Value step);
  Value step(Value a, Value b, Value acc);
  template <class F>
  void each_output(F&& f) {
    for (int64_t o = 0; o < shape_.tm * shape_.tn; ++o) f(b_.i64(o));
  }

  Evaluator& e_;
  GroupBuilder& b_;
  TileShape shape_;
  TileContract contract_;
  Value k_axis_, memory_;
  DType type_;
  Value lane_m_, lane_n_;
  Value steps_ = kNone;                  // stages of the contraction
  Value chain_ = kNone, total_ = kNone;  // private arrays; no total where one chain is all
  Staging rows_, columns_;
};

}  // namespace ost::codegen
