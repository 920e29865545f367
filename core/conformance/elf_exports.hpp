// The names that a shared library defines for others: what `nm -D --defined-only` lists.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ost::conform {

// 64-bit ELF of this machine's byte order; sorted.
Result<std::vector<std::string>> exported_symbols(const std::string& file);

}  // namespace ost::conform
