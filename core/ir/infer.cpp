// The checks that all operations share, and the way to the family of each.
#include "core/ir/infer.hpp"

namespace ost::ir {

std::string type_string(DType dtype, std::span<const Sym> shape) {
  return fmt::format("{}{}", name_of(dtype), to_string(shape));
}

std::string type_string(const Graph& graph, NodeId id) {
  return type_string(graph.node(id).dtype, graph.node(id).shape);
}

namespace detail {

std::string Check::type(size_t i) const { return type_string(graph, node.inputs[i]); }

Result<> Check::want_ints(size_t count) const {
  if (node.ints.size() != count)
    return error("has {} integer attributes, wanted {}", node.ints.size(), count);
  return {};
}

Result<> Check::want_syms(size_t count) const {
  if (node.syms.size() != count)
    return error("has {} size attributes, wanted {}", node.syms.size(), count);
  return {};
}

Result<> Check::want_axis(size_t operand) const {
  OST_TRY(want_ints(1));
  const auto rank = static_cast<int64_t>(in(operand).shape.size());
  if (node.ints[0] < 0 || node.ints[0] >= rank)
    return error("axis {} is out of range for {}, wanted 0 to {}", node.ints[0], type(operand),
                 rank - 1);
  return {};
}

Result<> Check::set_shape(Shape shape) const {
  if (!node.shape.empty() && node.shape != shape)
    return error("the shape given is {}, but the operands make it {}", to_string(node.shape),
                 to_string(shape));
  node.shape = std::move(shape);
  return {};
}

}  // namespace detail

namespace {

size_t arity_of(Op op) {
  if (op <= Op::size) return 0;
  if (is_binary(op)) return 2;
  switch (op) {
    case Op::attention:
      return 4;
    case Op::where:
    case Op::fma:
    case Op::scatter:
    case Op::scatter_add:
      return 3;
    case Op::contract:
    case Op::gather:
    case Op::assign:
      return 2;
    default:
      return 1;
  }
}

Result<> check_operands(const detail::Check& c) {
  const size_t count = c.node.inputs.size();
  const size_t wanted =
      c.node.op == Op::attention && count == 5 ? count : arity_of(c.node.op);  // perhaps a bias
  if (count != wanted) return c.error("has {} operands, wanted {}", count, wanted);
  for (const NodeId id : c.node.inputs)
    if (id >= c.graph.nodes().size())
      return c.error("operand %{} does not exist, the graph has {} nodes", id,
                     c.graph.nodes().size());
  return {};
}

// For the largest values of the variables, as far as the bounds tell.
bool overflows(const Sym& size) { return !size.is_valid() || size.upper() == INT64_MAX; }

// Every size is a valid expression that is never negative, and so is their product.
Result<> check_shape(const detail::Check& c) {
  for (size_t axis = 0; axis < c.node.shape.size(); ++axis) {
    const Sym& size = c.node.shape[axis];
    if (overflows(size)) return c.error("the size of axis {} overflows 64 bits", axis);
    if (!provably_le(0, size))
      return c.error(
          "the size {} of axis {} may be negative (down to {}); tighten the bounds of its "
          "variables",
          size.str(), axis, size.lower());
  }
  if (overflows(numel(c.node.shape)))
    return c.error("the number of elements of {} overflows 64 bits", to_string(c.node.shape));
  return {};
}

}  // namespace

Result<> infer(const Graph& graph, Node& node) {
  const detail::Check c{graph, node};
  if (node.op > Op::copy)
    return fail(OST_INVALID_ARGUMENT, "operation number {} is unknown", static_cast<int>(node.op));
  if (!is_valid(node.dtype))
    return c.error("dtype number {} is unknown", static_cast<int>(node.dtype));
  OST_TRY(check_operands(c));
  for (const Sym& sym : node.syms)
    if (!sym.is_valid()) return c.error("a size attribute overflows 64 bits");
  if (node.op <= Op::size) {
    OST_TRY(detail::infer_source(c));
  } else if (is_movement(node.op)) {
    OST_TRY(detail::infer_movement(c));
  } else if (is_elementwise(node.op)) {
    OST_TRY(detail::infer_elementwise(c));
  } else if (is_reduction(node.op)) {
    OST_TRY(detail::infer_reduction(c));
  } else if (node.op == Op::contract || node.op == Op::attention) {
    OST_TRY(detail::infer_contract(c));
  } else {
    OST_TRY(detail::infer_indexed(c));
  }
  return check_shape(c);
}

}  // namespace ost::ir
