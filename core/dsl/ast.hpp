// The syntax tree. Operators of one level of precedence are one node with many operands, so that
// the depth of a tree is the depth of its brackets, which the parser limits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ost::dsl {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum class Kind : uint8_t {
    integer,    // integer
    real,       // real
    name,       // text
    tuple,      // args
    chain,      // args[0] op args[1] op ..., left to right; ops[i] stands before args[i + 1]
    prefix,     // text: + - ~; args[0]
    call,       // text: function; args, keywords
    attribute,  // args[0] . text
    index,      // args[0] [ items ]
  };
  struct Operator {
    std::string_view text;
    size_t position;
  };
  struct Keyword {
    std::string_view name;
    size_t position;
    ExprPtr value;
  };
  // One of the comma-separated parts of a subscript.
  struct Item {
    enum class Kind : uint8_t { index, slice, ellipsis };
    Kind kind = Kind::index;
    size_t position = 0;
    ExprPtr index;              // index
    ExprPtr start, stop, step;  // slice; null where left out
  };

  Kind kind = Kind::integer;
  size_t position = 0;
  std::string_view text;
  int64_t integer = 0;
  double real = 0;
  std::vector<ExprPtr> args;
  std::vector<Operator> ops;
  std::vector<Keyword> keywords;
  std::vector<Item> items;
};

struct Statement {
  enum class Kind : uint8_t {
    value,     // [targets =] value
    input,     // targets: type
    function,  // def targets[0](parameters): body
    result,    // return value; the last statement of a body and nothing else
  };
  struct Name {
    std::string_view text;
    size_t position = 0;
  };
  struct Parameter {
    Name name;
    ExprPtr otherwise;  // null: must be given
  };
  Kind kind = Kind::value;
  size_t position = 0;
  std::vector<Name> targets;  // none: an expression
  ExprPtr value;
  std::string_view type;
  size_t type_position = 0;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;  // ends with a `result`
};

}  // namespace ost::dsl
