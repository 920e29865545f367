// A kernel as phases: each a number of independent tasks. The strategies (nests, matrix products)
// make them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/cpu/compiler/eval.hpp"

namespace ost_cpu {

struct Phase {
  std::string remark;  // for the compile log: what was chosen
  std::function<Value*(Eval&)> tasks;
  std::function<void(Eval&, Value* scratch, Value* lo, Value* hi)> emit;
  std::vector<Id> roots;  // stores or values: what the cost is estimated from
};

struct Lowering {
  std::vector<Phase> phases;
  // Bytes, as code; may be empty.
  std::function<Value*(Eval&)> scratch_bytes, shared_bytes;
};

// Chooses a strategy for the kernel.
Lowering choose_lowering(const Facts& facts, FeatureSet isa);

// cost.cpp: estimates for all that the roots need, as f64.
struct Cost {
  Value *flops, *bytes;
};
Cost emit_cost(Eval& eval, const std::vector<Id>& roots);

}  // namespace ost_cpu
