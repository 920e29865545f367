// Softmax and normalisations as the graphs that define them (docs/numerics.md). Halves and integers
// compute in f32; the result is rounded once to the operand's type.
#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;

namespace {

Node1 like(Graph& g, NodeId x, double value) {
  return full(g, dtype_of(g, x), shape_of(g, x), value);
}

// An operation of two operands that already have one type.
Node1 op2(Graph& g, Op op, NodeId a, NodeId b) { return binary(g, op, a, b); }

// A scalar is a row of one element.
struct Row {
  NodeId x;
  int64_t axis;
};
Result<Row> row_of(Graph& g, std::string_view what, NodeId x, int64_t axis) {
  OST_NODE(wide, cast(g, x, compute_type(dtype_of(g, x))));
  if (rank_of(g, x) == 0) {
    if (axis != 0 && axis != -1) return bad(what, "axis {} of a scalar; wanted 0 or -1", axis);
    OST_NODE(row, reshape(g, wide, {Sym(1)}));
    return Row{row, 0};
  }
  OST_TRY_ASSIGN(const size_t at, axis_of(what, g, x, axis));
  return Row{wide, static_cast<int64_t>(at)};
}

Node1 back_to(Graph& g, NodeId result, NodeId x) {
  OST_NODE(shaped, reshape(g, result, shape_of(g, x)));
  return cast(g, shaped, float_type(dtype_of(g, x)));
}

// The maximum along the row; over a row of no elements there is nothing to shift, and nothing is.
Node1 row_max(Graph& g, const Row& row) {
  if (shape_of(g, row.x)[row.axis] == Sym(0)) {
    Shape shape = shape_of(g, row.x);
    shape[row.axis] = 1;
    return full(g, dtype_of(g, row.x), std::move(shape), 0);
  }
  return reduce(g, Op::max, row.x, {row.axis}, true);
}

}  // namespace

// m = max, e = exp(x - m), s = sum(e), y = e * (1 / s): one division a row.
Node1 softmax(Graph& g, NodeId x, int64_t axis) {
  OST_TRY_ASSIGN(const Row row, row_of(g, "softmax", x, axis));
  OST_NODE(m, row_max(g, row));
  OST_NODE(d, op2(g, Op::sub, row.x, m));
  OST_NODE(e, unary(g, Op::exp, d));
  OST_NODE(s, reduce(g, Op::sum, e, {row.axis}, true));
  OST_NODE(one, like(g, s, 1));
  OST_NODE(r, op2(g, Op::div, one, s));
  OST_NODE(y, op2(g, Op::mul, e, r));
  return back_to(g, y, x);
}

// d = x - max, y = d - log(sum(exp(d))).
Node1 log_softmax(Graph& g, NodeId x, int64_t axis) {
  OST_TRY_ASSIGN(const Row row, row_of(g, "log_softmax", x, axis));
  OST_NODE(m, row_max(g, row));
  OST_NODE(d, op2(g, Op::sub, row.x, m));
  OST_NODE(e, unary(g, Op::exp, d));
  OST_NODE(s, reduce(g, Op::sum, e, {row.axis}, true));
  OST_NODE(l, unary(g, Op::log, s));
  OST_NODE(y, op2(g, Op::sub, d, l));
  return back_to(g, y, x);
}

// m = max where finite, else 0; y = m + log(sum(exp(x - m))): rows of -inf give -inf, a +inf gives
// +inf.
Node1 logsumexp(Graph& g, NodeId x, int64_t axis, bool keepdims) {
  OST_TRY_ASSIGN(const Row row, row_of(g, "logsumexp", x, axis));
  OST_NODE(top, row_max(g, row));
  OST_NODE(size, unary(g, Op::abs, top));
  OST_NODE(infinity, like(g, top, HUGE_VAL));
  OST_NODE(infinite, op2(g, Op::eq, size, infinity));
  OST_NODE(zero, like(g, top, 0));
  OST_NODE(m, where(g, infinite, zero, top));
  OST_NODE(d, op2(g, Op::sub, row.x, m));
  OST_NODE(e, unary(g, Op::exp, d));
  OST_NODE(s, reduce(g, Op::sum, e, {row.axis}, true));
  OST_NODE(l, unary(g, Op::log, s));
  OST_NODE(y, op2(g, Op::add, l, m));
  Shape shape = rank_of(g, x) == 0 ? Shape{} : shape_of(g, y);
  if (!keepdims && !shape.empty()) shape.erase(shape.begin() + row.axis);
  OST_NODE(shaped, reshape(g, y, std::move(shape)));
  return cast(g, shaped, float_type(dtype_of(g, x)));
}

namespace {

// Sum of squares along the last axis, kept as 1: a contraction of each row with itself, one fma an
// element, tree order.
Node1 squares(Graph& g, NodeId x) {
  Shape rows = shape_of(g, x);
  rows.insert(rows.end() - 1, Sym(1));
  OST_NODE(row, reshape(g, x, std::move(rows)));
  Node node;
  node.op = Op::contract;
  node.inputs = {row, row};
  node.order = kir::Order::tree;
  OST_NODE(sum, g.add(std::move(node)));
  return squeeze(g, sum, -1);
}

// rsqrt(s / n + eps).
Node1 inverse_deviation(Graph& g, NodeId s, Sym n, double eps) {
  OST_NODE(count, size_value(g, std::move(n), dtype_of(g, s)));
  OST_NODE(mean, op2(g, Op::div, s, count));
  OST_NODE(small, like(g, mean, eps));
  OST_NODE(shifted, op2(g, Op::add, mean, small));
  return unary(g, Op::rsqrt, shifted);
}

Result<NodeId> row_operand(std::string_view what, const Graph& g, NodeId x) {
  if (rank_of(g, x) == 0)
    return bad(what, "operand is {}, wanted rank 1 or more", type_string(g, x));
  return x;
}

// A scale or shift in the type of computation, broadcast to x; it may not make x larger.
Node1 parameter(Graph& g, std::string_view what, std::string_view name, NodeId p, NodeId x) {
  OST_NODE(typed, cast(g, p, dtype_of(g, x)));
  auto wide = broadcast_to(g, typed, shape_of(g, x));
  if (!wide)
    return bad(what, "{} is {}, which does not broadcast to {}", name, type_string(g, p),
               type_string(g, x));
  return wide;
}

}  // namespace

// mean = sum(x)/n, d = x - mean, r = rsqrt(sum(d d)/n + eps), y = fma(d r, gamma, beta).
Node1 layernorm(Graph& g, NodeId x, std::optional<NodeId> gamma, std::optional<NodeId> beta,
                double eps) {
  OST_TRY(row_operand("layernorm", g, x));
  const Sym n = shape_of(g, x).back();
  OST_NODE(wide, cast(g, x, compute_type(dtype_of(g, x))));
  OST_NODE(mu, mean(g, wide, {-1}, true));
  OST_NODE(d, op2(g, Op::sub, wide, mu));
  OST_NODE(s, squares(g, d));
  OST_NODE(r, inverse_deviation(g, s, n, eps));
  OST_TRY_ASSIGN(NodeId y, op2(g, Op::mul, d, r));
  std::optional<NodeId> scale, shift;
  if (gamma) {
    OST_TRY_ASSIGN(scale, parameter(g, "layernorm", "gamma", *gamma, y));
  }
  if (beta) {
    OST_TRY_ASSIGN(shift, parameter(g, "layernorm", "beta", *beta, y));
  }
  if (scale && shift) {
    OST_TRY_ASSIGN(y, make(g, Op::fma, {y, *scale, *shift}));
  } else if (scale) {
    OST_TRY_ASSIGN(y, make(g, Op::mul, {y, *scale}));
  } else if (shift) {
    OST_TRY_ASSIGN(y, make(g, Op::add, {y, *shift}));
  }
  return back_to(g, y, x);
}

// r = rsqrt(sum(x x)/n + eps), y = (x r) gamma.
Node1 rmsnorm(Graph& g, NodeId x, std::optional<NodeId> gamma, double eps) {
  OST_TRY(row_operand("rmsnorm", g, x));
  OST_NODE(wide, cast(g, x, compute_type(dtype_of(g, x))));
  OST_NODE(s, squares(g, wide));
  OST_NODE(r, inverse_deviation(g, s, shape_of(g, x).back(), eps));
  OST_TRY_ASSIGN(NodeId y, op2(g, Op::mul, wide, r));
  if (gamma) {
    OST_NODE(scale, parameter(g, "rmsnorm", "gamma", *gamma, y));
    OST_TRY_ASSIGN(y, make(g, Op::mul, {y, scale}));
  }
  return back_to(g, y, x);
}

}  // namespace ost::ir
