// The last step of the builder: dead records are dropped and the rest is put in one order, which
// does not depend on the order in which a compiler evaluated the arguments of the calls that made
// them.
#pragma once

#include "core/kir/kernel.hpp"

namespace ost::kir {

// Variables, parameters (by slot) and axes (in order) first, each behind what its bounds and
// extents need; then the stores in order, each behind what it needs, operands depth first from the
// left. Axes are numbered 0, 1, 2, ... again.
Kernel prune(const Kernel& kernel);

}  // namespace ost::kir
