// The operations of ost_graph_op and ost_tensor_op by name: one table, on the builders of
// core/ir/ops.hpp.
#pragma once

#include <span>
#include <string_view>

#include "core/capi/values.hpp"
#include "core/ir/graph.hpp"

namespace ost::capi {

// `vars`: what dimensions may name. Errors name the operation; an unknown one is answered with
// similar names.
Result<ir::NodeId> apply_op(ir::Graph& graph, std::string_view op,
                            std::span<const ir::NodeId> inputs, std::span<const ost_attr_t> attrs,
                            std::span<const Var> vars);

std::span<const char* const> op_names();  // sorted

}  // namespace ost::capi
