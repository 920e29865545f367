// What fusion tells operations apart by.
#pragma once

#include "core/ir/graph.hpp"

namespace ost {

// What it costs to compute a node once more, in simple operations.
inline int cost_of(ir::Op op) {
  switch (op) {
    case ir::Op::exp:
    case ir::Op::exp2:
    case ir::Op::expm1:
    case ir::Op::log:
    case ir::Op::log2:
    case ir::Op::log1p:
    case ir::Op::sin:
    case ir::Op::cos:
    case ir::Op::tanh:
    case ir::Op::sigmoid:
    case ir::Op::silu:
    case ir::Op::erf:
    case ir::Op::gelu:
    case ir::Op::rsqrt:
    case ir::Op::pow:
      return 16;
    case ir::Op::div:
    case ir::Op::rem:
    case ir::Op::sqrt:
    case ir::Op::gather:
      return 4;
    case ir::Op::where:
    case ir::Op::pad:
      return 1;
    default:
      return ir::is_movement(op) ? 0 : 1;
  }
}

inline bool is_source(ir::Op op) {
  return op == ir::Op::input || op == ir::Op::full || op == ir::Op::iota || op == ir::Op::size;
}
inline bool is_constant(ir::Op op) {
  return op == ir::Op::full || op == ir::Op::iota || op == ir::Op::size;
}
inline bool is_writer(ir::Op op) {
  return op == ir::Op::assign || op == ir::Op::scatter || op == ir::Op::scatter_add ||
         op == ir::Op::copy;
}
// Contractions that a device tiles; those with the order `tree` are rows with two operands.
inline bool is_tiled(const ir::Node& n) {
  return (n.op == ir::Op::contract && n.order != kir::Order::tree) || n.op == ir::Op::attention;
}
inline bool is_row_reduction(const ir::Node& n) {
  return ir::is_reduction(n.op) || (n.op == ir::Op::contract && !is_tiled(n));
}

}  // namespace ost
