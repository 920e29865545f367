// Graph to Program: the pipeline.
#pragma once

#include "core/ir/graph.hpp"
#include "core/schedule/program.hpp"

namespace ost {

struct ScheduleOptions {
  kir::Numerics numerics = kir::Numerics::strict;
  bool fuse = true;
  int64_t memory_budget = -1;      // elements, see FuseOptions
  uint64_t arena_alignment = 256;  // bytes
  uint64_t arena_limit =
      UINT64_MAX;  // bytes: a larger plan is an error that names the size it needs
};

// Lowers a verified graph with outputs. The steps come in an order in which they may run one after
// the other; their edges are all the order that is needed. An empty program (every output is an
// input) has no steps.
Result<Program> schedule(const ir::Graph& graph, const ScheduleOptions& options = {});

}  // namespace ost
