// Reductions, in the exact order of their tag. Two ways:
//   across  the reduced axis becomes the lanes: 64 accumulators are one vector, as order `tree`
//   wants it. For results
//           that do not vary along the scope's own lanes, orders `any` and `tree`.
//   along   a loop over the axis, each lane of the scope (or the scalar) with an accumulator of its
//   own. Any order.
// Reductions over one axis that do not need each other share a loop.
#include <algorithm>
#include <utility>

#include "plugins/cpu/compiler/accumulate.hpp"
#include "plugins/cpu/compiler/eval.hpp"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kChunk = 4096;  // of order tree
constexpr int64_t kBlock = 256;   // of order blk256
constexpr unsigned kLanes = 64;   // accumulators of order tree
constexpr size_t kMaxGroup = 8;

class Reduction {
 public:
  Reduction(Eval& eval, Id first)
      : ev_(eval),
        e_(eval.e),
        f_(eval.f),
        k_(eval.k),
        axis_(k_.reduced_axis(first)),
        across_(is_across(first)),
        acc_(eval, axis_, find_group(first)) {}

  void emit() {
    ev_.prepare(acc_.operands());
    n_ = ev_.extent(axis_);
    width_ = lanes_wanted();
    unsigned levels = 0;
    if (has_tree()) {
      for (int64_t reach = kChunk; reach < f_.a.max_extent(axis_) && levels < 4; ++levels)
        reach *= kChunk;
    }
    const Values r =
        across_ || has_tree() ? chunks(levels, e_.i64(0), n_, acc_.initial(width_)) : blocks();
    size_t at = 0;
    for (const Id id : acc_.group()) {
      ev_.set(id, {result(id, r, at)});
      at += acc_.count(id);
    }
  }

 private:
  bool is_tree(Id r) const { return f_.order(r) == OST_KIR_ORDER_TREE; }
  bool has_tree() const {
    return std::any_of(acc_.group().begin(), acc_.group().end(), [&](Id r) { return is_tree(r); });
  }
  bool is_across(Id r) const { return !ev_.varies(r) && f_.order(r) != OST_KIR_ORDER_BLK256; }

  // The reduction and those of the queue that can share its loop.
  std::vector<Id> find_group(Id first) const {
    std::vector<Id> group{first};
    for (const Id r : ev_.queue())
      if (group.size() < kMaxGroup && joins(r, group)) group.push_back(r);
    return group;
  }
  bool joins(Id r, const std::vector<Id>& group) const {
    const Id first = group[0];
    if (!kir::is_reduction(k_.op(r)) || k_.op(r) == OST_KIR_OP_ATTN) return false;
    if (k_.reduced_axis(r) != axis_ || ev_.lookup(r) || is_across(r) != across_) return false;
    if ((f_.a.deps(r) & ~ev_.bound()) != 0 || f_.owner[r] != f_.owner[first]) return false;
    if (!across_ && (f_.order(r) != f_.order(first) || ev_.varies(r) != ev_.varies(first)))
      return false;
    return std::none_of(group.begin(), group.end(),
                        [&](Id g) { return f_.needs(r, g) || f_.needs(g, r); });
  }

  // Few lanes for a short axis: the accumulators that no element reaches would stay at the
  // identity.
  unsigned lanes_wanted() const {
    if (!across_) return ev_.varies(acc_.group()[0]) ? ev_.lanes().width : 1;
    const auto n = f_.a.const_extent(axis_);
    return !n || *n > 32 ? kLanes : *n > 16 ? 32 : 16;
  }

  Values step(const Values& acc) {
    return acc_.step(acc, width_, across_ && width_ > 1 ? ev_.lanes().mask : nullptr);
  }

  // --- across, and order tree along: chunks of 4,096^(level+1) elements
  // `acc`: associative accumulators are carried on, those of order tree are the chunk's results
  // when it ends.
  Values chunks(unsigned level, Value* lo, Value* hi, const Values& acc) {
    if (level == 0) return across_ ? lanes64(lo, hi, acc) : lanes64_in_memory(lo, hi, acc);
    int64_t size = 1;
    for (unsigned i = 0; i < level; ++i) size *= kChunk;
    std::vector<Value*> memory = tree_memory();
    const Values last = e_.loop(lo, hi, size, acc, [&](Value* at, const Values& current) {
      const Values next = chunks(level - 1, at, e_.min(e_.add(at, e_.i64(size)), hi), current);
      Value* lane =
          e_.b.CreateAnd(e_.b.CreateUDiv(e_.b.CreateSub(at, lo), e_.i64(size)), e_.i64(kLanes - 1));
      for_trees([&](size_t i, size_t slot, Id r) {
        accumulate(memory[i], lane, r, result_value(r, next[slot]));
      });
      return next;
    });
    Values out = last;
    Value* single = e_.b.CreateICmpSLE(e_.b.CreateSub(hi, lo), e_.i64(size));
    for_trees([&](size_t i, size_t slot, Id r) {
      Value* folded = fold_memory(memory[i], r);
      out[slot] = as_accumulator(e_.b.CreateSelect(single, result_value(r, last[slot]), folded));
    });
    return out;
  }

  // Order tree keeps its running results in the accumulators' slots: the value sits in lane 0
  // (across) or is the accumulator itself (along).
  Value* result_value(Id r, Value* acc) {
    return across_ && is_tree(r) ? e_.b.CreateExtractElement(acc, uint64_t{0}) : acc;
  }
  Value* as_accumulator(Value* v) {
    return across_ ? e_.b.CreateInsertElement(Emit::zero(Emit::widen(v->getType(), width_)), v,
                                              uint64_t{0})
                   : v;
  }

  template <class F>
  void for_trees(F&& f) {
    size_t i = 0, slot = 0;
    for (const Id r : acc_.group()) {
      if (is_tree(r)) f(i, slot, r);
      ++i, slot += acc_.count(r);
    }
  }

  Values lanes64(Value* lo, Value* hi, const Values& acc) {
    Values start = acc;
    const Values fresh = acc_.initial(width_);
    for_trees([&](size_t, size_t slot, Id) { start[slot] = fresh[slot]; });
    Value* count = e_.b.CreateSub(hi, lo);
    Value* rest = e_.b.CreateAnd(count, e_.i64(width_ - 1));
    Value* main_end = e_.b.CreateSub(hi, rest);
    const Values whole =
        e_.loop(lo, main_end, width_, start, [&](Value* at, const Values& current) {
          Eval::Scope scope(ev_);
          ev_.bind_lanes(axis_, at, width_, nullptr);
          return step(current);
        });
    const auto masked = [&] {
      Eval::Scope scope(ev_);
      ev_.bind_lanes(axis_, main_end, width_, e_.prefix_mask(rest, width_));
      return step(whole);
    };
    Values r = e_.branch(
        e_.b.CreateICmpSGT(rest, e_.i64(0)),
        [&] { return masks_are_cheap() ? masked() : tail_in_memory(main_end, hi, whole); },
        [&] { return whole; });
    for_trees([&](size_t, size_t slot, Id t) { r[slot] = as_accumulator(fold_lanes(t, r[slot])); });
    return r;
  }

  // Without masked memory operations each of them would become a branch per lane.
  bool masks_are_cheap() const {
    if (e_.avx512) return true;
    if (!has(e_.isa, "avx2")) return false;
    for (const Id v : f_.closure(acc_.operands())) {
      if (k_.op(v) != OST_KIR_OP_LOAD || !f_.depends(v, axis_)) continue;
      if (kir::size_of(k_.dtype(v)) < 4 || !f_.a.stride(k_.src(v, 1), axis_).is(1)) return false;
    }
    return true;
  }

  // The last few elements one by one, into the accumulator of their lane.
  Values tail_in_memory(Value* lo, Value* hi, const Values& acc) {
    std::vector<Value*> memory;
    const auto stored = [&](llvm::Type* t) {
      return t->isIntegerTy(1) ? static_cast<llvm::Type*>(e_.b.getInt8Ty()) : t;
    };
    for (Value* v : acc) {
      llvm::Type* t = stored(v->getType()->getScalarType());
      memory.push_back(e_.stack(t, width_));
      e_.b.CreateStore(
          t == v->getType()->getScalarType() ? v : e_.b.CreateZExt(v, Emit::widen(t, width_)),
          memory.back());
    }
    const unsigned width = std::exchange(width_, 1);
    e_.loop(lo, hi, 1, [&](Value* at) {
      Eval::Scope scope(ev_);
      ev_.bind(axis_, at);
      Value* lane = e_.b.CreateSub(at, lo);
      Values in;
      const auto slot = [&](size_t i) {
        return e_.at(stored(acc[i]->getType()->getScalarType()), memory[i], lane);
      };
      for (size_t i = 0; i < acc.size(); ++i) {
        llvm::Type* t = acc[i]->getType()->getScalarType();
        Value* v = e_.b.CreateLoad(stored(t), slot(i));
        in.push_back(t == stored(t) ? v : e_.b.CreateTrunc(v, t));
      }
      const Values out = step(in);
      for (size_t i = 0; i < acc.size(); ++i)
        e_.b.CreateStore(e_.b.CreateZExtOrBitCast(out[i], stored(out[i]->getType())), slot(i));
    });
    width_ = width;
    Values r;
    for (size_t i = 0; i < acc.size(); ++i) {
      llvm::Type* t = acc[i]->getType()->getScalarType();
      Value* v = e_.b.CreateLoad(Emit::widen(stored(t), width_), memory[i]);
      r.push_back(t == stored(t) ? v : e_.b.CreateTrunc(v, acc[i]->getType()));
    }
    return r;
  }

  Value* fold_lanes(Id r, Value* acc) {
    if (width_ < kLanes)
      acc = acc_.merge(r, acc, emit_identity(e_, acc_.combine(r), acc_.type(r), width_));
    return e_.fold(acc, [&](Value* x, Value* y) { return acc_.merge(r, x, y); });
  }

  // --- the 64 accumulators of order tree in memory, for values that vary along the scope's lanes
  llvm::Type* element(Id r) { return Emit::widen(e_.type(acc_.type(r)), across_ ? 1 : width_); }
  Value* slot_address(Value* memory, Id r, Value* lane) { return e_.at(element(r), memory, lane); }

  std::vector<Value*> tree_memory() {
    std::vector<Value*> memory(acc_.group().size());
    for_trees([&](size_t i, size_t, Id r) { memory[i] = e_.stack(element(r), kLanes); });
    clear(memory);
    return memory;
  }
  void clear(const std::vector<Value*>& memory) {
    e_.loop(e_.i64(0), e_.i64(kLanes), 1, [&](Value* lane) {
      for_trees([&](size_t i, size_t, Id r) {
        e_.b.CreateStore(emit_identity(e_, acc_.combine(r), acc_.type(r), Emit::lanes(element(r))),
                         slot_address(memory[i], r, lane));
      });
    });
  }
  void accumulate(Value* memory, Value* lane, Id r, Value* x) {
    Value* p = slot_address(memory, r, lane);
    e_.b.CreateStore(acc_.merge(r, e_.b.CreateLoad(element(r), p), x), p);
  }
  Value* fold_memory(Value* memory, Id r) {
    llvm::Type* t = element(r);
    for (unsigned w = kLanes / 2; w > 0; w /= 2) {
      e_.loop(e_.i64(0), e_.i64(w), 1, [&](Value* lane) {
        Value *p = slot_address(memory, r, lane),
              *q = slot_address(memory, r, e_.add(lane, e_.i64(w)));
        e_.b.CreateStore(acc_.merge(r, e_.b.CreateLoad(t, p), e_.b.CreateLoad(t, q)), p);
      });
    }
    return e_.b.CreateLoad(t, memory);
  }

  Values lanes64_in_memory(Value* lo, Value* hi, const Values& acc) {
    std::vector<Value*> memory = tree_memory();
    Values r = e_.loop(lo, hi, 1, acc, [&](Value* at, const Values& current) {
      Eval::Scope scope(ev_);
      ev_.bind(axis_, at);
      Value* lane = e_.b.CreateAnd(e_.b.CreateSub(at, lo), e_.i64(kLanes - 1));
      Values in = current;
      for_trees([&](size_t i, size_t slot, Id t) {
        in[slot] = e_.b.CreateLoad(element(t), slot_address(memory[i], t, lane));
      });
      Values next = step(in);
      for_trees([&](size_t i, size_t slot, Id t) {
        e_.b.CreateStore(next[slot], slot_address(memory[i], t, lane));
        next[slot] = current[slot];
      });
      return next;
    });
    for_trees([&](size_t i, size_t slot, Id t) { r[slot] = fold_memory(memory[i], t); });
    return r;
  }

  // --- along, orders any and blk256
  Values chain(Value* lo, Value* hi, const Values& acc) {
    return e_.loop(lo, hi, 1, acc, [&](Value* at, const Values& current) {
      Eval::Scope scope(ev_);
      ev_.bind(axis_, at);
      return step(current);
    });
  }

  Values blocks() {
    if (f_.order(acc_.group()[0]) == OST_KIR_ORDER_ANY)
      return chain(e_.i64(0), n_, acc_.initial(width_));
    return e_.loop(
        e_.i64(0), n_, kBlock, acc_.initial(width_), [&](Value* at, const Values& total) {
          const Values s = chain(at, e_.min(e_.add(at, e_.i64(kBlock)), n_), acc_.initial(width_));
          Value* first = e_.b.CreateICmpEQ(at, e_.i64(0));
          Values next;
          for (size_t i = 0; i < s.size(); ++i)
            next.push_back(
                e_.b.CreateSelect(first, s[i], acc_.merge(acc_.group()[i], total[i], s[i])));
          return next;
        });
  }

  // --- from accumulators to the value
  Value* result(Id r, const Values& acc, size_t at) {
    if (!across_) return acc_.is_arg(r) ? acc[at + 1] : acc[at];
    if (is_tree(r)) return result_value(r, acc[at]);
    if (acc_.is_arg(r)) return fold_arg(r, acc[at], acc[at + 1]);
    return e_.fold(acc[at], [&](Value* x, Value* y) { return acc_.merge(r, x, y); });
  }

  // The better of two lanes; of equals, or of two NaNs, the one with the smaller index.
  Value* fold_arg(Id r, Value* best, Value* index) {
    for (unsigned w = width_ / 2; w > 0; w /= 2) {
      Value *b0 = e_.slice(best, 0, w), *b1 = e_.slice(best, w, w), *i0 = e_.slice(index, 0, w),
            *i1 = e_.slice(index, w, w);
      Value* equal = emit_op(e_, OST_KIR_OP_EQ, acc_.type(r), {b0, b1});
      if (kir::is_float(acc_.type(r)))
        equal = e_.b.CreateOr(
            equal, e_.b.CreateAnd(e_.b.CreateFCmpUNO(b0, b0), e_.b.CreateFCmpUNO(b1, b1)));
      Value* second =
          e_.b.CreateOr(acc_.beyond(r, b1, b0), e_.b.CreateAnd(equal, e_.b.CreateICmpSLT(i1, i0)));
      best = e_.b.CreateSelect(second, b1, b0);
      index = e_.b.CreateSelect(second, i1, i0);
    }
    return e_.b.CreateExtractElement(index, uint64_t{0});
  }

  Eval& ev_;
  Emit& e_;
  const Facts& f_;
  const kir::Kernel& k_;
  Id axis_;
  bool across_;
  Accumulators acc_;
  unsigned width_ = 1;
  Value* n_ = nullptr;
};

}  // namespace

void emit_reduction(Eval& eval, Id r) {
  if (eval.k.op(r) == OST_KIR_OP_ATTN)
    eval.set(r, {emit_attention(eval, r)});
  else
    Reduction(eval, r).emit();
}

}  // namespace ost_cpu
