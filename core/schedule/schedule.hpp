// Graph to Program: the pipeline.
#pragma once

#include "core/ir/graph.hpp"
#include "core/schedule/program.hpp"

namespace ost {

struct ScheduleOptions {
  kir::Numerics numerics = kir::Numerics::strict;
  bool fuse = true;
  bool simplify = true;             // core/passes/simplify.hpp
  bool recognise_attention = true;  // core/passes/attention.hpp; needs a simplified graph
  int64_t memory_budget = -1;       // elements, see FuseOptions
  int64_t tile_size = 0;            // elements: longer loops over results are split; 0: none is
  uint64_t arena_alignment = 256;   // bytes
  // Bytes: a hard cap on the planned arena of each device, at the largest values of the variables.
  // Met by other orders, by computing values again (core/schedule/fit_arena.hpp) and by splitting
  // kernels with several results; else an error that names the smallest limit that works.
  uint64_t arena_limit = UINT64_MAX;
};

// Lowers a verified graph with outputs. The steps come in an order in which they may run one after
// the other; their edges are all the order that is needed. An empty program (every output is an
// input) has no steps.
Result<Program> schedule(const ir::Graph& graph, const ScheduleOptions& options = {});

}  // namespace ost
