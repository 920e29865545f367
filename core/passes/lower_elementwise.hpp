// The scalar meaning of each elementwise graph operation, as KIR.
#pragma once

#include <span>

#include "core/ir/graph.hpp"
#include "core/kir/kernel.hpp"

namespace ost {

// The type that KIR computes a graph type in: f32 for f16 and bf16, itself otherwise.
constexpr DType compute_type(DType t) { return is_half(t) ? DType::f32 : t; }

// `args` have the nodes' types; the result has node.dtype. Halves are widened, computed in f32 and
// rounded once.
kir::Value lower_elementwise(kir::Builder& b, const ir::Node& node,
                             std::span<const kir::Value> args);

}  // namespace ost
