// KIR scalar operations as LLVM instructions, for scalars and vectors alike: operands are all
// scalars or all vectors of one width. Signedness and half types come from the KIR types, since
// LLVM's do not tell.
#pragma once

#include "plugins/cpu/compiler/emit.hpp"

namespace ost_cpu {

// Any operation from NEG to LDEXP (no cast, bitcast or memory). `t` is the type of the first value
// operand; for the rest of the operands KIR's typing rules fix theirs.
Value* emit_op(Emit& e, uint16_t op, uint32_t t, llvm::ArrayRef<Value*> x);
Value* emit_cast(Emit& e, Value* x, uint32_t from, uint32_t to);
Value* emit_bitcast(Emit& e, Value* x, uint32_t from, uint32_t to);

Value* emit_fma(Emit& e, Value* x, Value* y, Value* z);
Value* emit_ldexp(Emit& e, Value* x, Value* n);
Value* emit_combine(Emit& e, uint32_t combine, uint32_t t, Value* acc, Value* x);
Value* emit_identity(Emit& e, uint32_t combine, uint32_t t, unsigned lanes);
Value* emit_exp_f32(Emit& e, Value* x);  // the strict exp that order `attn` is defined with

// Toward zero, x/0 = 0, MIN/-1 = MIN; rem: x - (x/y)*y.
Value* emit_div(Emit& e, Value* x, Value* y, bool is_signed);
Value* emit_rem(Emit& e, Value* x, Value* y, bool is_signed);

// Weight of one element of an operation in units of a simple vector instruction, for cost
// estimates.
unsigned op_cost(uint16_t op);

}  // namespace ost_cpu
