// The functions of the language: a table of names, signatures and emitters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dsl/emitter.hpp"

namespace ost::dsl {

struct Call;

struct Function {
  std::string_view name;
  // For people and for binding: "softmax(x, axis=-1)". A parameter with `=` may be left out;
  // `*name` takes all positional arguments that remain.
  std::string_view signature;
  Result<Value> (*emit)(Call&);
};

const Function* find_function(std::string_view name);
std::span<const std::string_view> function_names();

// The families, each in a file of its own.
std::span<const Function> math_functions();
std::span<const Function> reduce_functions();
std::span<const Function> shape_functions();
std::span<const Function> matrix_functions();

struct NamedValue {
  std::string_view name;
  size_t position;
  Value value;
};

// One call, its arguments bound to parameters. The accessors check kinds; their errors point at the
// argument.
struct Call {
  Emitter& emitter;
  const Function& function;
  size_t position;
  std::vector<std::pair<std::string_view, Value>> arguments;

  Result<> bind(std::vector<Value> positional, std::vector<NamedValue> keywords);

  // Null if the argument was left out or is none.
  const Value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  Result<ir::NodeId> tensor(std::string_view name);
  Result<std::optional<ir::NodeId>> maybe_tensor(std::string_view name);
  // Several tensors as one type where Python-like scalars are among them.
  Result<std::vector<ir::NodeId>> tensors(std::span<const std::string_view> names);
  Result<int64_t> integer(std::string_view name, std::optional<int64_t> otherwise = {});
  Result<double> number(std::string_view name, std::optional<double> otherwise = {});
  Result<bool> flag(std::string_view name, bool otherwise);
  Result<DType> dtype(std::string_view name, std::optional<DType> otherwise = {});
  Result<Sym> size(std::string_view name);
  Result<Shape> shape(std::string_view name);  // a size or a tuple of sizes
  Result<std::vector<int64_t>> integers(
      std::string_view name);  // one or a tuple; empty if left out
  Result<std::vector<Value>> values(
      std::string_view name);  // a tuple's parts, or the rest of a `*name`

  ir::Graph& graph() { return emitter.graph; }
  bool all_weak() const;
  Result<Value> done(ir::Node1 node, bool weak = false) {
    return emitter.done(position, std::move(node), weak);
  }

  template <typename... Args>
  std::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) const {
    return emitter.source.fail(position, "{}: {}", function.name,
                               fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::unexpected<Error> wrong(const Value& value, std::string_view name,
                               std::string_view wanted) const;
};

}  // namespace ost::dsl
