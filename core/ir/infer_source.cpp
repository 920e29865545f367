// Inputs, constants of one value, index ramps, and sizes as data.
#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

Result<> infer_input(const Check& c) {
  if (c.node.bits >= c.graph.inputs().size())
    return c.error("names input {}, but the graph has {}", c.node.bits, c.graph.inputs().size());
  const Input& input = c.graph.inputs()[c.node.bits];
  c.node.dtype = input.dtype;
  return c.set_shape(input.shape);
}

Result<> infer_full(const Check& c) {
  const uint32_t width = bits_of(c.node.dtype);
  const uint64_t limit = c.node.dtype == DType::boolean ? 1 : ~uint64_t{0} >> (64 - width);
  if (c.node.bits > limit)
    return c.error("the value {:#x} does not fit into {}", c.node.bits, name_of(c.node.dtype));
  return {};
}

Result<> infer_iota(const Check& c) {
  OST_TRY(c.want_ints(1));
  const auto rank = static_cast<int64_t>(c.node.shape.size());
  if (c.node.ints[0] < 0 || c.node.ints[0] >= rank)
    return c.error("axis {} is out of range for shape {}", c.node.ints[0], to_string(c.node.shape));
  c.node.dtype = DType::i64;
  return {};
}

}  // namespace

Result<> infer_source(const Check& c) {
  switch (c.node.op) {
    case Op::input:
      return infer_input(c);
    case Op::full:
      return infer_full(c);
    case Op::iota:
      return infer_iota(c);
    default:  // size
      OST_TRY(c.want_syms(1));
      c.node.dtype = DType::i64;
      if (!c.node.shape.empty())
        return c.error("the shape given is {}, wanted a scalar", to_string(c.node.shape));
      return {};
  }
}

}  // namespace ost::ir::detail
