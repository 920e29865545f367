// A few rows times a large matrix: a lane computes a chain of 256 steps for a column, lanes of one
// column the chains that follow each other.
#pragma once

#include <functional>

#include "core/codegen/evaluator.hpp"
#include "core/codegen/tile_plan.hpp"

namespace ost::codegen {

class Skinny {
 public:
  Skinny(Evaluator& e, const TilePlan& plan);

  Value groups() const { return groups_; }
  // A group's columns. `stores` emits the statement at the bound axes.
  void run(Value group, const std::function<void()>& stores);

 private:
  void product(const TileContract& contract, Value totals, Value memory);
  void chain(const TileContract& contract, Value block, Value sums);
  void bind_row(int64_t row);

  Evaluator& e_;
  GroupBuilder& b_;
  const TilePlan& plan_;
  const SkinnyShape& s_;
  Value rows_ = kNone, columns_ = kNone, tiles_ = kNone, groups_ = kNone;
  Value slice_ = kNone, column_ = kNone;  // of the lane: which chains, and where in the group
  std::vector<Value> column_digits_;
};

}  // namespace ost::codegen
