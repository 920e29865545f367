// Reductions, and where their order tag is decided: float sums and products over axes that contain
// the last one are `tree`, over other axes `blk256`; everything else has no order (numerics §4.1).
#include <algorithm>

#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

using kir::Order;

bool is_arg(Op op) { return op == Op::argmax || op == Op::argmin; }
bool has_identity(Op op) { return op != Op::max && op != Op::min && !is_arg(op); }

Result<> check_type(const Check& c) {
  const DType t = c.in(0).dtype;
  const bool bits = c.node.op >= Op::bit_and_reduce && c.node.op <= Op::bit_xor_reduce;
  if (bits && is_float(t))
    return c.error("operand is {}, wanted bool or an integer type", c.type(0));
  if (!bits && t == DType::boolean)
    return c.error("operand is {}, wanted an integer or float type", c.type(0));
  return {};
}

Result<> check_axes(const Check& c) {
  const auto rank = static_cast<int64_t>(c.in(0).shape.size());
  for (size_t i = 0; i < c.node.ints.size(); ++i) {
    const int64_t axis = c.node.ints[i];
    if (axis < 0 || axis >= rank || (i > 0 && axis <= c.node.ints[i - 1]))
      return c.error("axes ({}) must be ascending axes of {}", fmt::join(c.node.ints, ", "),
                     c.type(0));
  }
  if (is_arg(c.node.op)) return c.want_ints(1);
  return {};
}

Result<> set_order(const Check& c) {
  const bool ordered = is_float(c.in(0).dtype) && (c.node.op == Op::sum || c.node.op == Op::prod);
  Order& order = c.node.order;
  if (!ordered) {
    if (order != Order::any) return c.error("has an order tag, but no operand order matters to it");
    return {};
  }
  if (order == Order::attn) return c.error("has the order tag attn, wanted tree or blk256");
  if (order == Order::any) {
    const auto last = static_cast<int64_t>(c.in(0).shape.size()) - 1;
    const bool row = std::find(c.node.ints.begin(), c.node.ints.end(), last) != c.node.ints.end();
    order = row ? Order::tree : Order::blk256;
  }
  return {};
}

}  // namespace

Result<> infer_reduction(const Check& c) {
  OST_TRY(check_type(c));
  OST_TRY(check_axes(c));
  Shape result = c.in(0).shape;
  Sym count = 1;
  for (const int64_t axis : c.node.ints) {
    count = count * result[axis];
    result[axis] = 1;
  }
  if (!has_identity(c.node.op) && count == Sym(0) && !(numel(result) == Sym(0)))
    return c.error("over no elements: axes ({}) of {} are empty, and it has no identity",
                   fmt::join(c.node.ints, ", "), c.type(0));
  OST_TRY(set_order(c));
  c.node.dtype = is_arg(c.node.op) ? DType::i64 : c.in(0).dtype;
  return c.set_shape(std::move(result));
}

}  // namespace ost::ir::detail
