// Before: an elementwise node whose operands are all constants. After: the constant that it is, by
// the definition of the operation (the KIR interpreter computes it), so with the same bits.
#pragma once

#include <optional>

#include "core/ir/graph.hpp"

namespace ost {

// Nothing if the node is not elementwise or an operand is not a constant.
Result<std::optional<ir::Node>> fold(const ir::Graph& graph, const ir::Node& node);

}  // namespace ost
