// Products, attention, and access by index.
#include <array>

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

// One number for both axes, or two.
Result<std::array<int64_t, 2>> pair(Call& call, std::string_view name, int64_t otherwise) {
  if (!call.has(name)) return std::array{otherwise, otherwise};
  OST_TRY_ASSIGN(const auto values, call.integers(name));
  if (values.empty() || values.size() > 2)
    return call.fail("'{}' has {} numbers, wanted one or two", name, values.size());
  return std::array{values[0], values.back()};
}

Result<ir::Sliding> sliding(Call& call, std::array<int64_t, 2> stride) {
  ir::Sliding s;
  s.stride = stride;
  OST_TRY_ASSIGN(s.before, pair(call, "padding", 0));
  s.after = s.before;
  return s;
}

Result<Value> conv2d(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const NodeId weight, call.tensor("weight"));
  OST_TRY_ASSIGN(const auto bias, call.maybe_tensor("bias"));
  OST_TRY_ASSIGN(const auto stride, pair(call, "stride", 1));
  OST_TRY_ASSIGN(auto how, sliding(call, stride));
  OST_TRY_ASSIGN(how.dilation, pair(call, "dilation", 1));
  OST_TRY_ASSIGN(const int64_t groups, call.integer("groups", 1));
  return call.done(ir::conv2d(call.graph(), x, weight, bias, how, groups));
}

template <bool max>
Result<Value> pool2d(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const auto size, pair(call, "size", 1));
  auto stride = size;
  if (call.has("stride")) {
    OST_TRY_ASSIGN(stride, pair(call, "stride", 1));
  }
  OST_TRY_ASSIGN(auto how, sliding(call, stride));
  if constexpr (max) {
    OST_TRY_ASSIGN(how.dilation, pair(call, "dilation", 1));
    return call.done(ir::max_pool2d(call.graph(), x, size, how));
  } else {
    OST_TRY_ASSIGN(const bool count, call.flag("count_padding", true));
    return call.done(ir::avg_pool2d(call.graph(), x, size, how, count));
  }
}

constexpr Function kFunctions[] = {
    {"matmul", "matmul(a, b, dtype=none)", matmul},
    {"dot", "dot(a, b)", dot},
    {"linear", "linear(x, weight, bias=none)", linear},
    {"attention", "attention(q, k, v, mask=none, scale=none, causal=false)", attention},
    {"conv2d", "conv2d(x, weight, bias=none, stride=1, padding=0, dilation=1, groups=1)", conv2d},
    {"max_pool2d", "max_pool2d(x, size, stride=none, padding=0, dilation=1)", pool2d<true>},
    {"avg_pool2d", "avg_pool2d(x, size, stride=none, padding=0, count_padding=true)",
     pool2d<false>},
    {"gather", "gather(data, index, axis=0)", gather},
    {"take", "take(data, index, axis=0)", gather},
    {"scatter", "scatter(base, index, updates, axis=0)", scatter<false>},
    {"scatter_add", "scatter_add(base, index, updates, axis=0)", scatter<true>},
};

}  // namespace

std::span<const Function> matrix_functions() { return kFunctions; }

}  // namespace ost::dsl
