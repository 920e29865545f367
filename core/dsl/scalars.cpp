// Operators: Python's arithmetic where no tensor takes part, NEP 50 where one does.
#include <cmath>

#include "core/dsl/emitter.hpp"

namespace ost::dsl {

std::optional<Sym> as_size(const Value& value) {
  if (const Number* number = value.as<Number>(); number && number->is_int)
    return Sym(number->whole);
  if (const Sym* size = value.as<Sym>()) return *size;
  return std::nullopt;
}

std::string describe(const ir::Graph& graph, const Value& value) {
  if (const Tensor* tensor = value.as<Tensor>()) {
    const ir::Node& node = graph.node(tensor->id);
    return fmt::format("a tensor {}{}", name_of(node.dtype), to_string(node.shape));
  }
  if (const Number* number = value.as<Number>())
    return number->is_int ? fmt::format("the integer {}", number->whole)
                          : fmt::format("the number {}", number->real);
  if (const bool* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const Sym* size = value.as<Sym>()) return fmt::format("the size {}", size->str());
  if (const DType* type = value.as<DType>()) return fmt::format("the type {}", name_of(*type));
  if (const Tuple* tuple = value.as<Tuple>()) return fmt::format("a tuple of {}", tuple->size());
  return "none";
}

namespace {

struct OpNames {
  std::string_view text;
  ir::Op op;
  bool swapped;
};
constexpr OpNames kOps[] = {
    {"+", ir::Op::add, false},     {"-", ir::Op::sub, false},     {"*", ir::Op::mul, false},
    {"**", ir::Op::pow, false},    {"==", ir::Op::eq, false},     {"!=", ir::Op::ne, false},
    {"<", ir::Op::lt, false},      {"<=", ir::Op::le, false},     {">", ir::Op::lt, true},
    {">=", ir::Op::le, true},      {"&", ir::Op::bit_and, false}, {"|", ir::Op::bit_or, false},
    {"^", ir::Op::bit_xor, false}, {"<<", ir::Op::shl, false},    {">>", ir::Op::shr, false},
};

bool compares(std::string_view op) {
  return op == "<" || op == ">" || (op.size() == 2 && op[1] == '=');
}

ir::Node1 apply(ir::Graph& g, std::string_view op, ir::NodeId a, ir::NodeId b) {
  if (op == "/") return ir::true_divide(g, a, b);
  if (op == "//") return ir::floor_divide(g, a, b);
  if (op == "%") return ir::floor_mod(g, a, b);
  if (op == "@") return ir::matmul(g, a, b);
  for (const OpNames& entry : kOps)
    if (entry.text == op)
      return entry.swapped ? ir::binary(g, entry.op, b, a) : ir::binary(g, entry.op, a, b);
  return fail(OST_INTERNAL, "operator '{}' has no meaning", op);
}

// Integers and sizes: + - * // % keep them exact. Nothing: not such an operator.
std::optional<Sym> size_arithmetic(std::string_view op, const Sym& a, const Sym& b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "//") return floordiv(a, b);
  if (op == "%") return mod(a, b);
  return std::nullopt;
}

std::optional<double> real_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  if (op == "%") return a - std::floor(a / b) * b;
  if (op == "**") return std::pow(a, b);
  return std::nullopt;
}

std::optional<int64_t> int_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (base == 0 || base == 1) return base;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace

// The value of an operator on scalars, or nothing if the operands are for the graph.
Result<std::optional<Value>> Emitter::scalars(std::string_view op, size_t position, const Value& a,
                                              const Value& b) {
  const auto x = as_size(a);
  const auto y = as_size(b);
  const Number* p = a.as<Number>();
  const Number* q = b.as<Number>();
  if (x && y && op == "**" && p && q && q->whole >= 0) {
    const auto power = int_power(p->whole, q->whole);
    if (!power)
      return source.fail(position, "{} ** {} does not fit into 64 bits", p->whole, q->whole);
    return Value{Number::of(*power), position};
  }
  if (x && y) {
    if ((op == "//" || op == "%") && *y == Sym(0))
      return source.fail(position, "integer division by zero");
    if (const auto size = size_arithmetic(op, *x, *y)) {
      if (!size->is_valid())
        return source.fail(position, "'{}' of {} and {} does not fit into 64 bits", op, x->str(),
                           y->str());
      if (const auto value = size->constant()) return Value{Number::of(*value), position};
      return Value{*size, position};
    }
  }
  if (p && q)
    if (const auto value = real_arithmetic(op, p->real, q->real))
      return Value{Number::of(*value), position};
  return std::nullopt;
}

bool Emitter::is_weak(const Value& value) const {
  if (const Tensor* tensor = value.as<Tensor>()) return tensor->weak;
  return value.as<Number>() || value.as<Sym>();
}

Result<ir::NodeId> Emitter::node(const Value& value) {
  if (const Tensor* tensor = value.as<Tensor>()) return tensor->id;
  if (const Number* number = value.as<Number>())
    return number->is_int ? ir::full_int(graph, DType::i64, {}, number->whole)
                          : ir::full(graph, DType::f64, {}, number->real);
  if (const bool* flag = value.as<bool>())
    return ir::full(graph, DType::boolean, {}, *flag ? 1 : 0);
  if (const Sym* size = value.as<Sym>()) {
    if (const auto constant = size->constant())
      return ir::full_int(graph, DType::i64, {}, *constant);
    ir::Node node;
    node.op = ir::Op::size;
    node.syms = {*size};
    return graph.add(std::move(node));
  }
  return source.fail(value.position, "wanted a tensor, found {}", describe(graph, value));
}

namespace {

// The type of a Python-like scalar beside a tensor (NEP 50): the tensor's, unless only a wider kind
// can hold the scalar.
DType scalar_type(DType like, bool is_int) {
  if (is_float(like)) return like;
  if (!is_int) return DType::f64;
  return like == DType::boolean ? DType::i64 : like;
}

}  // namespace

Result<ir::NodeId> Emitter::node_like(const Value& value, DType like) {
  if (!is_weak(value)) return node(value);
  ir::Node1 result = 0;
  if (const Number* number = value.as<Number>()) {
    const DType type = scalar_type(like, number->is_int);
    result = number->is_int ? ir::full_int(graph, type, {}, number->whole)
                            : ir::full(graph, type, {}, number->real);
  } else {
    OST_TRY_ASSIGN(const ir::NodeId id, node(value));
    result = ir::cast(graph, id, scalar_type(like, !is_float(graph.node(id).dtype)));
  }
  OST_TRY_ASSIGN(const Value located, done(value.position, std::move(result)));
  return located.as<Tensor>()->id;
}

Result<std::vector<ir::NodeId>> Emitter::nodes_alike(std::span<const Value> values) {
  std::vector<ir::NodeId> result(values.size());
  std::optional<DType> type;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_weak(values[i])) continue;
    OST_TRY_ASSIGN(result[i], node(values[i]));
    const DType own = graph.node(result[i]).dtype;
    type = type ? ir::promote(*type, own) : own;
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (is_weak(values[i])) {
      OST_TRY_ASSIGN(result[i], type ? node_like(values[i], *type) : node(values[i]));
    }
  return result;
}

Result<Value> Emitter::binary(std::string_view op, size_t position, const Value& a,
                              const Value& b) {
  OST_TRY_ASSIGN(const auto folded, scalars(op, position, a, b));
  if (folded) return *folded;
  for (const Value* value : {&a, &b})
    if (!value->as<Tensor>() && !is_weak(*value) && !value->as<bool>())
      return source.fail(position, "'{}' wants tensors or numbers, found {}", op,
                         describe(graph, *value));
  const Value both[] = {a, b};
  OST_TRY_ASSIGN(const auto nodes, nodes_alike(both));
  const bool weak = is_weak(a) && is_weak(b) && !compares(op);
  return done(position, apply(graph, op, nodes[0], nodes[1]), weak);
}

}  // namespace ost::dsl
