// Reductions over named axes, and the composites on them that need no elementwise function.
#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;

namespace {

// Removes axes that a reduction left as 1.
Node1 drop_axes(Graph& g, NodeId x, std::span<const int64_t> axes) {
  Shape shape;
  for (size_t i = 0; i < rank_of(g, x); ++i) {
    bool reduced = false;
    for (const int64_t axis : axes) reduced = reduced || axis == static_cast<int64_t>(i);
    if (!reduced) shape.push_back(shape_of(g, x)[i]);
  }
  return reshape(g, x, std::move(shape));
}

// NumPy: small integers and bool accumulate sums and products in 64 bits.
DType accumulator(Op op, DType type) {
  if (op != Op::sum && op != Op::prod) return type;
  if (type == DType::boolean || is_signed_int(type)) return DType::i64;
  return is_unsigned_int(type) ? DType::u64 : type;
}

Op bool_reduction(Op op) {
  if (op == Op::max) return Op::bit_or_reduce;
  if (op == Op::min) return Op::bit_and_reduce;
  return op;
}

}  // namespace

Node1 reduce(Graph& g, Op op, NodeId x, std::vector<int64_t> axes, bool keepdims) {
  if (!is_reduction(op) || op == Op::argmax || op == Op::argmin)
    return bad(name_of(op), "not a reduction over several axes");
  OST_TRY_ASSIGN(axes, axes_of(name_of(op), g, x, std::move(axes)));
  OST_NODE(wide, cast(g, x, accumulator(op, dtype_of(g, x))));
  if (dtype_of(g, wide) == DType::boolean) op = bool_reduction(op);
  if (axes.empty()) return wide;  // a scalar
  OST_NODE(kept, make(g, op, {wide}, axes));
  return keepdims ? Node1(kept) : drop_axes(g, kept, axes);
}

// sum / count, where the count is a constant or, over symbolic axes, the bound value. Halves
// compute in f32 and are rounded once at the end; integers compute in f64 as NumPy does.
Node1 mean(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims) {
  OST_TRY_ASSIGN(axes, axes_of("mean", g, x, std::move(axes)));
  const DType type = dtype_of(g, x);
  const DType result_type = is_float(type) ? type : DType::f64;
  Sym count = 1;
  for (const int64_t axis : axes) count = count * shape_of(g, x)[axis];
  OST_NODE(wide, cast(g, x, compute_type(result_type)));
  OST_NODE(total, reduce(g, Op::sum, wide, axes, keepdims));
  OST_NODE(number, size_value(g, count, dtype_of(g, total)));
  OST_NODE(quotient, binary(g, Op::div, total, number));
  return cast(g, quotient, result_type);
}

Node1 any(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims) {
  OST_NODE(flag, cast(g, x, DType::boolean));
  return reduce(g, Op::bit_or_reduce, flag, std::move(axes), keepdims);
}

Node1 all(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims) {
  OST_NODE(flag, cast(g, x, DType::boolean));
  return reduce(g, Op::bit_and_reduce, flag, std::move(axes), keepdims);
}

Node1 argreduce(Graph& g, Op op, NodeId x, std::optional<int64_t> axis, bool keepdims) {
  if (op != Op::argmax && op != Op::argmin) return bad(name_of(op), "wanted argmax or argmin");
  const size_t rank = rank_of(g, x);
  OST_TRY_ASSIGN(NodeId values,
                 dtype_of(g, x) == DType::boolean ? cast(g, x, DType::u8) : Node1(x));
  if (rank == 0 || !axis) {  // over all elements in row-major order
    OST_TRY_ASSIGN(values, reshape(g, values, {Sym(-1)}));
    OST_NODE(index, make(g, op, {values}, {0}));
    return reshape(g, index, keepdims ? Shape(rank, Sym(1)) : Shape{});
  }
  OST_TRY_ASSIGN(const size_t at, axis_of(name_of(op), g, x, *axis));
  const int64_t axes[] = {static_cast<int64_t>(at)};
  OST_NODE(index, make(g, op, {values}, {axes[0]}));
  return keepdims ? Node1(index) : drop_axes(g, index, axes);
}

}  // namespace ost::ir
