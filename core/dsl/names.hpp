// Names with a meaning of their own, and what a name may look like.
#pragma once

#include <optional>

#include "core/dsl/value.hpp"

namespace ost::dsl {

// inf, nan, true, false, none (Python's spellings too), and the dtypes, with NumPy's long names.
std::optional<Value> constant_named(std::string_view name);
std::optional<DType> dtype_named(std::string_view name);
bool is_name(std::string_view text);

}  // namespace ost::dsl
