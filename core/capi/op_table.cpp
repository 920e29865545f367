#include "core/capi/op_table.hpp"

#include <algorithm>
#include <array>

#include "core/capi/attrs.hpp"
#include "core/dsl/suggest.hpp"
#include "core/ir/ops.hpp"

namespace ost::capi {
namespace {

using ir::Node1;
using ir::NodeId;
using ir::Op;

struct Call {
  std::string_view name;
  ir::Graph& g;
  std::span<const NodeId> in;
  const Attrs& attrs;
  std::optional<NodeId> optional_input(size_t i) const {
    return i < in.size() ? std::optional(in[i]) : std::nullopt;
  }
};

struct Entry {
  const char* name;
  uint32_t min_inputs, max_inputs;
  const char* attrs;
  Node1 (*make)(const Call&);
};

constexpr uint32_t kAnyNumber = UINT32_MAX;

// Operations of one name in the graph and here.
Node1 unary(const Call& c) { return ir::unary(c.g, *ir::op_from_name(c.name), c.in[0]); }
Node1 binary(const Call& c) { return ir::binary(c.g, *ir::op_from_name(c.name), c.in[0], c.in[1]); }

Node1 reduce(const Call& c) {
  OST_TRY_ASSIGN(auto axes, c.attrs.ints("axes"));
  OST_TRY_ASSIGN(const bool keep, c.attrs.flag("keepdims"));
  if (c.name == "mean") return ir::mean(c.g, c.in[0], std::move(axes), keep);
  if (c.name == "any") return ir::any(c.g, c.in[0], std::move(axes), keep);
  if (c.name == "all") return ir::all(c.g, c.in[0], std::move(axes), keep);
  return ir::reduce(c.g, *ir::op_from_name(c.name), c.in[0], std::move(axes), keep);
}

Node1 argreduce(const Call& c) {
  std::optional<int64_t> axis;
  if (c.attrs.has("axis")) {
    OST_TRY_ASSIGN(axis, c.attrs.integer("axis"));
  }
  OST_TRY_ASSIGN(const bool keep, c.attrs.flag("keepdims"));
  return ir::argreduce(c.g, *ir::op_from_name(c.name), c.in[0], axis, keep);
}

Node1 full(const Call& c) {
  OST_TRY_ASSIGN(const DType dtype, c.attrs.dtype("dtype"));
  OST_TRY_ASSIGN(auto shape, c.attrs.shape("shape"));
  if (c.attrs.is_integer("value") && !is_float(dtype)) {
    OST_TRY_ASSIGN(const int64_t value, c.attrs.integer("value"));
    return ir::full_int(c.g, dtype, std::move(shape), value);
  }
  OST_TRY_ASSIGN(const double value, c.attrs.number("value"));
  return ir::full(c.g, dtype, std::move(shape), value);
}

Node1 arange(const Call& c) {
  OST_TRY_ASSIGN(const auto count, c.attrs.shape("count"));
  if (count.size() != 1)
    return fail(OST_INVALID_ARGUMENT, "arange: count has {} dimensions, wanted 1", count.size());
  return ir::arange(c.g, count[0]);
}

Node1 slice(const Call& c) {
  OST_TRY_ASSIGN(const auto starts, c.attrs.positions("starts"));
  OST_TRY_ASSIGN(const auto stops, c.attrs.positions("stops"));
  OST_TRY_ASSIGN(const auto steps, c.attrs.ints("steps"));
  std::vector<ir::Slice> slices(std::max({starts.size(), stops.size(), steps.size()}));
  for (size_t d = 0; d < slices.size(); ++d) {
    if (d < starts.size()) slices[d].start = starts[d];
    if (d < stops.size()) slices[d].stop = stops[d];
    if (d < steps.size()) slices[d].step = steps[d];
  }
  return ir::slice(c.g, c.in[0], slices);
}

Node1 pad(const Call& c) {
  OST_TRY_ASSIGN(const auto before, c.attrs.shape("before"));
  OST_TRY_ASSIGN(const auto after, c.attrs.shape("after"));
  OST_TRY_ASSIGN(const double value, c.attrs.number("value", 0));
  if (before.size() != after.size()) {
    return fail(OST_INVALID_ARGUMENT, "pad: before has {} dimensions, after {}", before.size(),
                after.size());
  }
  std::vector<std::pair<Sym, Sym>> widths;
  for (size_t d = 0; d < before.size(); ++d) widths.emplace_back(before[d], after[d]);
  return ir::pad(c.g, c.in[0], widths, value);
}

Node1 fma(const Call& c) {
  DType type = c.g.node(c.in[0]).dtype;
  Shape shape = c.g.node(c.in[0]).shape;
  for (const NodeId x : c.in.subspan(1)) {
    type = ir::promote(type, c.g.node(x).dtype);
    OST_TRY_ASSIGN(shape, ir::broadcast_shapes(shape, c.g.node(x).shape));
  }
  ir::Node node;
  node.op = Op::fma;
  for (const NodeId x : c.in) {
    OST_TRY_ASSIGN(const NodeId same_type, ir::cast(c.g, x, type));
    OST_TRY_ASSIGN(node.inputs.emplace_back(), ir::broadcast_to(c.g, same_type, shape));
  }
  return c.g.add(std::move(node));
}

Node1 bitcast(const Call& c) {
  ir::Node node;
  node.op = Op::bitcast;
  node.inputs = {c.in[0]};
  OST_TRY_ASSIGN(node.dtype, c.attrs.dtype("dtype"));
  node.shape = c.g.node(c.in[0]).shape;
  return c.g.add(std::move(node));
}

Node1 matmul(const Call& c) {
  std::optional<DType> acc;
  if (c.attrs.has("acc")) {
    OST_TRY_ASSIGN(acc, c.attrs.dtype("acc"));
  }
  return ir::matmul(c.g, c.in[0], c.in[1], acc);
}

Node1 attention(const Call& c) {
  std::optional<double> scale;
  if (c.attrs.has("scale")) {
    OST_TRY_ASSIGN(scale, c.attrs.number("scale"));
  }
  OST_TRY_ASSIGN(const bool causal, c.attrs.flag("causal"));
  return ir::attention(c.g, c.in[0], c.in[1], c.in[2], c.optional_input(3), scale, causal);
}

Node1 scatter(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis", 0));
  return ir::scatter(c.g, c.in[0], c.in[1], c.in[2], axis, c.name == "scatter_add");
}

// {"stride", {2, 2}}: one number for both axes, or two.
Result<std::array<int64_t, 2>> pair(const Call& c, std::string_view name,
                                    std::array<int64_t, 2> otherwise) {
  if (!c.attrs.has(name)) return otherwise;
  OST_TRY_ASSIGN(const auto values, c.attrs.ints(name));
  if (values.empty() || values.size() > 2)
    return fail(OST_INVALID_ARGUMENT, "{}: {} has {} numbers, wanted one or two", c.name, name,
                values.size());
  return std::array{values[0], values.back()};
}

// padding: one number for all sides, two for rows and columns, or four: top, left, bottom, right.
Result<ir::Sliding> sliding(const Call& c, std::array<int64_t, 2> stride) {
  ir::Sliding s;
  OST_TRY_ASSIGN(s.stride, pair(c, "stride", stride));
  OST_TRY_ASSIGN(s.dilation, pair(c, "dilation", {1, 1}));
  if (!c.attrs.has("padding")) return s;
  OST_TRY_ASSIGN(const auto p, c.attrs.ints("padding"));
  if (p.size() == 4) {
    s.before = {p[0], p[1]};
    s.after = {p[2], p[3]};
    return s;
  }
  OST_TRY_ASSIGN(s.before, pair(c, "padding", {0, 0}));
  s.after = s.before;
  return s;
}

Node1 conv2d(const Call& c) {
  OST_TRY_ASSIGN(const auto how, sliding(c, {1, 1}));
  OST_TRY_ASSIGN(const int64_t groups, c.attrs.integer("groups", 1));
  return ir::conv2d(c.g, c.in[0], c.in[1], c.optional_input(2), how, groups);
}

Node1 pool2d(const Call& c) {
  OST_TRY_ASSIGN(const auto size, pair(c, "size", {0, 0}));
  OST_TRY_ASSIGN(const auto how, sliding(c, size));
  if (c.name == "max_pool2d") return ir::max_pool2d(c.g, c.in[0], size, how);
  OST_TRY_ASSIGN(const int64_t count, c.attrs.integer("count_padding", 1));
  return ir::avg_pool2d(c.g, c.in[0], size, how, count != 0);
}

// Builders that take one axis.
template <auto kBuilder, int64_t kDefault>
Node1 along_axis(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis", kDefault));
  return kBuilder(c.g, c.in[0], axis);
}
template <auto kBuilder>
Node1 at_axis(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis"));
  return kBuilder(c.g, c.in[0], axis);
}
template <auto kBuilder>
Node1 of_two(const Call& c) {
  return kBuilder(c.g, c.in[0], c.in[1]);
}

Node1 window(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis"));
  OST_TRY_ASSIGN(const int64_t taps, c.attrs.integer("taps"));
  OST_TRY_ASSIGN(const int64_t stride, c.attrs.integer("stride", 1));
  OST_TRY_ASSIGN(const int64_t dilation, c.attrs.integer("dilation", 1));
  return ir::window(c.g, c.in[0], axis, taps, stride, dilation);
}

Node1 logsumexp(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis", -1));
  OST_TRY_ASSIGN(const bool keep, c.attrs.flag("keepdims"));
  return ir::logsumexp(c.g, c.in[0], axis, keep);
}

Node1 layernorm(const Call& c) {
  OST_TRY_ASSIGN(const double eps, c.attrs.number("eps", 1e-5));
  return ir::layernorm(c.g, c.in[0], c.optional_input(1), c.optional_input(2), eps);
}

Node1 rmsnorm(const Call& c) {
  OST_TRY_ASSIGN(const double eps, c.attrs.number("eps", 1e-6));
  return ir::rmsnorm(c.g, c.in[0], c.optional_input(1), eps);
}

Node1 assign(const Call& c) {
  OST_TRY_ASSIGN(auto starts, c.attrs.dims("starts"));
  return ir::assign(c.g, c.in[0], c.in[1], starts ? std::move(*starts) : Shape());
}

Node1 copy(const Call& c) {
  OST_TRY_ASSIGN(const int64_t device, c.attrs.integer("device"));
  if (device < 0 || device >= 256)
    return fail(OST_INVALID_ARGUMENT, "copy: device {}, wanted 0 to 255", device);
  return ir::copy_to(c.g, c.in[0], static_cast<uint32_t>(device));
}

Node1 permute(const Call& c) {
  OST_TRY_ASSIGN(auto axes, c.attrs.ints("axes"));
  return ir::permute(c.g, c.in[0], std::move(axes));
}

Node1 flip(const Call& c) {
  OST_TRY_ASSIGN(auto axes, c.attrs.ints("axes"));
  return ir::flip(c.g, c.in[0], std::move(axes));
}

Node1 reshape(const Call& c) {
  OST_TRY_ASSIGN(auto shape, c.attrs.shape("shape"));
  return c.name == "reshape" ? ir::reshape(c.g, c.in[0], std::move(shape))
                             : ir::broadcast_to(c.g, c.in[0], std::move(shape));
}

Node1 concat(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis", 0));
  return ir::concat(c.g, c.in, axis);
}

Node1 cast(const Call& c) {
  OST_TRY_ASSIGN(const DType dtype, c.attrs.dtype("dtype"));
  return ir::cast(c.g, c.in[0], dtype);
}

Node1 gather(const Call& c) {
  OST_TRY_ASSIGN(const int64_t axis, c.attrs.integer("axis", 0));
  return ir::gather(c.g, c.in[0], c.in[1], axis);
}

Node1 transpose(const Call& c) { return ir::transpose(c.g, c.in[0]); }
Node1 where(const Call& c) { return ir::where(c.g, c.in[0], c.in[1], c.in[2]); }
Node1 linear(const Call& c) { return ir::linear(c.g, c.in[0], c.in[1], c.optional_input(2)); }
Node1 greater(const Call& c) { return ir::binary(c.g, Op::lt, c.in[1], c.in[0]); }
Node1 greater_equal(const Call& c) { return ir::binary(c.g, Op::le, c.in[1], c.in[0]); }
Node1 trunc_div(const Call& c) { return ir::binary(c.g, Op::div, c.in[0], c.in[1]); }
Node1 trunc_mod(const Call& c) { return ir::binary(c.g, Op::rem, c.in[0], c.in[1]); }

// Sorted by name.
constexpr Entry kTable[] = {
    {"abs", 1, 1, "", unary},
    {"add", 2, 2, "", binary},
    {"all", 1, 1, "axes keepdims", reduce},
    {"any", 1, 1, "axes keepdims", reduce},
    {"arange", 0, 0, "count", arange},
    {"argmax", 1, 1, "axis keepdims", argreduce},
    {"argmin", 1, 1, "axis keepdims", argreduce},
    {"assign", 2, 2, "starts", assign},
    {"attention", 3, 4, "scale causal", attention},
    {"avg_pool2d", 1, 1, "size stride padding count_padding", pool2d},
    {"bit_and", 2, 2, "", binary},
    {"bit_not", 1, 1, "", unary},
    {"bit_or", 2, 2, "", binary},
    {"bit_xor", 2, 2, "", binary},
    {"bitcast", 1, 1, "dtype", bitcast},
    {"broadcast_to", 1, 1, "shape", reshape},
    {"cast", 1, 1, "dtype", cast},
    {"ceil", 1, 1, "", unary},
    {"concat", 1, kAnyNumber, "axis", concat},
    {"conv2d", 2, 3, "stride padding dilation groups", conv2d},
    {"copy", 1, 1, "device", copy},
    {"cos", 1, 1, "", unary},
    {"div", 2, 2, "", of_two<ir::true_divide>},
    {"dot", 2, 2, "", of_two<ir::dot>},
    {"eq", 2, 2, "", binary},
    {"erf", 1, 1, "", unary},
    {"exp", 1, 1, "", unary},
    {"exp2", 1, 1, "", unary},
    {"expm1", 1, 1, "", unary},
    {"flip", 1, 1, "axes", flip},
    {"floor", 1, 1, "", unary},
    {"floor_div", 2, 2, "", of_two<ir::floor_divide>},
    {"floor_mod", 2, 2, "", of_two<ir::floor_mod>},
    {"fma", 3, 3, "", fma},
    {"full", 0, 0, "dtype shape value", full},
    {"gather", 2, 2, "axis", gather},
    {"ge", 2, 2, "", greater_equal},
    {"gelu", 1, 1, "", unary},
    {"gt", 2, 2, "", greater},
    {"layernorm", 1, 3, "eps", layernorm},
    {"le", 2, 2, "", binary},
    {"linear", 2, 3, "", linear},
    {"log", 1, 1, "", unary},
    {"log1p", 1, 1, "", unary},
    {"log2", 1, 1, "", unary},
    {"log_softmax", 1, 1, "axis", along_axis<ir::log_softmax, -1>},
    {"logsumexp", 1, 1, "axis keepdims", logsumexp},
    {"lt", 2, 2, "", binary},
    {"matmul", 2, 2, "acc", matmul},
    {"max", 1, 1, "axes keepdims", reduce},
    {"max_pool2d", 1, 1, "size stride padding dilation", pool2d},
    {"maximum", 2, 2, "", binary},
    {"mean", 1, 1, "axes keepdims", reduce},
    {"min", 1, 1, "axes keepdims", reduce},
    {"minimum", 2, 2, "", binary},
    {"mul", 2, 2, "", binary},
    {"ne", 2, 2, "", binary},
    {"neg", 1, 1, "", unary},
    {"pad", 1, 1, "before after value", pad},
    {"permute", 1, 1, "axes", permute},
    {"pow", 2, 2, "", binary},
    {"prod", 1, 1, "axes keepdims", reduce},
    {"relu", 1, 1, "", unary},
    {"reshape", 1, 1, "shape", reshape},
    {"rmsnorm", 1, 2, "eps", rmsnorm},
    {"round", 1, 1, "", unary},
    {"rsqrt", 1, 1, "", unary},
    {"scatter", 3, 3, "axis", scatter},
    {"scatter_add", 3, 3, "axis", scatter},
    {"shl", 2, 2, "", binary},
    {"shr", 2, 2, "", binary},
    {"sigmoid", 1, 1, "", unary},
    {"sign", 1, 1, "", unary},
    {"silu", 1, 1, "", unary},
    {"sin", 1, 1, "", unary},
    {"slice", 1, 1, "starts stops steps", slice},
    {"softmax", 1, 1, "axis", along_axis<ir::softmax, -1>},
    {"sqrt", 1, 1, "", unary},
    {"squeeze", 1, 1, "axis", at_axis<ir::squeeze>},
    {"sub", 2, 2, "", binary},
    {"sum", 1, 1, "axes keepdims", reduce},
    {"tanh", 1, 1, "", unary},
    {"transpose", 1, 1, "", transpose},
    {"trunc", 1, 1, "", unary},
    {"trunc_div", 2, 2, "", trunc_div},
    {"trunc_mod", 2, 2, "", trunc_mod},
    {"unsqueeze", 1, 1, "axis", at_axis<ir::unsqueeze>},
    {"where", 3, 3, "", where},
    {"window", 1, 1, "axis taps stride dilation", window},
};
static_assert(std::ranges::is_sorted(kTable, {},
                                     [](const Entry& e) { return std::string_view(e.name); }));

std::string inputs_text(const Entry& e) {
  if (e.max_inputs == kAnyNumber) return fmt::format("at least {}", e.min_inputs);
  return e.min_inputs == e.max_inputs ? fmt::format("{}", e.min_inputs)
                                      : fmt::format("{} to {}", e.min_inputs, e.max_inputs);
}

}  // namespace

std::span<const char* const> op_names() {
  static const auto names = [] {
    std::array<const char*, std::size(kTable)> out{};
    std::ranges::transform(kTable, out.begin(), &Entry::name);
    return out;
  }();
  return names;
}

Result<NodeId> apply_op(ir::Graph& graph, std::string_view op, std::span<const NodeId> inputs,
                        std::span<const ost_attr_t> attrs, std::span<const Var> vars) {
  const Entry* entry = std::ranges::lower_bound(
      kTable, op, {}, [](const Entry& e) { return std::string_view(e.name); });
  if (entry == std::end(kTable) || entry->name != op) {
    const std::vector<std::string_view> names(op_names().begin(), op_names().end());
    return fail(OST_NOT_FOUND, "no operation '{}'{}; ost_op_at lists them", op,
                dsl::suggestion(op, names));
  }
  if (inputs.size() < entry->min_inputs || inputs.size() > entry->max_inputs) {
    return fail(OST_INVALID_ARGUMENT, "{}: {} inputs, wanted {}", op, inputs.size(),
                inputs_text(*entry));
  }
  const Attrs given(op, attrs, vars);
  OST_TRY(given.check(entry->attrs));
  return entry->make({op, graph, inputs, given});
}

}  // namespace ost::capi
