// The expression language: `matmul(A,relu(B))+softmax(C)`, Python's operators and precedence,
// NumPy's meaning.
//
// A program is statements one a line (or separated by `;`), the last of which is the result; a
// tuple is several results:
//   x: f32[n:1..64, 768]               an input with its type
//   def ffn(h, w, b): gelu(h @ w + b)  a function; with more than one line it ends with `return`
//   h = ffn(x, w, b)
// Errors carry line, column and a caret:
//   dsl: 1:10: unknown function 'relux'; did you mean 'relu'?
//     matmul(A,relux(B))
//              ^
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.hpp"

namespace ost::dsl {

// A name that the expression may use, and what it stands for. Constants and states carry their
// data.
struct Binding {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  ir::InputKind kind = ir::InputKind::argument;
  LiteralPtr data;
};

// The graph of a program. Every binding becomes an input, in the order given, used or not; then
// come the inputs that the program declares and no binding has. A binding must have the type that
// the program declares for it; a size that the program leaves to a variable may be any within its
// bounds. A variable is an integer within expressions. Outputs are named after the variables that
// the last statement assigns, else "out"; "out0", "out1", ... for a tuple.
Result<ir::Graph> build(std::string_view expression, std::span<const Binding> inputs,
                        std::span<const Var> vars);

// The names that the expression reads and does not define, in order of first use: what must be
// bound.
Result<std::vector<std::string>> free_names(std::string_view expression);

// The names of the inputs that the program declares, in order.
Result<std::vector<std::string>> declared_inputs(std::string_view program);

// Every function with its parameters ("softmax(x, axis=-1)"), sorted by name.
std::vector<std::string> function_signatures();

// The type of an input as the command line writes it: "64,64", "n:1..1797,64", "f16[n:1..64, 64]";
// "" or "[]" is a scalar. A size may be any expression of declared variables, as "n*2";
// `name:min..max` declares one. f32 if no dtype.
struct TypeDecl {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<Var> vars;  // declared here, in order
};
// `known` are the variables declared before; a second declaration must have the same bounds.
Result<TypeDecl> parse_type(std::string_view text, std::span<const Var> known = {});

}  // namespace ost::dsl
