// Evaluates KIR records at the insertion point. Scopes bind axes: to a scalar, or one axis to the
// lanes of a vector. What does not depend on that axis stays scalar, integers that move evenly
// along it stay {base, stride}, and only the rest becomes vectors. A value is emitted once per
// scope; prepare() emits what a loop needs from outside before it.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "plugins/cpu/compiler/emit.hpp"
#include "plugins/cpu/compiler/facts.hpp"

namespace ost_cpu {

using kir::Id;
using kir::kNone;

struct Val {
  Value* v = nullptr;       // scalar, vector, or the scalar of lane 0 of an even integer
  Value* stride = nullptr;  // even integers: what one lane adds
};

// The vector axis of a scope. Lanes that `mask` switches off compute, but neither read nor write
// memory.
struct Lanes {
  unsigned width = 1;
  Value* mask = nullptr;  // nullptr: all lanes
  Id axis = kNone;
};

class Eval {
 public:
  // `call` is the ost_cpu_call_t; variables are read from it at the current insertion point.
  Eval(Emit& emit, const Facts& facts, Value* call);

  Emit& e;
  const Facts& f;
  const kir::Kernel& k;

  // --- scopes
  struct Frame {
    llvm::DenseMap<Id, Val> known;
    kir::AxisSet bound = 0;
    Lanes lanes;
  };
  // A new innermost scope while it lives. With a frame: that frame, to which it returns what it
  // learns, so that several points of one axis (the rows of a tile) can be prepared before a loop
  // and used inside.
  class Scope {
   public:
    explicit Scope(Eval& eval) : eval_(eval) {
      const Lanes inherited = eval_.lanes();
      eval_.scopes_.emplace_back().lanes = inherited;
    }
    Scope(Eval& eval, Frame& frame) : eval_(eval), frame_(&frame) {
      const Lanes inherited = eval_.lanes();
      if (frame.lanes.axis == kNone) frame.lanes = inherited;
      eval_.scopes_.push_back(std::move(frame));
    }
    ~Scope() {
      if (frame_) *frame_ = std::move(eval_.scopes_.back());
      eval_.scopes_.pop_back();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Eval& eval_;
    Frame* frame_ = nullptr;
  };
  void bind(Id axis, Value* scalar);
  void bind_lanes(Id axis, Value* base, unsigned width, Value* mask);
  void set(Id value, Val v) { scopes_.back().known[value] = v; }
  const Lanes& lanes() const { return scopes_.back().lanes; }
  bool varies(Id value) const { return lanes().axis != kNone && f.depends(value, lanes().axis); }

  // --- values
  // Emits what the roots need and is computable now and not yet known. With `before_carry`, nothing
  // that reads memory which later statements of a carry loop write.
  void prepare(const std::vector<Id>& roots, bool before_carry = false);
  // Emits the roots and all that they need.
  void ensure(const std::vector<Id>& roots, Id context = kNone);
  Val get(Id value);
  Value* scalar(Id value);                                        // of a value that does not vary
  Value* vector(Id value) { return widened(value, get(value)); }  // as wide as the scope's lanes
  Value* natural(Id value) { return varies(value) ? vector(value) : scalar(value); }
  Value* extent(Id axis) { return count(k.src(axis, 0)); }
  Value* count(Id uniform);  // of an integer made of constants and variables
  void store(Id store);      // its operands are ensured
  Value* param(Id param);
  Value* shared();     // the call's shared memory
  void load_params();  // once, in code that runs tasks: a call that asks for the plan has none

  // While `memory` is not nullptr, reductions over an axis store the value at its index
  // (row_cache.hpp).
  void keep(Id value, Value* memory) { kept_ = memory ? value : kNone, kept_at_ = memory; }
  void write_kept(Id axis);  // called by a reduction once its operands are there

  const std::vector<Id>& queue() const {
    return queue_;
  }  // what ensure() or prepare() is busy with
  const Val* lookup(Id value) const;
  kir::AxisSet bound() const;

 private:
  std::vector<Id> missing(const std::vector<Id>& roots, Id context, bool through_reductions) const;
  Val compute(Id v);
  Val compute_op(Id v);
  Val even(Id v);  // integers that stay {base, stride}; no value if v is none
  Value* compare_narrow(Id v);
  Value* divide_narrow(Id v);
  Val where_rare(Id v);
  Value* widened(Id value, Val v);
  Value* narrow(Id value);  // an i64 whose range fits, as i32 lanes

  // eval_memory.cpp
  Val load(Id v);
  Value* scalar_load(Id v, Value* index, Value* mask);
  Value* vector_load(Id v, Value* base, Value* mask);
  Value* gather(Id v, Val index, Value* mask);
  Value* addresses(Id param, Val index, Id index_id);
  Value* lane_mask(Value* extra);
  Value* from_memory(uint32_t dtype, Value* v);
  Value* to_memory(uint32_t dtype, Value* v);

  std::vector<Frame> scopes_;
  std::vector<Id> queue_;
  Value* call_field(size_t offset);

  Value* call_;
  Id kept_ = kNone;
  Value* kept_at_ = nullptr;
  llvm::DenseMap<Id, Value*> params_;
  friend class Scope;
};

// reduce.cpp: emits reduction `r` and those of the queue that can share its loop; their values are
// set in the scope.
void emit_reduction(Eval& eval, Id r);
// attention.cpp
Value* emit_attention(Eval& eval, Id r);

}  // namespace ost_cpu
