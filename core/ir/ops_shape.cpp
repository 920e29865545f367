// Broadcasting, promotion, and what the other builders share.
#include <algorithm>

#include "core/ir/build.hpp"
#include "core/ir/values.hpp"

namespace ost::ir {
namespace detail {

Node1 make(Graph& g, Op op, std::vector<NodeId> inputs, std::vector<int64_t> ints) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.ints = std::move(ints);
  return g.add(std::move(node));
}

Result<size_t> axis_of(std::string_view what, size_t rank, int64_t axis) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    if (rank == 0) return bad(what, "axis {} of a scalar; it has none", axis);
    return bad(what, "axis {} is out of range for rank {}, wanted {} to {}", axis, r, -r, r - 1);
  }
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

Result<size_t> axis_of(std::string_view what, const Graph& g, NodeId x, int64_t axis) {
  auto result = axis_of(what, rank_of(g, x), axis);
  if (!result) return bad(what, "axis {} is out of range for {}", axis, type_string(g, x));
  return result;
}

Result<std::vector<int64_t>> axes_of(std::string_view what, const Graph& g, NodeId x,
                                     std::vector<int64_t> axes) {
  if (axes.empty())
    for (size_t i = 0; i < rank_of(g, x); ++i) axes.push_back(static_cast<int64_t>(i));
  for (int64_t& axis : axes) {
    OST_TRY_ASSIGN(const size_t found, axis_of(what, g, x, axis));
    axis = static_cast<int64_t>(found);
  }
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    return bad(what, "axis {} of {} is named twice", *twice, type_string(g, x));
  return axes;
}

Node1 size_value(Graph& g, Sym size, DType type) {
  if (const auto value = size.constant()) {
    if (is_float(type)) return full(g, type, {}, static_cast<double>(*value));
    return full_int(g, type, {}, *value);
  }
  Node node;
  node.op = Op::size;
  node.syms = {std::move(size)};
  OST_NODE(id, g.add(std::move(node)));
  return cast(g, id, type);
}

Sym smaller(const Sym& a, const Sym& b) {
  if (provably_le(a, b)) return a;
  if (provably_le(b, a)) return b;
  return min(a, b);
}

Sym larger(const Sym& a, const Sym& b) {
  if (provably_le(a, b)) return b;
  if (provably_le(b, a)) return a;
  return max(a, b);
}

Result<Pair> match(Graph& g, std::string_view what, NodeId a, NodeId b) {
  auto shape = broadcast_shapes(shape_of(g, a), shape_of(g, b));
  if (!shape) return std::unexpected(shape.error().in(what));
  const DType type = promote(dtype_of(g, a), dtype_of(g, b));
  OST_NODE(wide_a, cast(g, a, type));
  OST_NODE(wide_b, cast(g, b, type));
  OST_NODE(full_a, broadcast_to(g, wide_a, *shape));
  OST_NODE(full_b, broadcast_to(g, wide_b, *shape));
  return Pair{full_a, full_b};
}

DType compute_type(DType x) { return x == DType::f64 ? DType::f64 : DType::f32; }
DType float_type(DType x) { return is_float(x) ? x : DType::f32; }

}  // namespace detail

using namespace detail;

Result<Shape> broadcast_shapes(std::span<const Sym> a, std::span<const Sym> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {  // i counts from the last axis
    const Sym one = 1;
    const Sym& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const Sym& y = i < b.size() ? b[b.size() - 1 - i] : one;
    Sym& out = result[rank - 1 - i];
    if (x == y || y == one) {
      out = x;
    } else if (x == one) {
      out = y;
    } else if (x.is_const() && y.is_const()) {
      return fail(OST_INVALID_ARGUMENT,
                  "shapes {} and {} do not broadcast: axis -{} has sizes {} and {}; wanted equal "
                  "sizes or a 1",
                  to_string(a), to_string(b), i + 1, x.str(), y.str());
    } else {
      return fail(OST_INVALID_ARGUMENT,
                  "shapes {} and {} do not broadcast: sizes {} and {} of axis -{} are not provably "
                  "equal and neither is the "
                  "constant 1",
                  to_string(a), to_string(b), x.str(), y.str(), i + 1);
    }
  }
  return result;
}

namespace {

DType unsigned_with_signed(DType u, DType s) {
  if (size_of(s) > size_of(u)) return s;
  switch (u) {
    case DType::u8:
      return DType::i16;
    case DType::u16:
      return DType::i32;
    case DType::u32:
      return DType::i64;
    default:
      return DType::f64;  // as NumPy: no integer holds both
  }
}

DType float_with_int(DType f, DType i) {
  if (size_of(i) == 1) return f;
  if (size_of(i) == 2) return is_half(f) ? DType::f32 : f;
  return DType::f64;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_float(a) && is_float(b)) {
    if (is_half(a) && is_half(b)) return DType::f32;
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_float(a)) return float_with_int(a, b);
  if (is_float(b)) return float_with_int(b, a);
  if (is_signed_int(a) == is_signed_int(b)) return size_of(a) > size_of(b) ? a : b;
  return is_unsigned_int(a) ? unsigned_with_signed(a, b) : unsigned_with_signed(b, a);
}

Node1 broadcast_to(Graph& g, NodeId x, Shape shape) {
  const Node source = g.node(x);
  if (source.shape == shape) return x;
  auto merged = broadcast_shapes(source.shape, shape);
  if (!merged) return std::unexpected(merged.error().in("broadcast_to"));
  if (*merged != shape)
    return bad("broadcast_to", "{} does not broadcast to {}", type_string(g, x), to_string(shape));
  Node node;
  if (source.op == Op::full) {
    node = source;
    node.shape = std::move(shape);
    return g.add(std::move(node));
  }
  Shape aligned(shape.size() - source.shape.size(), Sym(1));
  aligned.insert(aligned.end(), source.shape.begin(), source.shape.end());
  OST_NODE(base, reshape(g, x, std::move(aligned)));
  if (shape_of(g, base) == shape) return base;
  node.op = Op::expand;
  node.inputs = {base};
  node.shape = std::move(shape);
  return g.add(std::move(node));
}

Node1 cast(Graph& g, NodeId x, DType to) {
  if (dtype_of(g, x) == to) return x;
  Node node;
  node.op = Op::cast;
  node.inputs = {x};
  node.dtype = to;
  return g.add(std::move(node));
}

}  // namespace ost::ir
