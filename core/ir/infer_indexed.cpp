// Operations that address elements by data, and those that name storage: gather, scatter, assign,
// copy.
#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

Result<> infer_gather(const Check& c) {
  OST_TRY(c.want_axis(0));
  if (!is_int(c.in(1).dtype)) return c.error("the index is {}, wanted an integer type", c.type(1));
  const Shape& data = c.in(0).shape;
  const Shape& index = c.in(1).shape;
  const auto axis = static_cast<size_t>(c.node.ints[0]);
  Shape result(data.begin(), data.begin() + axis);
  result.insert(result.end(), index.begin(), index.end());
  result.insert(result.end(), data.begin() + axis + 1, data.end());
  c.node.dtype = c.in(0).dtype;
  return c.set_shape(std::move(result));
}

Result<> infer_scatter(const Check& c) {
  OST_TRY(c.want_axis(0));
  const Shape& index = c.in(1).shape;
  if (!is_int(c.in(1).dtype) || index.size() != 1)
    return c.error("the index is {}, wanted integers of rank 1", c.type(1));
  if (c.in(2).dtype != c.in(0).dtype)
    return c.error("base and updates differ in type: {} and {}; cast one of them", c.type(0),
                   c.type(2));
  if (c.node.op == Op::scatter_add && c.in(0).dtype == DType::boolean)
    return c.error("operand is {}, wanted an integer or float type", c.type(0));
  Shape updates = c.in(0).shape;
  updates[c.node.ints[0]] = index[0];
  if (c.in(2).shape != updates)
    return c.error("the updates are {}, wanted shape {}", c.type(2), to_string(updates));
  c.node.dtype = c.in(0).dtype;
  return c.set_shape(c.in(0).shape);
}

// An input that may be written, or the state of one after earlier assigns.
bool is_storage(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::assign) return true;
  return node.op == Op::input && graph.input(id).kind != InputKind::constant;
}

Result<> infer_assign(const Check& c) {
  const Shape& target = c.in(0).shape;
  const Shape& value = c.in(1).shape;
  if (!is_storage(c.graph, c.node.inputs[0]))
    return c.error(
        "the target is the result of {}, wanted an argument, a state or an earlier assign to one",
        name_of(c.in(0).op));
  if (c.in(1).dtype != c.in(0).dtype)
    return c.error("target and value differ in type: {} and {}; cast the value", c.type(0),
                   c.type(1));
  if (value.size() != target.size())
    return c.error("target {} and value {} differ in rank", c.type(0), c.type(1));
  OST_TRY(c.want_syms(target.size()));
  for (size_t axis = 0; axis < target.size(); ++axis) {
    const Sym& start = c.node.syms[axis];
    if (start.upper() < 0 || provably_lt(target[axis], start + value[axis]))
      return c.error("value {} at {} of axis {} is outside of {}", c.type(1), start.str(), axis,
                     c.type(0));
  }
  c.node.dtype = c.in(0).dtype;
  return c.set_shape(target);
}

}  // namespace

Result<> infer_indexed(const Check& c) {
  switch (c.node.op) {
    case Op::gather:
      return infer_gather(c);
    case Op::scatter:
    case Op::scatter_add:
      return infer_scatter(c);
    case Op::assign:
      return infer_assign(c);
    default:  // copy
      if (c.node.bits > UINT32_MAX) return c.error("device {} is out of range", c.node.bits);
      c.node.dtype = c.in(0).dtype;
      return c.set_shape(c.in(0).shape);
  }
}

}  // namespace ost::ir::detail
