// Matrix products: stores of an expression over contractions [.., m, n], in register tiles of MR
// rows and NR columns.
//
// Phase 0 (if needed) packs operands into shared memory: B as panels [n / NR][k][NR], A as rows
// [m][k]; each operand may be any expression. Phase 1 has a task for each block of rows and panel.
// A tile's chains run over 256 k, as order blk256 has it, and their results are added up in a tile
// in memory, from which the epilogue, rolled over the rows, reads.
#pragma once

#include <optional>
#include <vector>

#include "plugins/cpu/compiler/nest.hpp"
#include "plugins/cpu/compiler/phase.hpp"

namespace ost_cpu {

struct GemmOperand {
  Id value = kNone;
  bool packed = false;
  bool along_k = false;   // contiguous along k: packed by transposing (B), or in vectors (A)
  std::vector<Id> outer;  // outer axes that it depends on
};

struct GemmContract {
  Id id = kNone;
  Id k = kNone;
  GemmOperand a, b;  // b depends on n, a does not
};

struct GemmPlan {
  std::vector<Id> stores;
  std::vector<Id> outer;
  Id m = kNone;  // kNone: one row
  Id n = kNone;
  std::vector<GemmContract> contracts;
  unsigned mr = 1, nr = 16;
  int64_t mc = 1;            // rows of a task
  int64_t kc = 1024;         // k that a panel keeps in the cache, a multiple of 256
  bool masked_tail = false;  // of the columns
};

// The plan for a statement, if it is a matrix product that this strategy takes.
std::optional<GemmPlan> plan_gemm(const Facts& facts, FeatureSet isa, const Statement& statement);
// Adds the phases of the plan. The lowering has room for them: see choose_lowering.
void add_gemm(Lowering& lowering, const GemmPlan& plan);

}  // namespace ost_cpu
