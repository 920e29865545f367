// Element-wise operations of the interpreter on blocks of elements: one function for each operation
// and type, each a plain loop over the definition in semantics.hpp, so that an oracle over 2^32
// inputs takes a minute and not an hour.
#pragma once

#include <cstddef>

#include "core/kir/kernel.hpp"

namespace ost::kir::interp {

inline constexpr size_t kBlock =
    512;  // divides 4,096 and is a multiple of 256: order tags see whole chunks

// out[i] = op(a[i], b[i], c[i]) for i < n; operands that the operation lacks are ignored. `out`
// aliases no operand.
using BlockFn = void (*)(size_t n, void* out, const void* a, const void* b, const void* c);

// nullptr where the operation is not element-wise or not defined for the type of its (first value)
// operand.
BlockFn elementwise_fn(Op op, DType operand);
BlockFn cast_fn(DType to, DType from);
BlockFn fma_fn(DType type);
// Either, for a record of type `type` whose first operand has type `operand`.
BlockFn block_fn(Op op, DType type, DType operand);
// out[i] = *a for i < n, by element size in bytes.
BlockFn broadcast_fn(uint32_t size);

// The chains of a contraction in f32 or f64, with a hardware fma where the CPU has one.
struct FmaLoops {
  BlockFn f32, f64;  // a * b + c
  float (*chain_f32)(size_t n, const float* x, const float* y,
                     float acc);  // acc = fma(x[i], y[i], acc), i ascending
  double (*chain_f64)(size_t n, const double* x, const double* y, double acc);
  void (*lanes_f32)(size_t n, const float* x, const float* y, float* lanes);  // into lane i mod 64
  void (*lanes_f64)(size_t n, const double* x, const double* y, double* lanes);
};
const FmaLoops& fma_loops();

}  // namespace ost::kir::interp
