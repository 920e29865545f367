// Operations that an instruction set lacks, in terms of what every x86-64 has. LLVM would call a
// library for them, and an image has no imports.
#pragma once

#include "plugins/cpu/compiler/emit.hpp"

namespace ost_cpu {

Value* soft_round(Emit& e, uint16_t op, Value* x);       // floor, ceil, trunc, rint without SSE4.1
Value* soft_fma(Emit& e, Value* x, Value* y, Value* z);  // without FMA3
Value* soft_f16_to_f32(Emit& e, Value* h);               // i16 -> float, without F16C
Value* soft_f32_to_f16(Emit& e, Value* x);               // float -> i16
// f64 -> f32 rounded to odd: any further rounding to 22 bits or fewer then rounds once.
Value* f64_to_f32_odd(Emit& e, Value* x);

}  // namespace ost_cpu
