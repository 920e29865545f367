// Index maps with NumPy's meaning.
#include <algorithm>

#include "core/ir/build.hpp"
#include "core/ir/values.hpp"

namespace ost::ir {

using namespace detail;

namespace {

// The one size that makes the element counts agree: exact where the rest is constant or divides as
// an expression.
Result<Sym> missing_size(const Graph& g, NodeId x, const Shape& shape) {
  const Sym total = numel(shape_of(g, x));
  Sym rest = 1;
  for (const Sym& size : shape)
    if (!(size == Sym(-1))) rest = rest * size;
  const auto error = [&] {
    return bad("reshape",
               "{} has {} elements, which is not provably a multiple of {}; no size fits -1 in {}",
               type_string(g, x), total.str(), rest.str(), to_string(shape));
  };
  if (rest == Sym(0))
    return bad("reshape", "the size of -1 is not determined: the other sizes of {} make 0",
               to_string(shape));
  const Sym size = floordiv(total, rest);
  if (!(size * rest == total)) return error();
  return size;
}

}  // namespace

Node1 reshape(Graph& g, NodeId x, Shape shape) {
  const auto holes = std::count(shape.begin(), shape.end(), Sym(-1));
  if (holes > 1) return bad("reshape", "{} has more than one -1", to_string(shape));
  if (holes == 1) {
    OST_TRY_ASSIGN(const Sym size, missing_size(g, x, shape));
    *std::find(shape.begin(), shape.end(), Sym(-1)) = size;
  }
  if (shape_of(g, x) == shape) return x;
  const Node source = g.node(x);
  Node node;
  node.op = Op::reshape;
  node.shape = std::move(shape);
  if (source.op == Op::full && numel(source.shape) == numel(node.shape)) {
    node.op = Op::full;
    node.dtype = source.dtype;
    node.bits = source.bits;
    return g.add(std::move(node));
  }
  node.inputs = {source.op == Op::reshape ? source.inputs[0] : x};
  if (g.node(node.inputs[0]).shape == node.shape) return node.inputs[0];
  return g.add(std::move(node));
}

Node1 permute(Graph& g, NodeId x, std::vector<int64_t> order) {
  if (order.size() != rank_of(g, x))
    return bad("permute", "({}) names {} axes, {} has {}", fmt::join(order, ", "), order.size(),
               type_string(g, x), rank_of(g, x));
  for (int64_t& axis : order) {
    OST_TRY_ASSIGN(const size_t found, axis_of("permute", g, x, axis));
    axis = static_cast<int64_t>(found);
  }
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i)
    identity = identity && order[i] == static_cast<int64_t>(i);
  if (identity) return x;
  return make(g, Op::permute, {x}, std::move(order));
}

Node1 transpose(Graph& g, NodeId x) {
  const size_t rank = rank_of(g, x);
  if (rank < 2) return x;
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(g, x, std::move(order));
}

Node1 pad(Graph& g, NodeId x, std::span<const std::pair<Sym, Sym>> widths, double value) {
  const size_t rank = rank_of(g, x);
  if (widths.size() != rank)
    return bad("pad", "{} pairs of widths for {}, wanted {}", widths.size(), type_string(g, x),
               rank);
  const auto bits = encode(dtype_of(g, x), value);
  if (!bits)
    return bad("pad", "the value {} is not a number of type {}", value, name_of(dtype_of(g, x)));
  Node node;
  node.op = Op::pad;
  node.inputs = {x};
  node.bits = *bits;
  bool none = true;
  for (const auto& [before, after] : widths) {
    node.syms.push_back(before);
    none = none && before == Sym(0) && after == Sym(0);
  }
  if (none) return x;
  for (const auto& [before, after] : widths) node.syms.push_back(after);
  return g.add(std::move(node));
}

Node1 flip(Graph& g, NodeId x, std::vector<int64_t> axes) {
  OST_TRY_ASSIGN(axes, axes_of("flip", g, x, std::move(axes)));
  if (axes.empty()) return x;
  return make(g, Op::flip, {x}, std::move(axes));
}

Node1 squeeze(Graph& g, NodeId x, int64_t axis) {
  OST_TRY_ASSIGN(const size_t at, axis_of("squeeze", g, x, axis));
  Shape shape = shape_of(g, x);
  if (!(shape[at] == Sym(1)))
    return bad("squeeze", "axis {} of {} has size {}, wanted the constant 1", axis,
               type_string(g, x), shape[at].str());
  shape.erase(shape.begin() + static_cast<ptrdiff_t>(at));
  return reshape(g, x, std::move(shape));
}

Node1 unsqueeze(Graph& g, NodeId x, int64_t axis) {
  OST_TRY_ASSIGN(const size_t at, axis_of("unsqueeze", rank_of(g, x) + 1, axis));
  Shape shape = shape_of(g, x);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(at), Sym(1));
  return reshape(g, x, std::move(shape));
}

}  // namespace ost::ir
