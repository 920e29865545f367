// Ostinato: reading KIR kernels in C++20, for plugins that take the binary form. Header-only; needs
// the standard library and nothing else.
//
//   kir/view.hpp      names of operations and types, a kernel in memory, and its structural check
//   kir/analysis.hpp  what a lowering asks of a kernel: axes a value depends on, index strides,
//   ranges, users
#ifndef OSTINATO_KIR_HPP_
#define OSTINATO_KIR_HPP_

#include "kir/analysis.hpp"
#include "kir/view.hpp"

#endif  // OSTINATO_KIR_HPP_
