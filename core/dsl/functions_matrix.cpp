// Products, attention, and access by index.
#include "core/dsl/functions.hpp"

namespace ost::dsl {
namespace {

using ir::NodeId;

Result<Value> matmul(Call& call) {
  OST_TRY_ASSIGN(const NodeId a, call.tensor("a"));
  OST_TRY_ASSIGN(const NodeId b, call.tensor("b"));
  std::optional<DType> acc;
  if (call.has("dtype")) {
    OST_TRY_ASSIGN(acc, call.dtype("dtype"));
  }
  return call.done(ir::matmul(call.graph(), a, b, acc));
}

Result<Value> dot(Call& call) {
  OST_TRY_ASSIGN(const NodeId a, call.tensor("a"));
  OST_TRY_ASSIGN(const NodeId b, call.tensor("b"));
  return call.done(ir::dot(call.graph(), a, b));
}

Result<Value> linear(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const NodeId weight, call.tensor("weight"));
  OST_TRY_ASSIGN(const auto bias, call.maybe_tensor("bias"));
  return call.done(ir::linear(call.graph(), x, weight, bias));
}

Result<Value> attention(Call& call) {
  OST_TRY_ASSIGN(const NodeId q, call.tensor("q"));
  OST_TRY_ASSIGN(const NodeId k, call.tensor("k"));
  OST_TRY_ASSIGN(const NodeId v, call.tensor("v"));
  OST_TRY_ASSIGN(const auto mask, call.maybe_tensor("mask"));
  OST_TRY_ASSIGN(const bool causal, call.flag("causal", false));
  std::optional<double> scale;
  if (call.has("scale")) {
    OST_TRY_ASSIGN(scale, call.number("scale"));
  }
  return call.done(ir::attention(call.graph(), q, k, v, mask, scale, causal));
}

Result<Value> gather(Call& call) {
  OST_TRY_ASSIGN(const NodeId data, call.tensor("data"));
  OST_TRY_ASSIGN(const NodeId index, call.tensor("index"));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", 0));
  return call.done(ir::gather(call.graph(), data, index, axis));
}

template <bool add>
Result<Value> scatter(Call& call) {
  OST_TRY_ASSIGN(const NodeId base, call.tensor("base"));
  OST_TRY_ASSIGN(const NodeId index, call.tensor("index"));
  OST_TRY(call.tensor("updates"));
  OST_TRY_ASSIGN(const NodeId updates,
                 call.emitter.node_like(*call.find("updates"), call.graph().node(base).dtype));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", 0));
  return call.done(ir::scatter(call.graph(), base, index, updates, axis, add));
}

constexpr Function kFunctions[] = {
    {"matmul", "matmul(a, b, dtype=none)", matmul},
    {"dot", "dot(a, b)", dot},
    {"linear", "linear(x, weight, bias=none)", linear},
    {"attention", "attention(q, k, v, mask=none, scale=none, causal=false)", attention},
    {"gather", "gather(data, index, axis=0)", gather},
    {"take", "take(data, index, axis=0)", gather},
    {"scatter", "scatter(base, index, updates, axis=0)", scatter<false>},
    {"scatter_add", "scatter_add(base, index, updates, axis=0)", scatter<true>},
};

}  // namespace

std::span<const Function> matrix_functions() { return kFunctions; }

}  // namespace ost::dsl
