// The rules of params and variables, which both levels share.
#pragma once

#include "core/kir/kernel.hpp"

namespace ost::kir {

// Slots are dense, declared once and at most 1,024 of a kind; 0 <= min <= max for each variable. The
// records are well encoded and typed.
Result<> check_declarations(const Kernel& kernel);

}  // namespace ost::kir
