// Movements and sources.
#include <algorithm>

#include "core/dsl/functions.hpp"

namespace ost::dsl {
namespace {

using ir::NodeId;

// reshape(x, 2, 3) and reshape(x, (2, 3)).
Result<Value> reshape(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(Shape shape, call.shape("shape"));
  return call.done(ir::reshape(call.graph(), x, std::move(shape)));
}

Result<Value> expand(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(Shape shape, call.shape("shape"));
  return call.done(ir::broadcast_to(call.graph(), x, std::move(shape)));
}

// Without axes: all of them reversed, as NumPy's transpose does.
Result<Value> transpose(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(auto axes, call.integers("axes"));
  if (!call.has("axes"))
    for (size_t i = call.graph().node(x).shape.size(); i-- > 0;)
      axes.push_back(static_cast<int64_t>(i));
  return call.done(ir::permute(call.graph(), x, std::move(axes)));
}

Result<Value> squeeze(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis"));
  return call.done(ir::squeeze(call.graph(), x, axis));
}

Result<Value> unsqueeze(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis"));
  return call.done(ir::unsqueeze(call.graph(), x, axis));
}

Result<Value> flip(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(auto axes, call.integers("axis"));
  return call.done(ir::flip(call.graph(), x, std::move(axes)));
}

// widths as NumPy has them: ((before, after), ...) for each axis, (before, after) for all, or one
// number for all.
Result<Value> pad(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const double value, call.number("value", 0));
  const size_t rank = call.graph().node(x).shape.size();
  const Value& widths = *call.find("widths");
  std::vector<std::pair<Sym, Sym>> pairs;
  const Tuple* tuple = widths.as<Tuple>();
  const auto pair_of = [&](const Tuple& pair) -> std::optional<std::pair<Sym, Sym>> {
    if (pair.size() != 2 || !as_size(pair[0]) || !as_size(pair[1])) return std::nullopt;
    return std::pair(*as_size(pair[0]), *as_size(pair[1]));
  };
  if (const auto same = as_size(widths)) {
    pairs.assign(rank, {*same, *same});
  } else if (tuple && pair_of(*tuple)) {
    pairs.assign(rank, *pair_of(*tuple));
  } else if (tuple) {
    for (const Value& part : *tuple) {
      const auto pair = part.as<Tuple>() ? pair_of(*part.as<Tuple>()) : std::nullopt;
      if (!pair)
        return call.emitter.source.fail(part.position,
                                        "pad: wanted a pair (before, after), found {}",
                                        describe(call.graph(), part));
      pairs.push_back(*pair);
    }
  } else {
    return call.fail("'widths' is {}, wanted ((before, after), ...)",
                     describe(call.graph(), widths));
  }
  return call.done(ir::pad(call.graph(), x, pairs, value));
}

// concat(a, b, axis=0) and concat((a, b), axis=0).
Result<std::vector<NodeId>> parts_of(Call& call) {
  OST_TRY_ASSIGN(const auto values, call.values("parts"));
  return call.emitter.nodes_alike(values);
}

Result<Value> concat(Call& call) {
  OST_TRY_ASSIGN(const auto parts, parts_of(call));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", 0));
  return call.done(ir::concat(call.graph(), parts, axis));
}

Result<Value> stack(Call& call) {
  OST_TRY_ASSIGN(auto parts, parts_of(call));
  OST_TRY_ASSIGN(const int64_t axis, call.integer("axis", 0));
  for (NodeId& part : parts) {
    OST_TRY_ASSIGN(const Value one, call.done(ir::unsqueeze(call.graph(), part, axis)));
    part = one.as<Tensor>()->id;
  }
  return call.done(ir::concat(call.graph(), parts, axis));
}

// arange(n), arange(a, b), arange(a, b, step).
Result<Value> arange(Call& call) {
  ir::Graph& g = call.graph();
  OST_TRY_ASSIGN(Sym start, call.size("start"));
  Sym stop = start;
  if (call.has("stop")) {
    OST_TRY_ASSIGN(stop, call.size("stop"));
  } else {
    start = 0;
  }
  OST_TRY_ASSIGN(const int64_t step, call.integer("step", 1));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype", DType::i64));
  if (step == 0 || step == INT64_MIN) return call.fail("step {} is not allowed", step);
  const Sym length = step > 0 ? stop - start : start - stop;
  const Sym whole = provably_le(0, length) ? length : max(length, 0);
  OST_TRY_ASSIGN(const Value ramp,
                 call.done(ir::arange(g, ceildiv(whole, Sym(step > 0 ? step : -step)))));
  OST_TRY_ASSIGN(const Value scaled, call.emitter.binary("*", call.position, ramp,
                                                         Value{Number::of(step), call.position}));
  OST_TRY_ASSIGN(const Value moved,
                 call.emitter.binary("+", call.position, scaled, Value{start, call.position}));
  OST_TRY_ASSIGN(const NodeId id, call.emitter.node(step == 1 && start == Sym(0) ? ramp
                                                    : start == Sym(0)            ? scaled
                                                                                 : moved));
  return call.done(ir::cast(g, id, type));
}

// A value of any kind in a given shape and type.
Result<Value> filled(Call& call, Shape shape, DType type, const Value& value) {
  OST_TRY_ASSIGN(const NodeId scalar, call.emitter.node_like(value, type));
  OST_TRY_ASSIGN(const NodeId typed, ir::cast(call.graph(), scalar, type));
  return call.done(ir::broadcast_to(call.graph(), typed, std::move(shape)));
}

Result<Value> full(Call& call) {
  OST_TRY_ASSIGN(Shape shape, call.shape("shape"));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype", DType::f32));
  OST_TRY(call.tensor("value"));
  return filled(call, std::move(shape), type, *call.find("value"));
}

template <int value>
Result<Value> constant(Call& call) {
  OST_TRY_ASSIGN(Shape shape, call.shape("shape"));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype", DType::f32));
  return call.done(ir::full(call.graph(), type, std::move(shape), value));
}

template <int value>
Result<Value> constant_like(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  const ir::Node& like = call.graph().node(x);
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype", like.dtype));
  return call.done(ir::full(call.graph(), type, like.shape, value));
}

Result<Value> full_like(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype", call.graph().node(x).dtype));
  OST_TRY(call.tensor("value"));
  return filled(call, call.graph().node(x).shape, type, *call.find("value"));
}

constexpr Function kFunctions[] = {
    {"reshape", "reshape(x, *shape)", reshape},
    {"transpose", "transpose(x, *axes=none)", transpose},
    {"permute", "permute(x, *axes)", transpose},
    {"expand", "expand(x, *shape)", expand},
    {"broadcast_to", "broadcast_to(x, *shape)", expand},
    {"squeeze", "squeeze(x, axis)", squeeze},
    {"unsqueeze", "unsqueeze(x, axis)", unsqueeze},
    {"flip", "flip(x, axis=none)", flip},
    {"pad", "pad(x, widths, value=0)", pad},
    {"concat", "concat(*parts, axis=0)", concat},
    {"stack", "stack(*parts, axis=0)", stack},
    {"arange", "arange(start, stop=none, step=1, dtype=i64)", arange},
    {"full", "full(shape, value, dtype=f32)", full},
    {"zeros", "zeros(shape, dtype=f32)", constant<0>},
    {"ones", "ones(shape, dtype=f32)", constant<1>},
    {"full_like", "full_like(x, value, dtype=none)", full_like},
    {"zeros_like", "zeros_like(x, dtype=none)", constant_like<0>},
    {"ones_like", "ones_like(x, dtype=none)", constant_like<1>},
};

}  // namespace

std::span<const Function> shape_functions() { return kFunctions; }

}  // namespace ost::dsl
