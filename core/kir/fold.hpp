// Integer and boolean operations on constants, exactly as docs/kir.md defines them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/dtype.hpp"
#include "core/kir/kernel.hpp"

namespace ost::kir {

// The value of the lowest bits_of(t) bits: sign-extended for signed types, zero-extended for
// others; and back.
int64_t sign_value(DType t, uint64_t bits);
uint64_t truncate_bits(DType t, uint64_t value);

// The result bits, or nothing where the operation is not one on integers or bools. `t` is the
// operands' type.
std::optional<uint64_t> fold_unary(Op op, DType t, uint64_t a);
std::optional<uint64_t> fold_binary(Op op, DType t, uint64_t a, uint64_t b);
std::optional<bool> fold_compare(Op op, DType t, uint64_t a, uint64_t b);

// Casts whose result is exact, floats included (i32 7 -> f32 7.0, f32 0.5 -> f64 0.5).
std::optional<uint64_t> fold_cast(DType to, DType from, uint64_t a);

}  // namespace ost::kir
