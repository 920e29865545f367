// What a program has beyond expressions: typed inputs, functions, and names for its results.
#include <set>

#include "core/dsl/emitter.hpp"
#include "core/dsl/functions.hpp"
#include "core/dsl/names.hpp"
#include "core/dsl/suggest.hpp"

namespace ost::dsl {

namespace {

constexpr size_t kMaxCalls = 64;           // functions within functions: bounds the stack
constexpr size_t kMaxExpansions = 100000;  // of all functions of a program: bounds the time

}  // namespace

// --- inputs

Result<> Emitter::declare(const Statement& statement) {
  auto type = parse_type(statement.type, vars_);
  if (!type) return source.fail(statement.type_position, "{}", type.error().message);
  for (const Var& var : type->vars) {
    vars_.push_back(var);
    if (names_.contains(var.name))
      return source.fail(statement.type_position, "the variable '{}' has the name of an input",
                         var.name);
  }
  for (const Statement::Name& name : statement.targets) OST_TRY(declare_input(name, *type));
  // A variable that no input has fixed is a variable of the program.
  for (const Var& var : type->vars) {
    const auto fixed = sizes_.find(var.name);
    names_.emplace(var.name, Value{fixed == sizes_.end() ? Sym::var(var) : fixed->second});
  }
  return {};
}

Result<> Emitter::declare_input(const Statement::Name& name, const TypeDecl& type) {
  OST_TRY(check_target(name));
  if (const auto it = names_.find(name.text); it != names_.end()) {
    const Tensor* bound = it->second.as<Tensor>();
    const bool is_input = bound && graph.node(bound->id).op == ir::Op::input;
    if (!is_input || it->second.position != 0)
      return source.fail(name.position, "'{}' is defined already", name.text);
    it->second.position = name.position + 1;  // declared: a second time is an error
    return match_input(name, bound->id, type);
  }
  ir::Input input;
  input.name = name.text;
  input.dtype = type.dtype;
  for (const Sym& size : type.shape) input.shape.push_back(size.substitute(sizes_));
  OST_TRY_ASSIGN(const ir::NodeId id, graph.add_input(std::move(input)));
  names_.emplace(std::string(name.text), Value{Tensor{id}, name.position + 1});
  return {};
}

// The type that was bound is the one that is declared, where a size that is a variable of the
// program takes the size that was bound.
Result<> Emitter::match_input(const Statement::Name& name, ir::NodeId input, const TypeDecl& type) {
  const ir::Node& bound = graph.node(input);
  const auto refuse = [&] {
    Shape declared;
    for (const Sym& size : type.shape) declared.push_back(size.substitute(sizes_));
    return source.fail(name.position, "'{}' is given as {}{}, the program declares {}{}", name.text,
                       name_of(bound.dtype), to_string(bound.shape), name_of(type.dtype),
                       to_string(declared));
  };
  if (bound.dtype != type.dtype || bound.shape.size() != type.shape.size()) return refuse();
  for (size_t d = 0; d < bound.shape.size(); ++d) {
    const auto var = type.shape[d].as_var();
    if (var && !sizes_.contains(var->name) && !names_.contains(var->name)) {
      if (bound.shape[d].lower() < var->min || bound.shape[d].upper() > var->max) return refuse();
      sizes_.emplace(var->name, bound.shape[d]);
    }
    if (!(type.shape[d].substitute(sizes_) == bound.shape[d])) return refuse();
  }
  return {};
}

// --- functions

Result<> Emitter::check_target(const Statement::Name& name) const {
  if (find_function(name.text) || functions_.contains(name.text))
    return source.fail(name.position, "'{}' is a function; choose another name", name.text);
  return {};
}

Result<> Emitter::define(const Statement& statement) {
  const Statement::Name& name = statement.targets[0];
  OST_TRY(check_target(name));
  if (names_.contains(name.text))
    return source.fail(name.position, "'{}' is defined already", name.text);
  functions_.emplace(std::string(name.text), &statement);
  return {};
}

Result<> Emitter::assign(const Statement& statement, Value value) {
  Names& names = calls_.empty() ? names_ : calls_.back();
  for (const Statement::Name& name : statement.targets) OST_TRY(check_target(name));
  if (statement.targets.size() == 1) {
    names.insert_or_assign(std::string(statement.targets[0].text), std::move(value));
    return {};
  }
  const Tuple* parts = value.as<Tuple>();
  if (!parts || parts->size() != statement.targets.size())
    return source.fail(statement.position, "{} names for {}; wanted a tuple of {}",
                       statement.targets.size(), describe(graph, value), statement.targets.size());
  for (size_t i = 0; i < parts->size(); ++i)
    names.insert_or_assign(std::string(statement.targets[i].text), (*parts)[i]);
  return {};
}

Result<Value> Emitter::call_defined(const Expr& expr, const Statement& function) {
  if (calls_.size() >= kMaxCalls)
    return source.fail(expr.position, "functions call each other more than {} deep", kMaxCalls);
  if (++expansions_ > kMaxExpansions)
    return source.fail(expr.position,
                       "the functions of the program are expanded more than {} times",
                       kMaxExpansions);
  const auto& parameters = function.parameters;
  if (expr.args.size() > parameters.size())
    return source.fail(expr.args[parameters.size()]->position,
                       "{} arguments for '{}'; wanted {} at most", expr.args.size(), expr.text,
                       parameters.size());
  Names locals;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    OST_TRY_ASSIGN(Value value, eval(*expr.args[i]));
    locals.emplace(std::string(parameters[i].name.text), std::move(value));
  }
  for (const Expr::Keyword& keyword : expr.keywords) {
    std::vector<std::string_view> known;
    for (const auto& p : parameters) known.push_back(p.name.text);
    if (std::find(known.begin(), known.end(), keyword.name) == known.end())
      return source.fail(keyword.position, "'{}' has no parameter '{}'{}", expr.text, keyword.name,
                         suggestion(keyword.name, known));
    OST_TRY_ASSIGN(Value value, eval(*keyword.value));
    if (!locals.emplace(std::string(keyword.name), std::move(value)).second)
      return source.fail(keyword.position, "'{}' of '{}' is given twice", keyword.name, expr.text);
  }
  for (const auto& p : parameters) {
    if (locals.contains(p.name.text)) continue;
    if (!p.otherwise)
      return source.fail(expr.position, "'{}' of '{}' is missing", p.name.text, expr.text);
    OST_TRY_ASSIGN(Value value, eval(*p.otherwise));
    locals.emplace(std::string(p.name.text), std::move(value));
  }
  calls_.push_back(std::move(locals));
  const auto body = [&]() -> Result<Value> {
    for (const Statement& statement : function.body) {
      if (statement.kind == Statement::Kind::value && statement.targets.empty())
        return source.fail(statement.position,
                           "the value of this line is not used; wanted 'name = ...' or 'return'");
      OST_TRY_ASSIGN(Value value, eval(*statement.value));
      if (statement.kind == Statement::Kind::result) return value;
      OST_TRY(assign(statement, std::move(value)));
    }
    return source.fail(function.position, "the function '{}' has no 'return'", expr.text);
  };
  Result<Value> result = body();
  calls_.pop_back();
  if (!result) {
    result.error().message +=
        fmt::format("\n  in '{}', called at {}", expr.text, source.place(expr.position));
    return result;
  }
  result->position = expr.position;
  return result;
}

// --- results

Result<> Emitter::output(const Statement& statement, const Value& value) {
  for (const Statement::Name& name : statement.targets) OST_TRY(check_target(name));
  const auto add = [&](std::string name, const Value& part) -> Result<> {
    OST_TRY_ASSIGN(const ir::NodeId id, node(part));
    graph.add_output(std::move(name), id);
    return {};
  };
  const Tuple* parts = value.as<Tuple>();
  const auto& targets = statement.targets;
  const std::string base{targets.empty() ? "out" : targets[0].text};
  if (!parts && targets.size() <= 1) return add(base, value);
  if (parts && parts->empty())
    return source.fail(value.position, "the result is an empty tuple; wanted one tensor or more");
  if (targets.size() > 1 && (!parts || parts->size() != targets.size()))
    return source.fail(statement.position, "{} names for {}; wanted a tuple of {}", targets.size(),
                       describe(graph, value), targets.size());
  for (size_t i = 0; i < parts->size(); ++i)
    OST_TRY(add(targets.size() > 1 ? std::string(targets[i].text) : fmt::format("{}{}", base, i),
                (*parts)[i]));
  return {};
}

}  // namespace ost::dsl
