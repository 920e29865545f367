// Fusion: which nodes are stored in buffers, and which kernel computes what.
//
// A kernel has one main root (its iteration space is the root's shape) and perhaps further outputs
// of the same shape. Any other node is inlined: kernels that need it compute it again, at the index
// that they need. Nothing here changes a bit: the meaning of each node is fixed by the graph (order
// tags included).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.hpp"

namespace ost {

inline constexpr size_t kMaxInlined = 192;  // nodes in a kernel: bounds compile time and registers
inline constexpr size_t kMaxOutputs = 8;    // of a kernel
inline constexpr uint32_t kMaxContractions = 4;  // of a kernel, each with its own accumulator

struct FuseOptions {
  bool fuse = true;  // false: every computing node is stored (the reference for property tests)
  int64_t memory_budget =
      -1;            // elements; an intermediate that may be larger is not inlined. -1: no limit
  bool join = true;  // false: no kernel has a second result that it need not have
};

struct KernelPlan {
  ir::NodeId root = 0;              // decides the iteration space
  std::vector<ir::NodeId> outputs;  // stored nodes, root first
  std::vector<ir::NodeId> inlined;  // computing nodes inside, ascending
  std::vector<ir::NodeId> tiled;    // its register-tiled contractions, or its attention
  uint32_t contractions = 0;        // how many of them count against the limit
  bool has_contraction = false;     // a tiled one or an ordered loop: no row reduction beside it
  bool has_reduction = false;
  std::string why;    // why these are one kernel
  std::string ended;  // what stopped it from growing: the last refusal
};

struct FusePlan {
  std::vector<KernelPlan> kernels;  // in order of root
  std::vector<uint32_t>
      kernel_of;  // per node: index of the kernel that stores it, UINT32_MAX if none
  bool is_stored(ir::NodeId n) const { return kernel_of[n] != UINT32_MAX; }
};

// The node whose buffer holds the value of a node: the input behind a chain of assigns, the node
// itself otherwise.
ir::NodeId storage_of(const ir::Graph& graph, ir::NodeId n);

// Every output, every copy and its operand, scatters and assigns are stored; the rest is decided
// (docs/fusion rules in fuse.cpp). Cost is linear in nodes and edges for bounded fan-out.
FusePlan fuse(const ir::Graph& graph, const FuseOptions& options);

}  // namespace ost
