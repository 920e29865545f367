// What the builders of core/ir/ops.hpp share: axis numbers, node making, error text. Not for other
// layers.
#pragma once

#include "core/ir/infer.hpp"
#include "core/ir/ops.hpp"

namespace ost::ir::detail {

template <typename... Args>
std::unexpected<Error> bad(std::string_view what, fmt::format_string<Args...> format,
                           Args&&... args) {
  return fail(OST_INVALID_ARGUMENT, "{}: {}", what,
              fmt::format(format, std::forward<Args>(args)...));
}

inline const Shape& shape_of(const Graph& g, NodeId x) { return g.node(x).shape; }
inline DType dtype_of(const Graph& g, NodeId x) { return g.node(x).dtype; }
inline size_t rank_of(const Graph& g, NodeId x) { return g.node(x).shape.size(); }

// A node with one operand and nothing else to say.
Node1 make(Graph& g, Op op, std::vector<NodeId> inputs, std::vector<int64_t> ints = {});

// Axis numbers with negative ones counted from the end.
Result<size_t> axis_of(std::string_view what, const Graph& g, NodeId x, int64_t axis);
Result<size_t> axis_of(std::string_view what, size_t rank, int64_t axis);
// Ascending and distinct; none given means all.
Result<std::vector<int64_t>> axes_of(std::string_view what, const Graph& g, NodeId x,
                                     std::vector<int64_t> axes);

// The size as a graph value of `type`: a constant, or the bound value of the expression.
Node1 size_value(Graph& g, Sym size, DType type);

// min and max of sizes that stay as they are where one is provably the answer.
Sym smaller(const Sym& a, const Sym& b);
Sym larger(const Sym& a, const Sym& b);

// Operands with one shape and the promoted type.
struct Pair {
  NodeId a, b;
};
Result<Pair> match(Graph& g, std::string_view what, NodeId a, NodeId b);
// The type in which composites of `x` compute: f32 for everything but f64.
DType compute_type(DType x);
// The type of their result: that of `x` if it is a float.
DType float_type(DType x);

}  // namespace ost::ir::detail

// The result must be a node id; used to chain builders that can fail.
#define OST_NODE(name, ...) OST_TRY_ASSIGN(const ::ost::ir::NodeId name, __VA_ARGS__)
