// Tokens to syntax tree.
#pragma once

#include "core/dsl/ast.hpp"
#include "core/dsl/source.hpp"

namespace ost::dsl {

// The statements of a program, at least one. The tree refers to the source's text.
Result<std::vector<Statement>> parse_program(const Source& source);

}  // namespace ost::dsl
