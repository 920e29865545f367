// Products of one matrix with several others (the query, key and value projections of attention)
// become one kernel with several results: one launch, and the shared operand is read while it is in
// the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/fuse.hpp"

namespace ost {

// `readers`: per kernel of the plan, the kernels that read its results. Merges kernels that have
// the same iteration space, contract the same operand, and lie on one level of the kernel graph, so
// that none waits for the other. Graphs that assign are left alone: what a kernel may overtake is
// then not a matter of levels.
void merge_siblings(const ir::Graph& graph, const std::vector<std::vector<uint32_t>>& readers,
                    FusePlan& plan);

}  // namespace ost
