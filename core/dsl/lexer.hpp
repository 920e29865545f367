// Text to tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dsl/source.hpp"

namespace ost::dsl {

struct Token {
  enum class Kind : uint8_t { end, line_end, name, integer, real, symbol, type };
  Kind kind = Kind::end;
  std::string_view text;  // as written
  size_t position = 0;    // in bytes
  int64_t integer = 0;
  double real = 0;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
};

// What follows `name:` or `name, name:` at the start of a statement is one token of kind `type`, up
// to the end of the statement.
//
// The last token is `end`. Line ends within brackets and after nothing are left out; `;` is a line
// end, # a comment.
Result<std::vector<Token>> tokenize(const Source& source);

}  // namespace ost::dsl
