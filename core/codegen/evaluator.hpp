// Emits the values of a kernel of level 1 as records of level 2: each once per region that it is
// needed in, with the axes bound to what the layout says.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/codegen/group_builder.hpp"
#include "core/codegen/statement.hpp"
#include "core/kir/range.hpp"

namespace ost::codegen {

// Which lanes of a group share a row: all, or neighbouring ones where a group has several rows.
struct RowLanes {
  int64_t count = 1;         // a power of two
  int64_t slices = 1;        // of 64 lanes, where a row has more than 64: they share its chunks
  Value lane = kNone;        // of the row
  Value first_lane = kNone;  // of the row in the group
};

class Evaluator {
 public:
  Evaluator(const kir::Kernel& kernel, const kir::Scope& scope, GroupBuilder& builder);

  // All variables and parameters; before anything else.
  void declare();

  // The value at the bound axes; emitted if it is not there yet.
  Value value(Value v);
  void bind(Value axis, Value index);
  void bind(const std::vector<Value>& axes, const std::vector<Value>& digits);
  // What a record is from here to the end of the region.
  void give(Value record, Value now) { set(record, now); }
  AxisSet bound() const { return bound_; }

  // Emits what the roots need and what no axis that is not bound yet decides, so that it is not
  // computed again in every turn of the loops to come. `tainted`: records to leave out.
  void prepare(const std::vector<Value>& roots, const std::vector<char>* tainted = nullptr);

  // A region: what is emitted or bound in it is forgotten at its end.
  template <class F>
  void loop(Value begin, Value end, int64_t step, F&& body, bool unroll = false) {
    const Value i = b_.open_loop(begin, end, step, unroll);
    const size_t mark = enter();
    body(i);
    leave(mark);
    b_.close();
  }
  template <class F>
  void when(Value condition, F&& body) {
    b_.open_if(condition);
    const size_t mark = enter();
    body();
    leave(mark);
    b_.close();
  }
  // Forgets what the body emitted although it is no region: memory has changed since.
  template <class F>
  void afresh(F&& body) {
    const size_t mark = enter();
    body();
    leave(mark);
  }

  // True while all lanes of a row compute the same values: reductions are shared by the lanes.
  bool together = false;
  RowLanes row;

  const kir::Kernel& kernel() const { return k_; }
  const kir::Scope& scope() const { return scope_; }
  GroupBuilder& builder() { return b_; }
  Value extent(Value axis) { return value(k_.insts[axis].src[0]); }
  kir::Range extent_range(Value axis) const { return ranges_[k_.insts[axis].src[0]]; }
  int64_t max_extent(Value axis) const { return extent_range(axis).hi; }
  // Points of an axis, and of several: extents below 1 are axes without points.
  Value count(Value axis);
  Value points(const std::vector<Value>& axes);
  // The digits of a row-major index over axes.
  std::vector<Value> digits(Value index, const std::vector<Value>& axes);
  // exp(x) in f32, strict.
  Value exp(Value x);
  // An array with an element for each lane of the group; who uses it leaves a barrier behind.
  // `which`: 0 or 1, for two at a time.
  Value scratch(DType type, int which = 0);

 private:
  struct Undo {
    Value record;
    Value before;
  };
  size_t enter() { return undo_.size(); }
  void leave(size_t mark);
  void set(Value record, Value now);
  Value emit(Value v);
  Value emit_rare(const kir::Inst& inst, Value v);

  const kir::Kernel& k_;
  const kir::Scope& scope_;
  GroupBuilder& b_;
  std::vector<Value> now_;  // by record of level 1
  std::vector<Undo> undo_;
  std::vector<kir::Range> ranges_;  // by record
  AxisSet bound_ = 0;
  kir::Kernel exp_;  // the expansion, made at first use
  std::map<std::pair<DType, int>, Value> scratch_;
};

// reduce.cpp: the value of a reduction at the bound axes.
Value emit_reduction(Evaluator& e, Value v);
// attention.cpp
Value emit_attention(Evaluator& e, Value v);

}  // namespace ost::codegen
