// Dead record removal. Keeps stores, params and vars (the interface) and everything they need, in the same order;
// axes are numbered 0, 1, 2, ... again.
#pragma once

#include "core/kir/kernel.hpp"

namespace ost::kir {

Kernel prune(const Kernel& kernel);

}  // namespace ost::kir
