// The table, and the binding of arguments to parameters.
#include "core/dsl/functions.hpp"

#include <algorithm>
#include <map>

#include "core/dsl/dsl.hpp"
#include "core/dsl/suggest.hpp"

namespace ost::dsl {
namespace {

const std::map<std::string_view, const Function*>& table() {
  static const auto all = [] {
    std::map<std::string_view, const Function*> result;
    for (const auto family :
         {math_functions(), reduce_functions(), shape_functions(), matrix_functions()})
      for (const Function& function : family) result.emplace(function.name, &function);
    return result;
  }();
  return all;
}

struct Parameter {
  std::string_view name;
  bool optional = false;
  bool rest = false;
};

// "f(x, *parts, axis=0)" to its parameters.
std::vector<Parameter> parameters_of(std::string_view signature) {
  std::string_view list = signature.substr(signature.find('(') + 1);
  list.remove_suffix(1);
  std::vector<Parameter> result;
  while (!list.empty()) {
    const size_t end = std::min(list.find(", "), list.size());
    Parameter parameter{list.substr(0, end)};
    list.remove_prefix(std::min(end + 2, list.size()));
    if (parameter.name.starts_with('*')) {
      parameter.name.remove_prefix(1);
      parameter.rest = true;
    }
    const size_t equals = parameter.name.find('=');
    parameter.optional = equals != std::string_view::npos;
    parameter.name = parameter.name.substr(0, equals);
    result.push_back(parameter);
  }
  return result;
}

}  // namespace

const Function* find_function(std::string_view name) {
  const auto it = table().find(name);
  return it == table().end() ? nullptr : it->second;
}

std::span<const std::string_view> function_names() {
  static const auto names = [] {
    std::vector<std::string_view> result;
    for (const auto& entry : table()) result.push_back(entry.first);
    return result;
  }();
  return names;
}

std::vector<std::string> function_signatures() {
  std::vector<std::string> result;
  for (const auto& entry : table()) result.emplace_back(entry.second->signature);
  return result;
}

Result<> Call::bind(std::vector<Value> positional, std::vector<NamedValue> keywords) {
  const auto parameters = parameters_of(function.signature);
  size_t next = 0;
  for (const Parameter& parameter : parameters) {
    if (next >= positional.size()) break;
    if (parameter.rest) {
      Tuple rest(std::make_move_iterator(positional.begin() + static_cast<ptrdiff_t>(next)),
                 std::make_move_iterator(positional.end()));
      next = positional.size();
      arguments.emplace_back(parameter.name, rest.size() == 1 && rest[0].as<Tuple>()
                                                 ? rest[0]
                                                 : Value{rest, position});
    } else {
      arguments.emplace_back(parameter.name, std::move(positional[next++]));
    }
  }
  if (next < positional.size())
    return emitter.source.fail(positional[next].position, "{} arguments for {}; wanted {} at most",
                               positional.size(), function.signature, parameters.size());
  for (NamedValue& keyword : keywords) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    if (std::find(names.begin(), names.end(), keyword.name) == names.end())
      return emitter.source.fail(keyword.position, "{} has no parameter '{}'{}", function.signature,
                                 keyword.name, suggestion(keyword.name, names));
    for (const auto& bound : arguments)
      if (bound.first == keyword.name)
        return emitter.source.fail(keyword.position, "'{}' of {} is given twice", keyword.name,
                                   function.signature);
    arguments.emplace_back(keyword.name, std::move(keyword.value));
  }
  for (const Parameter& parameter : parameters) {
    const bool bound = std::any_of(arguments.begin(), arguments.end(),
                                   [&](const auto& a) { return a.first == parameter.name; });
    if (!bound && !parameter.optional)
      return emitter.source.fail(position, "'{}' of {} is missing", parameter.name,
                                 function.signature);
  }
  return {};
}

const Value* Call::find(std::string_view name) const {
  for (const auto& [bound, value] : arguments)
    if (bound == name) return value.as<None>() ? nullptr : &value;
  return nullptr;
}

bool Call::all_weak() const {
  return std::all_of(arguments.begin(), arguments.end(),
                     [this](const auto& a) { return emitter.is_weak(a.second); });
}

std::unexpected<Error> Call::wrong(const Value& value, std::string_view name,
                                   std::string_view wanted) const {
  return emitter.source.fail(value.position, "{}: '{}' is {}, wanted {}", function.name, name,
                             describe(emitter.graph, value), wanted);
}

Result<ir::NodeId> Call::tensor(std::string_view name) {
  const Value* value = find(name);
  if (!value) return fail("'{}' is none, wanted a tensor", name);
  if (value->as<Tuple>() || value->as<DType>()) return wrong(*value, name, "a tensor");
  return emitter.node(*value);
}

Result<std::optional<ir::NodeId>> Call::maybe_tensor(std::string_view name) {
  if (!has(name)) return std::nullopt;
  OST_TRY_ASSIGN(const ir::NodeId id, tensor(name));
  return id;
}

Result<std::vector<ir::NodeId>> Call::tensors(std::span<const std::string_view> names) {
  std::vector<Value> found;
  for (const std::string_view name : names) {
    OST_TRY(tensor(name));  // for its errors
    found.push_back(*find(name));
  }
  return emitter.nodes_alike(found);
}

Result<int64_t> Call::integer(std::string_view name, std::optional<int64_t> otherwise) {
  const Value* value = find(name);
  if (!value && otherwise) return *otherwise;
  if (!value) return fail("'{}' is none, wanted an integer", name);
  const Number* number = value->as<Number>();
  if (!number || !number->is_int) return wrong(*value, name, "an integer");
  return number->whole;
}

Result<double> Call::number(std::string_view name, std::optional<double> otherwise) {
  const Value* value = find(name);
  if (!value && otherwise) return *otherwise;
  if (!value) return fail("'{}' is none, wanted a number", name);
  if (!value->as<Number>()) return wrong(*value, name, "a number");
  return value->as<Number>()->real;
}

Result<bool> Call::flag(std::string_view name, bool otherwise) {
  const Value* value = find(name);
  if (!value) return otherwise;
  if (const bool* flag = value->as<bool>()) return *flag;
  if (const Number* number = value->as<Number>();
      number && number->is_int && (number->whole == 0 || number->whole == 1))
    return number->whole == 1;
  return wrong(*value, name, "true or false");
}

Result<DType> Call::dtype(std::string_view name, std::optional<DType> otherwise) {
  const Value* value = find(name);
  if (!value && otherwise) return *otherwise;
  if (!value) return fail("'{}' is none, wanted a type such as f32", name);
  if (!value->as<DType>()) return wrong(*value, name, "a type such as f32");
  return *value->as<DType>();
}

Result<Sym> Call::size(std::string_view name) {
  const Value* value = find(name);
  if (!value) return fail("'{}' is none, wanted a size", name);
  const auto size = as_size(*value);
  if (!size) return wrong(*value, name, "an integer or a variable");
  return *size;
}

Result<Shape> Call::shape(std::string_view name) {
  const Value* value = find(name);
  if (!value) return fail("'{}' is none, wanted a shape", name);
  if (const auto size = as_size(*value)) return Shape{*size};
  const Tuple* tuple = value->as<Tuple>();
  if (!tuple) return wrong(*value, name, "a shape such as (2, n)");
  Shape result;
  for (const Value& part : *tuple) {
    const auto size = as_size(part);
    if (!size) return wrong(part, name, "integers and variables only");
    result.push_back(*size);
  }
  return result;
}

Result<std::vector<int64_t>> Call::integers(std::string_view name) {
  const Value* value = find(name);
  std::vector<int64_t> result;
  if (!value) return result;
  const Tuple one{*value};
  for (const Value& part : value->as<Tuple>() ? *value->as<Tuple>() : one) {
    const Number* number = part.as<Number>();
    if (!number || !number->is_int) return wrong(part, name, "an integer or a tuple of integers");
    result.push_back(number->whole);
  }
  return result;
}

Result<std::vector<Value>> Call::values(std::string_view name) {
  const Value* value = find(name);
  if (!value) return fail("'{}' is none, wanted a tuple", name);
  if (const Tuple* tuple = value->as<Tuple>()) return *tuple;
  return wrong(*value, name, "a tuple");
}

}  // namespace ost::dsl
