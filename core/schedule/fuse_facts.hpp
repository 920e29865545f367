// What fusion knows of a graph before it decides anything.
#pragma once

#include <span>
#include <vector>

#include "core/ir/graph.hpp"

namespace ost {

// Per node.
struct FuseFacts {
  std::vector<bool> reachable;        // from an output
  std::vector<bool> forced;           // stored whatever else is decided
  std::vector<bool> alone;            // and by a kernel of its own
  std::vector<bool> follows_row;      // elementwise, needs a row reduction that need not be stored
  std::vector<bool> follows_product;  // elementwise, needs one element of such a contraction each
  bool has_assigns = false;
};

// `store_first`: nodes that an earlier attempt found must be stored alone.
FuseFacts facts_of(const ir::Graph& graph, std::span<const ir::NodeId> store_first);

}  // namespace ost
