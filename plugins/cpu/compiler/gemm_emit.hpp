// Code of a matrix product's phases (gemm.hpp). The attention strategy uses its packing and its
// tiles too.
#pragma once

#include <algorithm>

#include "plugins/cpu/compiler/gemm.hpp"

namespace ost_cpu {

class GemmEmitter {
 public:
  GemmEmitter(Eval& eval, const GemmPlan& plan) : ev_(eval), e_(eval.e), k_(eval.k), p_(plan) {
    element_ = e_.type(k_.dtype(p_.contracts[0].id));
    size_ = kir::size_of(k_.dtype(p_.contracts[0].id));
  }

  // --- sizes, as code
  Value* rows() { return p_.m == kNone ? e_.i64(1) : ev_.extent(p_.m); }
  Value* columns() { return ev_.extent(p_.n); }
  Value* panels() { return e_.ceil_div(columns(), p_.nr); }
  Value* row_blocks() { return e_.ceil_div(rows(), p_.mc); }
  Value* points(const std::vector<Id>& axes);
  Value* tasks() { return e_.mul(e_.mul(points(p_.outer), row_blocks()), panels()); }
  Value* pack_tasks(const GemmOperand& o, bool is_b) {
    return e_.mul(points(o.outer), is_b ? panels() : rows());
  }
  // Bytes of one packed matrix, without its outer axes.
  Value* matrix_bytes(const GemmContract& c, bool is_b);
  template <class F>
  void for_packed(F&& f) {
    for (const GemmContract& c : p_.contracts) {
      if (c.b.packed) f(c, c.b, true);
      if (c.a.packed) f(c, c.a, false);
    }
  }
  Value* shared_bytes();
  Value* all_pack_tasks();
  // One contraction over one chunk of k needs no totals beyond the tile.
  bool tile_is_enough() const;
  int64_t totals_per_contract() const {
    return (tile_is_enough() ? p_.mr : p_.mc) * static_cast<int64_t>(p_.nr);
  }
  int64_t scratch_bytes() const {
    return tile_is_enough()
               ? 0
               : totals_per_contract() * size_ * static_cast<int64_t>(p_.contracts.size());
  }

  // --- phase 0
  void emit_pack(Value* lo, Value* hi);

  // --- phase 1
  void emit(Value* scratch, Value* lo, Value* hi);

  // --- pieces, for other strategies
  // The start of each packed operand in shared memory, by value.
  void locate();
  // Takes a task number apart over `axes`, the last one fastest, and binds them.
  void bind_outer(const std::vector<Id>& axes, Value* task);
  // Adds the products of k in [lo, hi) to the tile's totals; lo = 0 starts them.
  void tile(const GemmContract& c, Value* panel, Value* i, Value* j, Value* lo, Value* hi,
            Value* totals);

 private:
  // The packed matrix of the bound outer point.
  Value* matrix(const GemmContract& c, const GemmOperand& o, bool is_b);
  void pack_task(const GemmContract& c, const GemmOperand& o, bool is_b, Value* task);
  void put(Value* v, Value* base, Value* index) {
    e_.b.CreateAlignedStore(v, e_.at(element_, base, index), llvm::Align(size_));
  }

  // Row m of A as [k].
  void pack_row(const GemmContract& c, const GemmOperand& o, Value* m);
  Value* value_of(Id v);
  // A panel of B as [k][NR].
  void pack_panel(const GemmContract& c, const GemmOperand& o, Value* panel);
  bool whole_panels() const;
  void pack_columns(const GemmContract& c, const GemmOperand& o, Value* base, Value* j, Value* n,
                    Value* mask);
  // The first `live` columns for k in [lo, hi); the others hold anything.
  void pack_scalars(const GemmContract& c, const GemmOperand& o, Value* base, Value* j, Value* lo,
                    Value* hi, Value* live);
  // Blocks of 16 columns and 16 k: read along k, transposed in registers. Columns behind the last
  // one repeat it.
  void pack_transposed(const GemmContract& c, const GemmOperand& o, Value* base, Value* j,
                       Value* n);

  // --- phase 1
  void run_task(Value* task);
  Value* totals_of(size_t contract, Value* i, Value* i0);
  llvm::Type* wide() const { return Emit::widen(element_, p_.nr); }
  bool divides_rows() const;
  Value* tail_mask(Value* j);
  Values step(const GemmContract& c, Value* at, const Values& acc, std::vector<Eval::Frame>& frames,
              const std::vector<Value*>& packed_rows, Eval::Frame& lanes, Value* packed_panel);
  void add_to(Value* totals, const Values& acc, Value* first);
  // The epilogue of the tile's rows: the contractions' values come from the totals.
  void finish(Value* i, Value* end, Value* j, Value* totals, int64_t contract_stride);
  void finish_vector(Value* line, Value* j, Value* mask, int64_t contract_stride);
  void finish_scalars(Value* line, Value* j, Value* live, int64_t contract_stride);
  void store_with(Value* at, llvm::Type* type, int64_t contract_stride);

  Eval& ev_;
  Emit& e_;
  const kir::Kernel& k_;
  const GemmPlan& p_;
  llvm::Type* element_;
  unsigned size_;
  Value* totals_ = nullptr;
  llvm::DenseMap<const GemmOperand*, Value*> packed_;
};

}  // namespace ost_cpu
