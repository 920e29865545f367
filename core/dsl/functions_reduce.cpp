// Reductions and normalisations.
#include "core/dsl/functions.hpp"

namespace ost::dsl {
namespace {

using ir::NodeId;
using ir::Op;

// f(graph, x, axes, keepdims). An axis=() that is given and empty reduces nothing, as in NumPy.
template <typename F>
Result<Value> over_axes(Call& call, F f) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(auto axes, call.integers("axis"));
  OST_TRY_ASSIGN(const bool keepdims, call.flag("keepdims", false));
  if (call.has("axis") && axes.empty())
    return call.fail("the tuple of axes is empty; leave axis= out to reduce over all");
  return call.done(f(call.graph(), x, std::move(axes), keepdims));
}

template <Op op>
Result<Value> reduction(Call& call) {
  return over_axes(call, [](ir::Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims) {
    return ir::reduce(g, op, x, std::move(axes), keepdims);
  });
}

Result<Value> mean(Call& call) { return over_axes(call, ir::mean); }
Result<Value> any(Call& call) { return over_axes(call, ir::any); }
Result<Value> all(Call& call) { return over_axes(call, ir::all); }

// The mean of (x - mean(x))^2. Halves compute in f32 and are rounded once.
ir::Node1 variance(ir::Graph& g, NodeId x, const std::vector<int64_t>& axes, bool keepdims,
                   bool root) {
  const DType type = g.node(x).dtype;
  const DType result = is_float(type) ? type : DType::f64;
  OST_TRY_ASSIGN(const NodeId wide, ir::cast(g, x, is_half(result) ? DType::f32 : result));
  OST_TRY_ASSIGN(const NodeId center, ir::mean(g, wide, axes, true));
  OST_TRY_ASSIGN(const NodeId d, ir::binary(g, Op::sub, wide, center));
  OST_TRY_ASSIGN(const NodeId squared, ir::binary(g, Op::mul, d, d));
  OST_TRY_ASSIGN(NodeId y, ir::mean(g, squared, axes, keepdims));
  if (root) {
    OST_TRY_ASSIGN(y, ir::unary(g, Op::sqrt, y));
  }
  return ir::cast(g, y, result);
}

template <bool root>
Result<Value> deviation(Call& call) {
  return over_axes(call, [](ir::Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims) {
    return variance(g, x, axes, keepdims, root);
  });
}

template <Op op>
Result<Value> arg(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  std::optional<int64_t> axis;
  if (call.has("axis")) {
    OST_TRY_ASSIGN(axis, call.integer("axis"));
  }
  OST_TRY_ASSIGN(const bool keepdims, call.flag("keepdims", false));
  return call.done(ir::argreduce(call.graph(), op, x, axis, keepdims));
}

template <ir::Node1 (*f)(ir::Graph&, NodeId, int64_t)>
Result<Value> along_axis(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", -1));
  return call.done(f(call.graph(), x, axis));
}

Result<Value> logsumexp(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", -1));
  OST_TRY_ASSIGN(const bool keepdims, call.flag("keepdims", false));
  return call.done(ir::logsumexp(call.graph(), x, axis, keepdims));
}

Result<Value> layernorm(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const auto gamma, call.maybe_tensor("gamma"));
  OST_TRY_ASSIGN(const auto beta, call.maybe_tensor("beta"));
  OST_TRY_ASSIGN(const double eps, call.number("eps", 1e-5));
  return call.done(ir::layernorm(call.graph(), x, gamma, beta, eps));
}

Result<Value> rmsnorm(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const auto gamma, call.maybe_tensor("gamma"));
  OST_TRY_ASSIGN(const double eps, call.number("eps", 1e-5));
  return call.done(ir::rmsnorm(call.graph(), x, gamma, eps));
}

constexpr Function kFunctions[] = {
    {"sum", "sum(x, axis=none, keepdims=false)", reduction<Op::sum>},
    {"prod", "prod(x, axis=none, keepdims=false)", reduction<Op::prod>},
    {"max", "max(x, axis=none, keepdims=false)", reduction<Op::max>},
    {"min", "min(x, axis=none, keepdims=false)", reduction<Op::min>},
    {"mean", "mean(x, axis=none, keepdims=false)", mean},
    {"any", "any(x, axis=none, keepdims=false)", any},
    {"all", "all(x, axis=none, keepdims=false)", all},
    {"var", "var(x, axis=none, keepdims=false)", deviation<false>},
    {"std", "std(x, axis=none, keepdims=false)", deviation<true>},
    {"argmax", "argmax(x, axis=none, keepdims=false)", arg<Op::argmax>},
    {"argmin", "argmin(x, axis=none, keepdims=false)", arg<Op::argmin>},
    {"softmax", "softmax(x, axis=-1)", along_axis<ir::softmax>},
    {"log_softmax", "log_softmax(x, axis=-1)", along_axis<ir::log_softmax>},
    {"logsumexp", "logsumexp(x, axis=-1, keepdims=false)", logsumexp},
    {"layernorm", "layernorm(x, gamma=none, beta=none, eps=1e-5)", layernorm},
    {"rmsnorm", "rmsnorm(x, gamma=none, eps=1e-5)", rmsnorm},
};

}  // namespace

std::span<const Function> reduce_functions() { return kFunctions; }

}  // namespace ost::dsl
