// Elementwise functions.
#include "core/dsl/functions.hpp"

namespace ost::dsl {
namespace {

using ir::NodeId;
using ir::Op;

// A function of one operand. Python-like integers are numbers here, not i64 tensors: exp(2) is f64
// and gives way.
template <Op op>
Result<Value> unary(Call& call) {
  OST_TRY_ASSIGN(NodeId x, call.tensor("x"));
  const bool weak = call.all_weak();
  const bool keeps_integers =
      op == Op::neg || op == Op::abs || op == Op::sign || op == Op::relu || op == Op::bit_not;
  if (weak && !keeps_integers) {
    OST_TRY_ASSIGN(x, ir::cast(call.graph(), x, DType::f64));
  }
  return call.done(ir::unary(call.graph(), op, x), weak);
}

template <char first, char second = '\0'>
Result<Value> operation(Call& call) {
  const char text[] = {first, second};
  return call.emitter.binary({text, second ? 2u : 1u}, call.position, *call.find("x"),
                             *call.find("y"));
}

Result<Value> checked_operation(Call& call, Result<Value> (*emit)(Call&)) {
  OST_TRY(call.tensor("x"));
  OST_TRY(call.tensor("y"));
  return emit(call);
}

template <char first, char second = '\0'>
Result<Value> binary_operator(Call& call) {
  return checked_operation(call, &operation<first, second>);
}

template <Op op>
Result<Value> binary(Call& call) {
  static constexpr std::string_view kNames[] = {"x", "y"};
  OST_TRY_ASSIGN(const auto both, call.tensors(kNames));
  return call.done(ir::binary(call.graph(), op, both[0], both[1]), call.all_weak());
}

Result<Value> square(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  return call.done(ir::binary(call.graph(), Op::mul, x, x), call.all_weak());
}

Result<Value> reciprocal(Call& call) {
  OST_TRY(call.tensor("x"));
  return call.emitter.binary("/", call.position, Value{Number::of(int64_t{1}), call.position},
                             *call.find("x"));
}

Result<Value> fma(Call& call) {
  static constexpr std::string_view kNames[] = {"x", "y", "z"};
  OST_TRY_ASSIGN(auto three, call.tensors(kNames));
  ir::Graph& g = call.graph();
  DType type = g.node(three[0]).dtype;
  Shape shape;
  for (const NodeId id : three) {
    type = ir::promote(type, g.node(id).dtype);
    auto merged = ir::broadcast_shapes(shape, g.node(id).shape);
    if (!merged) return call.fail("{}", merged.error().message);
    shape = *merged;
  }
  if (!is_float(type)) return call.fail("operands are {}, wanted a float type", name_of(type));
  for (NodeId& id : three) {
    OST_TRY_ASSIGN(id, ir::cast(g, id, type));
    OST_TRY_ASSIGN(id, ir::broadcast_to(g, id, shape));
  }
  ir::Node node;
  node.op = Op::fma;
  node.inputs = three;
  return call.done(g.add(std::move(node)));
}

Result<Value> where(Call& call) {
  static constexpr std::string_view kNames[] = {"x", "y"};
  OST_TRY_ASSIGN(const NodeId condition, call.tensor("condition"));
  OST_TRY_ASSIGN(const auto both, call.tensors(kNames));
  return call.done(ir::where(call.graph(), condition, both[0], both[1]));
}

// minimum(maximum(x, low), high): NaN stays.
Result<Value> clip(Call& call) {
  OST_TRY_ASSIGN(NodeId x, call.tensor("x"));
  if (!call.has("low") && !call.has("high")) return call.fail("neither 'low' nor 'high' is given");
  for (const auto& [name, op] : {std::pair("low", Op::maximum), std::pair("high", Op::minimum)}) {
    if (!call.has(name)) continue;
    const Value both[] = {Value{Tensor{x, call.emitter.is_weak(*call.find("x"))}, call.position},
                          *call.find(name)};
    OST_TRY(call.tensor(name));
    OST_TRY_ASSIGN(const auto nodes, call.emitter.nodes_alike(both));
    OST_TRY_ASSIGN(const Value result, call.done(ir::binary(call.graph(), op, nodes[0], nodes[1])));
    x = result.as<Tensor>()->id;
  }
  return call.done(x, call.all_weak());
}

Result<Value> isnan(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  return call.done(ir::binary(call.graph(), Op::ne, x, x));
}

// |x| == inf, or |x| < inf: false for NaN both ways. Integers are finite.
template <Op compare>
Result<Value> against_infinity(Call& call) {
  OST_TRY_ASSIGN(NodeId x, call.tensor("x"));
  ir::Graph& g = call.graph();
  if (!is_float(g.node(x).dtype))
    return call.done(ir::full(g, DType::boolean, g.node(x).shape, compare == Op::lt ? 1 : 0));
  OST_TRY_ASSIGN(x, ir::unary(g, Op::abs, x));
  OST_TRY_ASSIGN(const NodeId limit, ir::full(g, g.node(x).dtype, {}, HUGE_VAL));
  return call.done(ir::binary(g, compare, x, limit));
}

template <Op op>
Result<Value> logical(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const NodeId y, call.tensor("y"));
  OST_TRY_ASSIGN(const NodeId a, ir::cast(call.graph(), x, DType::boolean));
  OST_TRY_ASSIGN(const NodeId b, ir::cast(call.graph(), y, DType::boolean));
  return call.done(ir::binary(call.graph(), op, a, b));
}

Result<Value> logical_not(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const NodeId flag, ir::cast(call.graph(), x, DType::boolean));
  return call.done(ir::unary(call.graph(), Op::bit_not, flag));
}

Result<Value> cast(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype"));
  return call.done(ir::cast(call.graph(), x, type));
}

Result<Value> bitcast(Call& call) {
  OST_TRY_ASSIGN(const NodeId x, call.tensor("x"));
  OST_TRY_ASSIGN(const DType type, call.dtype("dtype"));
  ir::Node node;
  node.op = Op::bitcast;
  node.dtype = type;
  node.inputs = {x};
  return call.done(call.graph().add(std::move(node)));
}

constexpr Function kFunctions[] = {
    {"relu", "relu(x)", unary<Op::relu>},
    {"silu", "silu(x)", unary<Op::silu>},
    {"gelu", "gelu(x)", unary<Op::gelu>},
    {"sigmoid", "sigmoid(x)", unary<Op::sigmoid>},
    {"tanh", "tanh(x)", unary<Op::tanh>},
    {"erf", "erf(x)", unary<Op::erf>},
    {"exp", "exp(x)", unary<Op::exp>},
    {"exp2", "exp2(x)", unary<Op::exp2>},
    {"expm1", "expm1(x)", unary<Op::expm1>},
    {"log", "log(x)", unary<Op::log>},
    {"log2", "log2(x)", unary<Op::log2>},
    {"log1p", "log1p(x)", unary<Op::log1p>},
    {"sqrt", "sqrt(x)", unary<Op::sqrt>},
    {"rsqrt", "rsqrt(x)", unary<Op::rsqrt>},
    {"sin", "sin(x)", unary<Op::sin>},
    {"cos", "cos(x)", unary<Op::cos>},
    {"abs", "abs(x)", unary<Op::abs>},
    {"neg", "neg(x)", unary<Op::neg>},
    {"sign", "sign(x)", unary<Op::sign>},
    {"floor", "floor(x)", unary<Op::floor>},
    {"ceil", "ceil(x)", unary<Op::ceil>},
    {"trunc", "trunc(x)", unary<Op::trunc>},
    {"round", "round(x)", unary<Op::round>},
    {"bit_not", "bit_not(x)", unary<Op::bit_not>},
    {"square", "square(x)", square},
    {"reciprocal", "reciprocal(x)", reciprocal},
    {"add", "add(x, y)", binary_operator<'+'>},
    {"sub", "sub(x, y)", binary_operator<'-'>},
    {"mul", "mul(x, y)", binary_operator<'*'>},
    {"div", "div(x, y)", binary_operator<'/'>},
    {"floor_divide", "floor_divide(x, y)", binary_operator<'/', '/'>},
    {"mod", "mod(x, y)", binary_operator<'%'>},
    {"pow", "pow(x, y)", binary_operator<'*', '*'>},
    {"equal", "equal(x, y)", binary_operator<'=', '='>},
    {"not_equal", "not_equal(x, y)", binary_operator<'!', '='>},
    {"less", "less(x, y)", binary_operator<'<'>},
    {"less_equal", "less_equal(x, y)", binary_operator<'<', '='>},
    {"greater", "greater(x, y)", binary_operator<'>'>},
    {"greater_equal", "greater_equal(x, y)", binary_operator<'>', '='>},
    {"minimum", "minimum(x, y)", binary<Op::minimum>},
    {"maximum", "maximum(x, y)", binary<Op::maximum>},
    {"bit_and", "bit_and(x, y)", binary<Op::bit_and>},
    {"bit_or", "bit_or(x, y)", binary<Op::bit_or>},
    {"bit_xor", "bit_xor(x, y)", binary<Op::bit_xor>},
    {"shl", "shl(x, y)", binary<Op::shl>},
    {"shr", "shr(x, y)", binary<Op::shr>},
    {"logical_and", "logical_and(x, y)", logical<Op::bit_and>},
    {"logical_or", "logical_or(x, y)", logical<Op::bit_or>},
    {"logical_xor", "logical_xor(x, y)", logical<Op::bit_xor>},
    {"logical_not", "logical_not(x)", logical_not},
    {"fma", "fma(x, y, z)", fma},
    {"where", "where(condition, x, y)", where},
    {"clip", "clip(x, low=none, high=none)", clip},
    {"clamp", "clamp(x, low=none, high=none)", clip},
    {"isnan", "isnan(x)", isnan},
    {"isinf", "isinf(x)", against_infinity<Op::eq>},
    {"isfinite", "isfinite(x)", against_infinity<Op::lt>},
    {"cast", "cast(x, dtype)", cast},
    {"bitcast", "bitcast(x, dtype)", bitcast},
};

}  // namespace

std::span<const Function> math_functions() { return kFunctions; }

}  // namespace ost::dsl
