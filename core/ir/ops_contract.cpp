// Matrix products, and with them the choice of their order tag: `tree` where both operands contract
// their last axis and one of them is a single row, `blk256` otherwise. The choice looks at logical
// axes, never at values or layout.
#include <algorithm>

#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;
using kir::Order;

namespace {

// The type in which a product accumulates, and that of its result.
struct Types {
  DType compute, result;
};

Types product_types(DType type, std::optional<DType> acc) {
  if (acc) return {*acc, *acc};
  if (type == DType::boolean) return {DType::i32, DType::boolean};
  return {is_half(type) ? DType::f32 : type, type};
}

Node1 contract(Graph& g, NodeId a, NodeId b, Order order, Shape result, Types types) {
  Node node;
  node.op = Op::contract;
  node.inputs = {a, b};
  node.order = is_float(types.compute) ? order : Order::any;
  OST_NODE(product, g.add(std::move(node)));
  OST_NODE(shaped, reshape(g, product, std::move(result)));
  return cast(g, shaped, types.result);
}

Shape leading(const Shape& shape, size_t drop) {
  return Shape(shape.begin(), shape.end() - static_cast<ptrdiff_t>(drop));
}

std::unexpected<Error> inner_mismatch(std::string_view what, const Graph& g, NodeId a, NodeId b) {
  const Shape& y = shape_of(g, b);
  const bool vector = y.size() == 1;
  return bad(what,
             "inner sizes differ: a is {}, b is {}; wanted a's last axis ({}) to equal b's {} ({})",
             type_string(g, a), type_string(g, b), shape_of(g, a).back().str(),
             vector ? "only axis" : "second-last", (vector ? y[0] : y[y.size() - 2]).str());
}

Result<> check_product(std::string_view what, const Graph& g, NodeId a, NodeId b) {
  if (rank_of(g, a) == 0 || rank_of(g, b) == 0)
    return bad(what, "a is {}, b is {}; wanted rank 1 or more, use * for scalars",
               type_string(g, a), type_string(g, b));
  const Shape& y = shape_of(g, b);
  if (!(shape_of(g, a).back() == y[y.size() == 1 ? 0 : y.size() - 2]))
    return inner_mismatch(what, g, a, b);
  return {};
}

// a[..., K] with all leading axes as rows against b[N, K]. The result's shape is a's leading axes
// and then `tail`.
Node1 rows_product(Graph& g, NodeId a, NodeId b, Order order, const Shape& tail, Types types) {
  Shape result = leading(shape_of(g, a), 1);
  const Sym rows = numel(result);
  OST_NODE(flat, reshape(g, a, {rows, shape_of(g, a).back()}));
  result.insert(result.end(), tail.begin(), tail.end());
  return contract(g, flat, b, order, std::move(result), types);
}

// a[..., M, K] . b[..., K, N] with batch axes that broadcast.
Node1 batched_product(Graph& g, NodeId a, NodeId b, Types types) {
  auto batch = broadcast_shapes(leading(shape_of(g, a), 2), leading(shape_of(g, b), 2));
  if (!batch) return std::unexpected(batch.error().in("matmul: batch axes"));
  OST_NODE(turned, transpose(g, b));
  const auto widen = [&](NodeId x) {
    Shape shape = *batch;
    shape.insert(shape.end(), shape_of(g, x).end() - 2, shape_of(g, x).end());
    return broadcast_to(g, x, std::move(shape));
  };
  OST_NODE(wide_a, widen(a));
  OST_NODE(wide_b, widen(turned));
  Shape result = shape_of(g, wide_a);
  result.back() = shape_of(g, b).back();
  return contract(g, wide_a, wide_b, Order::blk256, std::move(result), types);
}

Result<Pair> cast_both(Graph& g, NodeId a, NodeId b, DType type) {
  OST_NODE(x, cast(g, a, type));
  OST_NODE(y, cast(g, b, type));
  return Pair{x, y};
}

}  // namespace

Node1 matmul(Graph& g, NodeId a, NodeId b, std::optional<DType> acc) {
  OST_TRY(check_product("matmul", g, a, b));
  const Types types = product_types(promote(dtype_of(g, a), dtype_of(g, b)), acc);
  if (types.compute == DType::boolean || is_half(types.compute))
    return bad("matmul", "accumulator type {}; wanted an integer type, f32 or f64",
               name_of(types.compute));
  OST_TRY_ASSIGN(const Pair pair, cast_both(g, a, b, types.compute));
  const Shape& y = shape_of(g, pair.b);
  if (y.size() == 1) {  // both contract their last axis and N = 1
    OST_NODE(row, reshape(g, pair.b, {Sym(1), y[0]}));
    return rows_product(g, pair.a, row, Order::tree, {}, types);
  }
  if (y.size() == 2) {  // one b for all rows of a
    OST_NODE(turned, transpose(g, pair.b));
    return rows_product(g, pair.a, turned, Order::blk256, {shape_of(g, turned)[0]}, types);
  }
  if (rank_of(g, pair.a) > 1) return batched_product(g, pair.a, pair.b, types);
  OST_NODE(row, unsqueeze(g, pair.a, 0));
  OST_NODE(product, batched_product(g, row, pair.b, types));
  return squeeze(g, product, -2);
}

Node1 dot(Graph& g, NodeId a, NodeId b) {
  if (rank_of(g, a) == 0 || rank_of(g, b) == 0) return binary(g, Op::mul, a, b);
  if (rank_of(g, b) <= 2) {
    auto product = matmul(g, a, b);
    if (!product && product.error().message.starts_with("matmul: "))
      product.error().message = "dot: " + product.error().message.substr(8);
    return product;
  }
  // NumPy: the sum over a's last and b's second-last axis, for all pairs of the other indices.
  OST_TRY(check_product("dot", g, a, b));
  const Types types = product_types(promote(dtype_of(g, a), dtype_of(g, b)), {});
  OST_TRY_ASSIGN(const Pair pair, cast_both(g, a, b, types.compute));
  OST_NODE(turned, transpose(g, pair.b));
  Shape tail = leading(shape_of(g, turned), 1);
  OST_NODE(flat, reshape(g, turned, {numel(tail), shape_of(g, turned).back()}));
  return rows_product(g, pair.a, flat, Order::blk256, tail, types);
}

Node1 linear(Graph& g, NodeId x, NodeId weight, std::optional<NodeId> bias) {
  if (rank_of(g, weight) != 2 || rank_of(g, x) == 0)
    return bad("linear", "x is {}, the weight is {}; wanted x[..., K] and weight[N, K]",
               type_string(g, x), type_string(g, weight));
  const Shape w = shape_of(g, weight);
  if (!(shape_of(g, x).back() == w[1]))
    return bad("linear",
               "inner sizes differ: x is {}, the weight is {}; wanted x's last axis ({}) to equal "
               "the weight's ({})",
               type_string(g, x), type_string(g, weight), shape_of(g, x).back().str(), w[1].str());
  const DType type = promote(dtype_of(g, x), dtype_of(g, weight));
  const Types types = product_types(type, {});
  OST_TRY_ASSIGN(const Pair pair, cast_both(g, x, weight, types.compute));
  const bool single = numel(leading(shape_of(g, x), 1)) == Sym(1) || w[0] == Sym(1);
  OST_NODE(product,
           rows_product(g, pair.a, pair.b, single ? Order::tree : Order::blk256, {w[0]}, types));
  if (!bias) return product;
  auto sum = binary(g, Op::add, product, *bias);
  if (!sum) return std::unexpected(sum.error().in("linear: bias"));
  return sum;
}

}  // namespace ost::ir
