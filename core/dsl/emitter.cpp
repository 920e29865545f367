// Names, operators, attributes and the statements around them.
#include "core/dsl/emitter.hpp"

#include <set>

#include "core/dsl/functions.hpp"
#include "core/dsl/names.hpp"
#include "core/dsl/parser.hpp"
#include "core/dsl/suggest.hpp"

namespace ost::dsl {

Result<> Emitter::bind(std::span<const Binding> inputs, std::span<const Var> vars) {
  for (const Var& var : vars) {
    if (!is_name(var.name))
      return fail(OST_INVALID_ARGUMENT, "dsl: '{}' is not a name that a variable can have",
                  var.name);
    if (!names_.emplace(var.name, Value{Sym::var(var)}).second)
      return fail(OST_INVALID_ARGUMENT, "dsl: variable '{}' is declared twice", var.name);
  }
  for (const Binding& binding : inputs) {
    if (!is_name(binding.name))
      return fail(OST_INVALID_ARGUMENT, "dsl: '{}' is not a name that an input can have",
                  binding.name);
    ir::Input input;
    input.name = binding.name;
    input.kind = binding.kind;
    input.dtype = binding.dtype;
    input.shape = binding.shape;
    input.data = binding.data;
    OST_TRY_ASSIGN(const ir::NodeId id, graph.add_input(std::move(input)));
    if (!names_.emplace(binding.name, Value{Tensor{id}}).second)
      return fail(OST_INVALID_ARGUMENT,
                  "dsl: '{}' is bound twice; wanted one input or variable of a name", binding.name);
  }
  return {};
}

Result<> Emitter::run(std::span<const Statement> statements) {
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    const bool last = i + 1 == statements.size();
    if (last &&
        (statement.kind == Statement::Kind::input || statement.kind == Statement::Kind::function))
      return source.fail(statement.position, "the last line has no value; wanted the result");
    if (statement.kind == Statement::Kind::input) {
      OST_TRY(declare(statement));
      continue;
    }
    if (statement.kind == Statement::Kind::function) {
      OST_TRY(define(statement));
      continue;
    }
    if (statement.targets.empty() && !last)
      return source.fail(statement.position,
                         "the value of this line is not used; wanted 'name = ...', or an "
                         "expression on the last line only");
    OST_TRY_ASSIGN(Value value, eval(*statement.value));
    if (last) return output(statement, value);
    OST_TRY(assign(statement, std::move(value)));
  }
  return {};
}

const Value* Emitter::find(std::string_view name) const {
  if (!calls_.empty()) {
    if (const auto it = calls_.back().find(name); it != calls_.back().end()) return &it->second;
  }
  const auto it = names_.find(name);
  return it == names_.end() ? nullptr : &it->second;
}

Result<Value> Emitter::done(size_t position, ir::Node1 node, bool weak) {
  if (!node) {
    Error error = source.error(position, node.error().message);
    error.status = node.error().status;
    return std::unexpected(std::move(error));
  }
  return Value{Tensor{*node, weak}, position};
}

Result<Value> Emitter::eval(const Expr& expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::integer:
      return Value{Number::of(expr.integer), expr.position};
    case Kind::real:
      return Value{Number::of(expr.real), expr.position};
    case Kind::name:
      return name(expr);
    case Kind::tuple:
      return tuple(expr);
    case Kind::chain:
      return chain(expr);
    case Kind::prefix:
      return prefix(expr);
    case Kind::call:
      return call(expr);
    case Kind::attribute:
      return attribute(expr);
    case Kind::index:
      return index(expr);
  }
  return source.fail(expr.position, "unknown kind of expression");
}

Result<Value> Emitter::name(const Expr& expr) {
  if (const Value* found = find(expr.text)) {
    Value value = *found;
    value.position = expr.position;
    return value;
  }
  if (auto constant = constant_named(expr.text)) {
    constant->position = expr.position;
    return std::move(*constant);
  }
  if (find_function(expr.text))
    return source.fail(expr.position, "'{}' is a function; call it: {}", expr.text,
                       find_function(expr.text)->signature);
  std::vector<std::string_view> candidates;
  for (const auto& entry : names_) candidates.push_back(entry.first);
  if (!calls_.empty())
    for (const auto& entry : calls_.back()) candidates.push_back(entry.first);
  const std::string near = suggestion(expr.text, candidates);
  if (!near.empty()) return source.fail(expr.position, "unknown name '{}'{}", expr.text, near);
  return source.fail(expr.position, "unknown name '{}'; wanted {}", expr.text,
                     candidates.empty() ? "an input, but none is bound"
                                        : fmt::format("one of {}", fmt::join(candidates, ", ")));
}

Result<Value> Emitter::tuple(const Expr& expr) {
  Tuple parts;
  for (const ExprPtr& arg : expr.args) {
    OST_TRY_ASSIGN(Value part, eval(*arg));
    parts.push_back(std::move(part));
  }
  return Value{std::move(parts), expr.position};
}

Result<Value> Emitter::chain(const Expr& expr) {
  OST_TRY_ASSIGN(Value left, eval(*expr.args[0]));
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    OST_TRY_ASSIGN(const Value right, eval(*expr.args[i + 1]));
    const size_t begin = left.position;
    OST_TRY_ASSIGN(left, binary(expr.ops[i].text, expr.ops[i].position, left, right));
    left.position = begin;
  }
  return left;
}

Result<Value> Emitter::prefix(const Expr& expr) {
  OST_TRY_ASSIGN(const Value value, eval(*expr.args[0]));
  if (const Number* number = value.as<Number>(); number && expr.text != "~") {
    if (expr.text == "+") return value;
    if (!number->is_int) return Value{Number::of(-number->real), expr.position};
    return Value{Number::of(-number->whole),
                 expr.position};  // literals are never negative: no overflow
  }
  if (const Sym* size = value.as<Sym>(); size && expr.text != "~")
    return Value{expr.text == "+" ? *size : Sym(0) - *size, expr.position};
  OST_TRY_ASSIGN(const ir::NodeId x, node(value));
  if (expr.text == "+") return Value{Tensor{x, is_weak(value)}, expr.position};
  return done(expr.position, ir::unary(graph, expr.text == "-" ? ir::Op::neg : ir::Op::bit_not, x),
              is_weak(value));
}

Result<Value> Emitter::attribute(const Expr& expr) {
  OST_TRY_ASSIGN(const Value object, eval(*expr.args[0]));
  OST_TRY_ASSIGN(const ir::NodeId x, node(object));
  const ir::Node& tensor = graph.node(x);
  if (expr.text == "mT") return done(expr.position, ir::transpose(graph, x));
  if (expr.text == "T") {
    std::vector<int64_t> order;
    for (size_t i = tensor.shape.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
    return done(expr.position, ir::permute(graph, x, std::move(order)));
  }
  if (expr.text == "shape") {
    Tuple sizes;
    for (const Sym& size : tensor.shape) sizes.push_back(Value{size, expr.position});
    return Value{std::move(sizes), expr.position};
  }
  if (expr.text == "ndim")
    return Value{Number::of(static_cast<int64_t>(tensor.shape.size())), expr.position};
  if (expr.text == "size") return Value{numel(tensor.shape), expr.position};
  if (expr.text == "dtype") return Value{tensor.dtype, expr.position};
  if (find_function(expr.text))
    return source.fail(expr.position, "'{}' is a function; call it: x.{}(...)", expr.text,
                       expr.text);
  const std::string_view known[] = {"T", "mT", "shape", "ndim", "size", "dtype"};
  return source.fail(expr.position, "unknown attribute '{}'{}", expr.text,
                     suggestion(expr.text, known));
}

Result<Value> Emitter::call(const Expr& expr) {
  if (const auto it = functions_.find(expr.text); it != functions_.end())
    return call_defined(expr, *it->second);
  const Function* function = find_function(expr.text);
  if (!function) {
    if (find(expr.text)) return source.fail(expr.position, "'{}' is not a function", expr.text);
    std::vector<std::string_view> known(function_names().begin(), function_names().end());
    for (const auto& entry : functions_) known.push_back(entry.first);
    return source.fail(expr.position, "unknown function '{}'{}", expr.text,
                       suggestion(expr.text, known));
  }
  Call call{*this, *function, expr.position, {}};
  std::vector<Value> positional;
  for (const ExprPtr& arg : expr.args) {
    OST_TRY_ASSIGN(Value value, eval(*arg));
    positional.push_back(std::move(value));
  }
  std::vector<NamedValue> keywords;
  for (const Expr::Keyword& keyword : expr.keywords) {
    OST_TRY_ASSIGN(Value value, eval(*keyword.value));
    keywords.push_back({keyword.name, keyword.position, std::move(value)});
  }
  OST_TRY(call.bind(std::move(positional), std::move(keywords)));
  auto result = function->emit(call);
  if (result || result.error().message.starts_with("dsl: ")) return result;
  return done(expr.position,
              std::unexpected(result.error()));  // a builder's error that has no place yet
}

Result<ir::Graph> build(std::string_view expression, std::span<const Binding> inputs,
                        std::span<const Var> vars) {
  const Source source(expression);
  OST_TRY_ASSIGN(const std::vector<Statement> statements, parse_program(source));
  ir::Graph graph;
  Emitter emitter(source, graph);
  OST_TRY(emitter.bind(inputs, vars));
  emitter.set_variables(vars);
  OST_TRY(emitter.run(statements));
  OST_TRY(graph.vars());
  return graph;
}

}  // namespace ost::dsl
