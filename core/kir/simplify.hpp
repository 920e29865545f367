// What the builder does to a well-typed record before it keeps it: constants are folded, identities
// of integers and bools removed, operands put in canonical order; i64 arithmetic goes through the
// index algebra. Floats are left alone (only casts of constants that are exact are folded).
#pragma once

#include "core/kir/pool.hpp"
#include "core/kir/simplify_index.hpp"

namespace ost::kir {

class Simplifier {
 public:
  explicit Simplifier(Pool& pool) : pool_(pool), index_(pool) {}

  // The value of the record: an existing one, or a new one.
  Value run(Inst inst);
  // Appends a store, unless its mask is false.
  void store(Inst inst);
  Range range(Value v) { return index_.range(v); }
  void clear() { index_.clear(); }

 private:
  bool is_constant(Value v) const { return pool_.kernel().op(v) == Op::constant; }
  bool is_constant(Value v, int64_t value) const;
  uint64_t bits(Value v) const { return pool_.kernel().insts[v].imm; }

  Value fold(const Inst& inst) const;  // kNone: not all operands are constant
  Value identity(const Inst& inst);    // kNone: no rule applies
  Value arithmetic_identity(const Inst& inst);
  Value bit_identity(const Inst& inst);
  Value load_identity(const Inst& inst);
  Value where_identity(const Inst& inst);
  void canonical_order(Inst& inst) const;

  void settle_operands(Inst& inst);

  Pool& pool_;
  IndexSimplifier index_;
};

}  // namespace ost::kir
