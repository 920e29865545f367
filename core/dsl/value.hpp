// What an expression evaluates to while the graph is built: a tensor, or something that only
// parameterises operations.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "core/ir/graph.hpp"

namespace ost::dsl {

// `weak`: computed from Python-like scalars only, so that its type gives way to a tensor's (NEP
// 50).
struct Tensor {
  ir::NodeId id = 0;
  bool weak = false;
};

struct Number {
  bool is_int = true;
  int64_t whole = 0;
  double real = 0;  // of integers too
  static Number of(int64_t v) { return {true, v, static_cast<double>(v)}; }
  static Number of(double v) { return {false, 0, v}; }
};

struct None {};

struct Value;
using Tuple = std::vector<Value>;

struct Value {
  std::variant<None, Tensor, Number, bool, Sym, DType, Tuple> what;
  size_t position = 0;  // of the expression, for errors about it

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};

// "a tensor", "the number 1.5", ...: for messages.
std::string describe(const ir::Graph& graph, const Value& value);

}  // namespace ost::dsl
