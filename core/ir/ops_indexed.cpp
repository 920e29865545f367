// Operations that address elements by data, and attention.
#include <algorithm>
#include <bit>

#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;

Node1 gather(Graph& g, NodeId data, NodeId index, int64_t axis) {
  OST_TRY_ASSIGN(const size_t at, axis_of("gather", g, data, axis));
  if (!is_int(dtype_of(g, index)))
    return bad("gather", "the index is {}, wanted an integer type", type_string(g, index));
  return make(g, Op::gather, {data, index}, {static_cast<int64_t>(at)});
}

Node1 scatter(Graph& g, NodeId base, NodeId index, NodeId updates, int64_t axis, bool add) {
  const Op op = add ? Op::scatter_add : Op::scatter;
  OST_TRY_ASSIGN(const size_t at, axis_of(name_of(op), g, base, axis));
  if (rank_of(g, index) != 1 || !is_int(dtype_of(g, index)))
    return bad(name_of(op), "the index is {}, wanted integers of rank 1", type_string(g, index));
  Shape shape = shape_of(g, base);
  shape[at] = shape_of(g, index)[0];
  OST_NODE(typed, cast(g, updates, dtype_of(g, base)));
  auto wide = broadcast_to(g, typed, shape);
  if (!wide)
    return bad(name_of(op), "the updates are {}, which does not broadcast to {}",
               type_string(g, updates), to_string(shape));
  return make(g, op, {base, index, *wide}, {static_cast<int64_t>(at)});
}

namespace {

struct Operands {
  NodeId q, k, v;
  std::optional<NodeId> mask, bias;
};

Result<> check_attention(const Graph& g, NodeId q, NodeId k, NodeId v) {
  const Shape &a = shape_of(g, q), &b = shape_of(g, k), &c = shape_of(g, v);
  if (a.size() < 2 || b.size() < 2 || c.size() < 2 || !(a.back() == b.back()) ||
      !(b[b.size() - 2] == c[c.size() - 2]))
    return bad("attention",
               "q is {}, k is {}, v is {}; wanted q[..., M, D], k[..., T, D] and v[..., T, C]",
               type_string(g, q), type_string(g, k), type_string(g, v));
  return {};
}

// bool[M, T]: query m sees the keys up to its own position, the last query being aligned with the
// last key, so that a single query over a cache of keys sees all of them.
Node1 causal_mask(Graph& g, Sym m, Sym t) {
  Node iota;
  iota.op = Op::iota;
  iota.shape = {m, t};
  iota.ints = {1};
  OST_NODE(key, g.add(iota));
  iota.ints = {0};
  OST_NODE(query, g.add(iota));
  OST_NODE(offset, size_value(g, t - m, DType::i64));
  OST_NODE(limit, binary(g, Op::add, query, offset));
  return binary(g, Op::le, key, limit);
}

Result<std::optional<NodeId>> whole_mask(Graph& g, Sym m, Sym t, std::optional<NodeId> mask,
                                         bool causal) {
  if (!causal) return mask;
  OST_NODE(triangle, causal_mask(g, m, t));
  if (!mask) return std::optional(triangle);
  OST_NODE(both, binary(g, Op::bit_and, *mask, triangle));
  return std::optional(both);
}

// All operands with the same batch axes.
Result<Operands> widen(Graph& g, Operands o) {
  Shape batch;
  const auto merge = [&](NodeId x) -> Result<> {
    const Shape& shape = shape_of(g, x);
    const size_t drop = std::min<size_t>(2, shape.size());
    auto merged = broadcast_shapes(batch, std::span(shape).first(shape.size() - drop));
    if (!merged) return std::unexpected(merged.error().in("attention: batch axes"));
    batch = std::move(*merged);
    return {};
  };
  for (const NodeId x : {o.q, o.k, o.v}) OST_TRY(merge(x));
  if (o.mask) OST_TRY(merge(*o.mask));
  if (o.bias) OST_TRY(merge(*o.bias));
  const auto fit = [&](NodeId x, Sym rows, Sym columns) {
    Shape shape = batch;
    shape.push_back(std::move(rows));
    shape.push_back(std::move(columns));
    return broadcast_to(g, x, std::move(shape));
  };
  const Sym m = *(shape_of(g, o.q).end() - 2), t = *(shape_of(g, o.k).end() - 2);
  const Sym d = shape_of(g, o.q).back(), c = shape_of(g, o.v).back();
  OST_TRY_ASSIGN(o.q, fit(o.q, m, d));
  OST_TRY_ASSIGN(o.k, fit(o.k, t, d));
  OST_TRY_ASSIGN(o.v, fit(o.v, t, c));
  for (auto* x : {&o.mask, &o.bias}) {
    if (!*x) continue;
    auto wide = fit(**x, m, t);
    if (!wide) return std::unexpected(wide.error().in("attention: mask"));
    *x = *wide;
  }
  return o;
}

// f64 has no attention kernel: the parts one by one.
Node1 plain_attention(Graph& g, const Operands& o, double scale) {
  OST_NODE(turned, transpose(g, o.k));
  OST_NODE(scores, matmul(g, o.q, turned));
  OST_NODE(factor, full(g, DType::f64, {}, scale));
  OST_TRY_ASSIGN(NodeId weights, binary(g, Op::mul, scores, factor));
  if (o.bias) {
    OST_TRY_ASSIGN(weights, binary(g, Op::add, weights, *o.bias));
  }
  if (o.mask) {
    OST_NODE(hidden, full(g, DType::f64, {}, -HUGE_VAL));
    OST_TRY_ASSIGN(weights, where(g, *o.mask, weights, hidden));
  }
  OST_TRY_ASSIGN(weights, softmax(g, weights, -1));
  if (o.mask) {  // a query that sees no key gives 0
    OST_NODE(some, any(g, *o.mask, {-1}, true));
    OST_NODE(zero, full(g, DType::f64, {}, 0));
    OST_TRY_ASSIGN(weights, where(g, some, weights, zero));
  }
  return matmul(g, weights, o.v);
}

}  // namespace

Node1 attention(Graph& g, NodeId q, NodeId k, NodeId v, std::optional<NodeId> mask,
                std::optional<double> scale, bool causal) {
  OST_TRY(check_attention(g, q, k, v));
  const auto depth = shape_of(g, q).back().constant();
  if (!scale && (!depth || *depth == 0))
    return bad("attention",
               "q is {}; the default scale 1/sqrt(D) needs a constant D above 0, wanted scale=",
               type_string(g, q));
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(*depth));
  const DType type = promote(promote(dtype_of(g, q), dtype_of(g, k)), dtype_of(g, v));
  const DType result_type = float_type(type);
  Operands o{q, k, v, {}, {}};
  if (mask && dtype_of(g, *mask) != DType::boolean) {  // added to the scores
    if (!is_float(dtype_of(g, *mask)))
      return bad("attention",
                 "the mask is {}, wanted bool (true: the key is seen) or a float (added to the "
                 "score)",
                 type_string(g, *mask));
    OST_TRY_ASSIGN(o.bias, cast(g, *mask, compute_type(type)));
    mask = {};
  }
  OST_TRY_ASSIGN(o.mask, whole_mask(g, *(shape_of(g, q).end() - 2), *(shape_of(g, k).end() - 2),
                                    mask, causal));
  for (NodeId* x : {&o.q, &o.k, &o.v}) {
    OST_TRY_ASSIGN(*x, cast(g, *x, compute_type(type)));
  }
  OST_TRY_ASSIGN(o, widen(g, o));
  if (compute_type(type) == DType::f64) return plain_attention(g, o, factor);
  Node node;
  node.op = Op::attention;
  if (!o.mask) {  // every key is seen
    Shape all = shape_of(g, o.q);
    all.back() = *(shape_of(g, o.k).end() - 2);
    OST_TRY_ASSIGN(o.mask, full(g, DType::boolean, std::move(all), 1));
  }
  node.inputs = {o.q, o.k, o.v, *o.mask};
  if (o.bias) node.inputs.push_back(*o.bias);
  node.bits = std::bit_cast<uint32_t>(static_cast<float>(factor));
  OST_NODE(result, g.add(std::move(node)));
  return cast(g, result, result_type);
}

}  // namespace ost::ir
