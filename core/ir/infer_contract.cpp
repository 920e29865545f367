// Contraction and attention.
#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

using kir::Order;

// All axes but the last two are equal.
Result<> check_batch(const Check& c, size_t a, size_t b) {
  const Shape& x = c.in(a).shape;
  const Shape& y = c.in(b).shape;
  bool equal = x.size() == y.size();
  for (size_t axis = 0; equal && axis + 2 < x.size(); ++axis) equal = x[axis] == y[axis];
  if (!equal)
    return c.error("batch axes differ: {} and {}; wanted all axes but the last two equal",
                   c.type(a), c.type(b));
  return {};
}

Result<> check_rank(const Check& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i)
    if (c.in(i).shape.size() < 2)
      return c.error("operand {} is {}, wanted rank 2 or more", i, c.type(i));
  return {};
}

Result<> check_contract_type(const Check& c) {
  const DType t = c.in(0).dtype;
  if (t != c.in(1).dtype)
    return c.error("operands differ in type: {} and {}; cast one of them", c.type(0), c.type(1));
  if (t == DType::boolean || is_half(t))
    return c.error("operand is {}, wanted the type of the accumulator: an integer, f32 or f64",
                   c.type(0));
  if (!is_float(t) && c.node.order != Order::any)
    return c.error("has an order tag, but integers have no order");
  if (c.node.order == Order::attn) return c.error("has the order tag attn, wanted tree or blk256");
  if (is_float(t) && c.node.order == Order::any) c.node.order = Order::blk256;
  c.node.dtype = t;
  return {};
}

Result<> infer_attention(const Check& c) {
  const size_t rank = c.in(0).shape.size();
  for (size_t i = 0; i < 3; ++i)
    if (c.in(i).dtype != DType::f32) return c.error("operand {} is {}, wanted f32", i, c.type(i));
  OST_TRY(check_batch(c, 0, 1));
  OST_TRY(check_batch(c, 0, 2));
  const Sym& depth = c.in(0).shape[rank - 1];
  const Sym& keys = c.in(1).shape[rank - 2];
  if (!(depth == c.in(1).shape[rank - 1]))
    return c.error("q is {}, k is {}; wanted last axes that are equal", c.type(0), c.type(1));
  if (!(keys == c.in(2).shape[rank - 2]))
    return c.error("k is {}, v is {}; wanted second-last axes that are equal", c.type(1),
                   c.type(2));
  if (c.node.bits > 0xffffffffu)
    return c.error("the scale {:#x} is not the bits of an f32", c.node.bits);
  OST_TRY(check_batch(c, 0, 3));
  const Shape& mask = c.in(3).shape;
  if (c.in(3).dtype != DType::boolean || !(mask[rank - 2] == c.in(0).shape[rank - 2]) ||
      !(mask[rank - 1] == keys))
    return c.error("the mask is {}, wanted bool[..., {}, {}]", c.type(3),
                   c.in(0).shape[rank - 2].str(), keys.str());
  if (c.node.inputs.size() == 5) {
    OST_TRY(check_batch(c, 0, 4));
    if (c.in(4).dtype != DType::f32 || !(c.in(4).shape == mask))
      return c.error("the bias is {}, wanted f32{}", c.type(4), to_string(mask));
  }
  if (c.node.order != Order::any && c.node.order != Order::attn)
    return c.error("has an order tag other than attn");
  c.node.order = Order::attn;
  c.node.dtype = DType::f32;
  Shape result = c.in(0).shape;
  result[rank - 1] = c.in(2).shape[rank - 1];
  return c.set_shape(std::move(result));
}

}  // namespace

Result<> infer_contract(const Check& c) {
  OST_TRY(check_rank(c));
  if (c.node.op == Op::attention) return infer_attention(c);
  OST_TRY(check_contract_type(c));
  OST_TRY(check_batch(c, 0, 1));
  const Shape& a = c.in(0).shape;
  const Shape& b = c.in(1).shape;
  if (!(a.back() == b.back()))
    return c.error("inner sizes differ: a is {}, b is {}; wanted last axes that are equal",
                   c.type(0), c.type(1));
  Shape result = a;
  result.back() = b[b.size() - 2];
  return c.set_shape(std::move(result));
}

}  // namespace ost::ir::detail
