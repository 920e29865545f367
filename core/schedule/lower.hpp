// From fused groups of graph nodes to KIR: index maps become index arithmetic, nodes become scalar
// expressions.
#pragma once

#include <functional>
#include <vector>

#include "core/ir/graph.hpp"
#include "core/kir/kernel.hpp"
#include "core/schedule/fuse.hpp"

namespace ost {

// A buffer that a kernel touches: the stored node or input whose elements it holds.
using BufferId = uint32_t;

struct LoweredKernel {
  kir::Kernel kir;
  std::vector<BufferId> params;    // by parameter slot
  std::vector<Var> vars;           // by variable slot
  std::vector<std::string> tiles;  // "100 as 4 x 32": loops that were split
};

struct LowerContext {
  const ir::Graph& graph;
  const FusePlan& plan;
  // Buffer of an input or stored node, and the number of its elements.
  std::function<BufferId(ir::NodeId)> buffer_of;
  std::function<Sym(BufferId)> elements_of;
  kir::Numerics numerics = kir::Numerics::strict;
  int64_t tile_size = 0;  // loops over results that are longer are split into tiles; 0: none is
};

// One kernel, or two for a scatter: first its base into the result, then the rows in order.
Result<std::vector<LoweredKernel>> lower(const LowerContext& context, const KernelPlan& kernel);

}  // namespace ost
