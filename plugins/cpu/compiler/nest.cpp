#include "plugins/cpu/compiler/nest.hpp"

#include <algorithm>
#include <bit>

namespace ost_cpu {

using kir::AxisSet;

namespace {

class NestEmitter {
 public:
  NestEmitter(Eval& eval, const Nest& nest) : ev_(eval), e_(eval.e), nest_(nest), k_(eval.k) {}

  Value* chunks() {
    if (!nest_.chunk) return e_.i64(1);
    return e_.ceil_div(ev_.extent(nest_.vector), nest_.chunk);
  }

  Value* tasks() {
    Value* n = chunks();
    for (unsigned i = 0; i < nest_.prefix; ++i) n = e_.mul(n, ev_.extent(nest_.outer[i]));
    return n;
  }

  // A row and as many lanes behind it as a masked vector may touch.
  Value* scratch() {
    if (nest_.stream) return e_.i64(stream_scratch(ev_.f, *nest_.stream));
    if (!nest_.cache) return e_.i64(0);
    return e_.mul(e_.add(ev_.extent(nest_.vector), e_.i64(64)),
                  e_.i64(kir::size_of(k_.dtype(nest_.cache->kept))));
  }

  void emit(Value* scratch, Value* lo, Value* hi) {
    ev_.prepare(extents());
    scratch_ = scratch;
    if (nest_.cache) ev_.keep(nest_.cache->kept, scratch);
    ev_.prepare(roots_from(0));
    e_.loop(lo, hi, 1, [&](Value* task) { run_task(task); });
    if (nest_.cache) ev_.keep(nest_.cache->kept, nullptr);
  }

  // All loops in one piece, without tasks.
  void emit_all() { level(0, nullptr); }

 private:
  std::vector<Id> extents() const {
    std::vector<Id> ids;
    for (const Id axis : nest_.outer) ids.push_back(k_.src(axis, 0));
    if (nest_.vector != kNone) ids.push_back(k_.src(nest_.vector, 0));
    return ids;
  }

  size_t level_of(const Statement& part) const {
    const bool innermost =
        &part == &nest_.parts.back() || part.parallel == nest_.parts.back().parallel;
    return innermost && nest_.vector != kNone ? nest_.outer.size() + 1
                                              : static_cast<size_t>(std::popcount(part.parallel));
  }

  // Operands of the stores that happen at this level or further in.
  std::vector<Id> roots_from(size_t level) const {
    std::vector<Id> ids;
    for (const Statement& part : nest_.parts) {
      if (level_of(part) < level) continue;
      const auto more = operands_of(k_, part.stores);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }

  void run_task(Value* task) {
    Value* count = chunks();
    Value* chunk = nullptr;
    if (nest_.chunk) {
      chunk = is_one(count) ? e_.i64(0) : e_.b.CreateURem(task, count);
      if (!is_one(count)) task = e_.b.CreateUDiv(task, count);
    }
    bind_prefix(static_cast<unsigned>(nest_.prefix), task, chunk);
  }

  static bool is_one(Value* v) {
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
    return c && c->isOne();
  }

  // Takes the task number apart, innermost axis first, then goes on inside.
  void bind_prefix(unsigned count, Value* task, Value* chunk) {
    Eval::Scope scope(ev_);
    for (unsigned i = count; i-- > 0;) {
      Value* n = ev_.extent(nest_.outer[i]);
      ev_.bind(nest_.outer[i], i == 0 ? task : e_.b.CreateURem(task, n));
      if (i) task = e_.b.CreateUDiv(task, n);
    }
    inside(count, chunk);
  }

  // The loop over outer axis `i`, or the vector axis behind the last one.
  void level(unsigned i, Value* chunk) {
    if (i == nest_.outer.size()) {
      if (nest_.vector != kNone) vector_loop(chunk);
      return;
    }
    e_.loop(e_.i64(0), ev_.extent(nest_.outer[i]), 1, [&](Value* at) {
      Eval::Scope scope(ev_);
      ev_.bind(nest_.outer[i], at);
      inside(i + 1, chunk);
    });
  }

  // With `i` outer axes bound: what can be computed here, the stores of this level, the next loop.
  void inside(unsigned i, Value* chunk) {
    ev_.prepare(roots_from(i));
    stores_at(i);
    level(i, chunk);
  }

  void stores_at(size_t level) {
    for (const Statement& part : nest_.parts) {
      if (level_of(part) != level) continue;
      ev_.ensure(operands_of(k_, part.stores));
      for (const Id s : part.stores) ev_.store(s);
    }
  }

  void vector_loop(Value* chunk) {
    Value* lo = e_.i64(0);
    Value* hi = ev_.extent(nest_.vector);
    if (chunk) {
      lo = e_.mul(chunk, e_.i64(nest_.chunk));
      hi = e_.min(e_.add(lo, e_.i64(nest_.chunk)), hi);
    }
    if (nest_.stream && scratch_) {
      return emit_stream(ev_, *nest_.stream,
                         {nest_.vector, nest_.width, nest_.masked_tail, scratch_, lo, hi},
                         [&] { stores_at(nest_.outer.size() + 1); });
    }
    Value* rest = e_.b.CreateAnd(e_.b.CreateSub(hi, lo), e_.i64(nest_.width - 1));
    const auto n = ev_.f.a.const_extent(nest_.vector);
    if (n && *n % nest_.width == 0) rest = e_.i64(0);  // chunks are multiples of the width
    Value* main_end = e_.b.CreateSub(hi, rest);
    e_.loop(lo, main_end, nest_.width, [&](Value* at) { vector_body(at, nullptr); });
    if (nest_.masked_tail) {
      e_.when(e_.b.CreateICmpSGT(rest, e_.i64(0)),
              [&] { vector_body(main_end, e_.prefix_mask(rest, nest_.width)); });
      return;
    }
    if (const auto* none = llvm::dyn_cast<llvm::ConstantInt>(rest); none && none->isZero()) return;
    e_.loop(main_end, hi, 1, [&](Value* at) {
      Eval::Scope scope(ev_);
      ev_.bind(nest_.vector, at);
      reuse(at, 1);
      stores_at(nest_.outer.size() + 1);
    });
  }

  void reuse(Value* at, unsigned width) {
    if (!nest_.cache || !scratch_) return;
    llvm::Type* t = e_.type(k_.dtype(nest_.cache->reused));
    const llvm::Align align = Emit::align_of(k_.dtype(nest_.cache->reused));
    ev_.set(nest_.cache->reused,
            {e_.b.CreateAlignedLoad(Emit::widen(t, width), e_.at(t, scratch_, at), align)});
  }

  void vector_body(Value* at, Value* mask) {
    Eval::Scope scope(ev_);
    ev_.bind_lanes(nest_.vector, at, nest_.width, mask);
    reuse(at, nest_.width);
    stores_at(nest_.outer.size() + 1);
  }

  Eval& ev_;
  Emit& e_;
  const Nest& nest_;
  const kir::Kernel& k_;
  Value* scratch_ = nullptr;  // nullptr: none, as under carry axes
};

// Continues the loops over carry axes that the last statement was in, as far as they are the same.
class CarryEmitter {
 public:
  CarryEmitter(Eval& eval, FeatureSet isa, const std::vector<Statement>& statements)
      : ev_(eval), isa_(isa), statements_(statements) {}

  void run(size_t from, size_t to, AxisSet entered) {
    for (size_t i = from; i < to;) {
      const AxisSet more = statements_[i].carry & ~entered;
      if (!more) {
        statement(statements_[i++]);
        continue;
      }
      const Id axis = ev_.f.a.axes()[static_cast<size_t>(std::countr_zero(more))];
      const AxisSet bit = ev_.f.a.bit(axis);
      size_t end = i + 1;
      while (end < to && first_bit(statements_[end].carry & ~entered) == bit) ++end;
      prepare(i, end);
      ev_.e.loop(ev_.e.i64(0), ev_.extent(axis), 1, [&](Value* at) {
        Eval::Scope scope(ev_);
        ev_.bind(axis, at);
        run(i, end, entered | bit);
      });
      i = end;
    }
  }

 private:
  static AxisSet first_bit(AxisSet set) { return set & (~set + 1); }

  void prepare(size_t from, size_t to) {
    std::vector<Id> roots;
    for (size_t i = from; i < to; ++i) {
      const auto more = operands_of(ev_.k, statements_[i].stores);
      roots.insert(roots.end(), more.begin(), more.end());
    }
    ev_.prepare(roots, true);
  }

  void statement(const Statement& s) {
    Eval::Scope scope(ev_);
    const Nest nest = plan_nest(ev_.f, isa_, {s});
    NestEmitter emitter(ev_, nest);
    if (s.parallel) {
      ev_.prepare(operands_of(ev_.k, s.stores));
      emitter.emit_all();
    } else {
      ev_.ensure(operands_of(ev_.k, s.stores));
      for (const Id store : s.stores) ev_.store(store);
    }
  }

  Eval& ev_;
  FeatureSet isa_;
  const std::vector<Statement>& statements_;
};

}  // namespace

Value* nest_tasks(Eval& eval, const Nest& nest) { return NestEmitter(eval, nest).tasks(); }
Value* nest_scratch(Eval& eval, const Nest& nest) { return NestEmitter(eval, nest).scratch(); }
void emit_nest(Eval& eval, const Nest& nest, Value* scratch, Value* lo, Value* hi) {
  NestEmitter(eval, nest).emit(scratch, lo, hi);
}
void emit_carry(Eval& eval, FeatureSet isa, const std::vector<Statement>& statements) {
  CarryEmitter(eval, isa, statements).run(0, statements.size(), 0);
}

}  // namespace ost_cpu
