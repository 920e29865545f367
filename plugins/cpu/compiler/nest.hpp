// The general lowering: a loop nest for a set of stores. The plan is made without LLVM; emission
// follows it.
//
// The first `prefix` outer axes (and chunks of the vector axis, if chunked) are the tasks; the
// other outer axes are loops inside of a task; innermost is the vector axis. Stores over fewer axes
// happen at the level where theirs end.
#pragma once

#include <vector>

#include "plugins/cpu/abi/target.hpp"
#include "plugins/cpu/compiler/eval.hpp"
#include "plugins/cpu/compiler/facts.hpp"
#include "plugins/cpu/compiler/row_cache.hpp"
#include "plugins/cpu/compiler/stream.hpp"

namespace ost_cpu {

// Stores over the same axes; at each point all operands are computed, then the stores happen in
// order.
struct Statement {
  kir::AxisSet parallel = 0;
  kir::AxisSet carry = 0;
  std::vector<Id> stores;
};

struct Nest {
  std::vector<Statement> parts;  // fewest axes first; each has the first axes of the nest
  std::vector<Id> outer;         // outermost first, without the vector axis
  Id vector = kNone;
  unsigned width = 1;
  unsigned prefix = 0;
  int64_t chunk = 0;         // of the vector axis, per task; 0: all of it
  bool masked_tail = false;  // else the last few points of the vector axis are a scalar loop
  std::optional<RowCache> cache;
  std::optional<Stream> stream;  // what runs along the vector axis
};

// Statements of a kernel, as the interpreter groups them.
std::vector<Statement> statements_of(const Facts& facts);
// Nests for a kernel without carry axes; statements that share reductions share a nest.
std::vector<Nest> plan_nests(const Facts& facts, FeatureSet isa, std::vector<Statement> statements);
Nest plan_nest(const Facts& facts, FeatureSet isa, std::vector<Statement> parts);

// The number of tasks, as code.
Value* nest_tasks(Eval& eval, const Nest& nest);
// Scratch memory, as code.
Value* nest_scratch(Eval& eval, const Nest& nest);
void emit_nest(Eval& eval, const Nest& nest, Value* scratch, Value* lo, Value* hi);
// All statements of a kernel with carry axes, in order.
void emit_carry(Eval& eval, FeatureSet isa, const std::vector<Statement>& statements);

// What a store needs to be computed.
std::vector<Id> operands_of(const kir::Kernel& k, const std::vector<Id>& stores);

}  // namespace ost_cpu
