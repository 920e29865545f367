// Reductions at level 2, each in the order of its tag (docs/numerics.md §2): by one lane, or shared
// by the lanes of a group.
#pragma once

#include <functional>

#include "core/codegen/evaluator.hpp"

namespace ost::codegen {

class Reduction {
 public:
  Reduction(Evaluator& e, Value record);
  Value run();

 private:
  // Elements [begin, end) by an order.
  Value any(Value begin, Value end);
  Value tree(int level, Value begin, Value end);
  Value lanes64(Value begin, Value end, bool leave_barrier = true);
  Value sliced_tree(Value begin, Value end);
  Value blk256();
  Value argreduce();

  Value chain(Value begin, Value end, int64_t step);  // acc = acc + x_i, ascending
  Value step(Value acc);                              // with the element at the bound axis
  Value combine(Value a, Value b);
  Value identity();
  Value beyond(Value x, Value best);

  // The 64 accumulators of `tree`, 64 / tree_lanes_ of them in each lane.
  Value open_accumulators();
  void into_lane(Value accumulators, Value ordinal, Value x);
  Value fold(Value accumulators, bool leave_barrier = true);
  void fold_shared(Value lane, int64_t width, const std::function<void(Value, Value)>& merge);
  Value as_variable(Value initial);
  Value place(Value lane) { return b_.add(e_.row.first_lane, lane); }  // in a scratch array

  Evaluator& e_;
  GroupBuilder& b_;
  const kir::Inst& inst_;
  Op op_;
  Value axis_, count_;
  int64_t upper_;
  DType type_;  // of the elements
  bool shared_;
  int64_t lanes_;       // that share the work
  int64_t tree_lanes_;  // those of them that share a chunk of a tree
  Value lane_, tree_lane_, slice_;
};

}  // namespace ost::codegen
