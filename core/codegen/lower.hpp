// From level 1 to level 2: loops, lanes and groups for a device (docs/kir.md §11). Every order tag
// is kept, so the bits do not depend on the target.
#pragma once

#include "core/codegen/statement.hpp"

namespace ost::codegen {

// The kernel is verified and its bounds are proved.
Result<kir::Kernel> lower(const kir::Kernel& kernel, const Target& target);

}  // namespace ost::codegen
