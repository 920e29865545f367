// Elementary functions as KIR arithmetic: strict mode has one bit-exact definition of each
// (docs/numerics.md), so no vendor's libm decides a bit.
#pragma once

#include "core/kir/kernel.hpp"

namespace ost::kir {

enum class Fn : uint8_t {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log1p,
  sin,
  cos,
  tanh,
  sigmoid,
  silu,
  erf,
  gelu,
  rsqrt,
  pow,
};

// Appends the expansion of fn(x) (pow: fn(x, y)) for f32 or f64 operands and returns the result, of
// the same type.
Value expand(Builder& b, Fn fn, Value x, Value y = kNone);

// "exp", "log1p", ...
const char* name_of(Fn fn);

}  // namespace ost::kir
