// The accumulators of reductions that share an axis, and the step that takes one element (of each
// lane) into them.
#pragma once

#include <vector>

#include "plugins/cpu/compiler/eval.hpp"

namespace ost_cpu {

class Accumulators {
 public:
  // All over `axis`; none needs another. Attention is none of them.
  Accumulators(Eval& eval, Id axis, std::vector<Id> group);

  const std::vector<Id>& group() const { return group_; }
  bool is_arg(Id r) const { return k_.op(r) == OST_KIR_OP_ARGREDUCE; }
  uint32_t type(Id r) const { return k_.dtype(k_.src(r, 0)); }
  uint32_t combine(Id r) const { return is_arg(r) ? k_[r].aux : k_.combine(r); }
  // The values that are reduced.
  std::vector<Id> operands() const;

  // One accumulator per reduction, two for an arg-reduction (the best value and its index).
  unsigned count(Id r) const { return is_arg(r) ? 2 : 1; }
  Values initial(unsigned width) const;
  // At the bound point(s) of the axis. `mask`: lanes without an element, whose accumulators stay;
  // nullptr: none.
  Values step(const Values& acc, unsigned width, Value* mask);
  Value* merge(Id r, Value* x, Value* y);  // two accumulators of a reduction (no arg-reduction)
  // Does x replace the best so far? The first NaN does, and then nothing.
  Value* beyond(Id r, Value* x, Value* best);

 private:
  Value* operand(Id v, unsigned width) { return width > 1 ? ev_.vector(v) : ev_.scalar(v); }

  Eval& ev_;
  Emit& e_;
  const kir::Kernel& k_;
  Id axis_;
  std::vector<Id> group_;
};

}  // namespace ost_cpu
