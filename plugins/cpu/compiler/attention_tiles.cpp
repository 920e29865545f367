#include "plugins/cpu/compiler/attention_tiles.hpp"

#include <memory>

#include "plugins/cpu/compiler/gemm_emit.hpp"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kKeys = 64;     // of a block
constexpr int64_t kChunk = 1024;  // keys that start afresh

class TilesEmitter {
 public:
  TilesEmitter(Eval& eval, const AttentionPlan& plan)
      : ev_(eval),
        e_(eval.e),
        k_(eval.k),
        p_(plan),
        g_(plan.scores),
        gemm_(eval, plan.scores),
        f32_(e_.b.getFloatTy()) {}

  Value* tasks() { return e_.mul(gemm_.points(p_.outer), gemm_.row_blocks()); }

  void emit(Value* lo, Value* hi) {
    gemm_.locate();
    const auto rows = static_cast<uint64_t>(g_.mr), channels = static_cast<uint64_t>(p_.channels);
    scores_ = e_.stack(f32_, rows * kKeys);
    weights_ = e_.stack(f32_, rows * kKeys);
    visible_ = e_.stack(e_.b.getInt8Ty(), rows * kKeys);
    for (Value** state : {&m_, &l_, &rescale_, &all_m_, &all_l_}) *state = e_.stack(f32_, rows);
    mixed_ = e_.stack(f32_, rows * channels);
    all_mixed_ = one_chunk() ? mixed_ : e_.stack(f32_, rows * channels);
    std::vector<Id> extents{k_.src(g_.n, 0), k_.src(g_.m, 0)};
    for (const Id axis : p_.outer) extents.push_back(k_.src(axis, 0));
    ev_.prepare(extents);
    ev_.prepare(operands_of(k_, g_.stores));
    e_.loop(lo, hi, 1, [&](Value* task) { run_task(task); });
  }

 private:
  bool one_chunk() const { return ev_.f.a.max_extent(g_.n) <= kChunk; }
  Id score() const { return k_.src(p_.attention, 0); }
  Id mask() const { return k_.src(p_.attention, 1); }
  Id value() const { return k_.src(p_.attention, 2); }

  Value* slot(Value* array, Value* r) { return e_.at(f32_, array, r); }
  Value* load(Value* array, Value* r) { return e_.b.CreateLoad(f32_, slot(array, r)); }
  void save(Value* v, Value* array, Value* r) { e_.b.CreateStore(v, slot(array, r)); }
  llvm::Type* lanes() const { return Emit::widen(f32_, g_.nr); }
  Value* channel_slot(Value* array, Value* r, Value* d) {
    return e_.at(f32_, array, e_.add(e_.mul(r, e_.i64(p_.channels)), d));
  }
  Value* load_lanes(Value* p) { return e_.b.CreateAlignedLoad(lanes(), p, llvm::Align(4)); }
  void save_lanes(Value* v, Value* p) { e_.b.CreateAlignedStore(v, p, llvm::Align(4)); }

  static Value* minus_infinity(llvm::Type* t) { return llvm::ConstantFP::getInfinity(t, true); }
  Value* max(Value* x, Value* y) {
    return emit_combine(e_, OST_KIR_COMBINE_MAX, OST_DTYPE_F32, x, y);
  }
  Value* base(Value* m) {
    return e_.b.CreateSelect(e_.b.CreateFCmpOEQ(m, minus_infinity(m->getType())),
                             Emit::zero(m->getType()), m);
  }
  Value* exp_of(Value* x, Value* m) { return emit_exp_f32(e_, e_.b.CreateFSub(x, m)); }

  void for_rows(llvm::function_ref<void(Value* r)> body) {
    e_.loop(e_.i64(0), e_.i64(g_.mr), 1, body);
  }
  void for_channels(llvm::function_ref<void(Value* d)> body) {
    e_.loop(e_.i64(0), e_.i64(p_.channels), g_.nr, body);
  }

  void run_task(Value* task) {
    Eval::Scope scope(ev_);
    Value* block = e_.b.CreateURem(task, gemm_.row_blocks());
    gemm_.bind_outer(p_.outer, e_.b.CreateUDiv(task, gemm_.row_blocks()));
    ev_.prepare(operands_of(k_, g_.stores));
    Value* i = e_.mul(block, e_.i64(g_.mr));
    Value* n = ev_.extent(g_.n);
    if (one_chunk()) {
      chunk(i, e_.i64(0), n);
      finish(i, l_, mixed_);
      return;
    }
    // At least one chunk, so that the state is set if there are no keys.
    e_.loop(e_.i64(0), e_.max(n, e_.i64(1)), kChunk, [&](Value* at) {
      chunk(i, at, e_.min(e_.add(at, e_.i64(kChunk)), n));
      for_rows([&](Value* r) { combine_row(r, e_.b.CreateICmpEQ(at, e_.i64(0))); });
    });
    finish(i, all_l_, all_mixed_);
  }

  // m_, l_ and mixed_ of the keys [lo, hi), from nothing.
  void chunk(Value* i, Value* lo, Value* hi) {
    for_rows([&](Value* r) {
      save(minus_infinity(f32_), m_, r);
      save(Emit::zero(f32_), l_, r);
      for_channels([&](Value* d) { save_lanes(Emit::zero(lanes()), channel_slot(mixed_, r, d)); });
    });
    e_.loop(lo, hi, kKeys, [&](Value* first) {
      Value* count = e_.min(e_.b.CreateSub(hi, first), e_.i64(kKeys));
      make_scores(i, first);
      Value* hidden = weigh(i, first, count);
      for_channels([&](Value* d) {
        e_.branch(
            hidden, [&] { return mix(first, count, d, true), Values{}; },
            [&] { return mix(first, count, d, false), Values{}; });
      });
    });
  }

  // scores_[panel][row][nr] of a block of keys. Panels behind the last key are left out: their
  // lanes are masked.
  void make_scores(Value* i, Value* first) {
    const GemmContract& c = g_.contracts[0];
    Value* n = ev_.extent(g_.n);
    e_.loop(e_.i64(0), e_.min(e_.b.CreateSub(n, first), e_.i64(kKeys)), g_.nr, [&](Value* at) {
      Value* j = e_.add(first, at);
      Value* to = e_.at(f32_, scores_, e_.mul(at, e_.i64(g_.mr)));
      gemm_.tile(c, e_.b.CreateUDiv(j, e_.i64(g_.nr)), i, j, e_.i64(0), ev_.extent(c.k), to);
    });
  }

  Value* score_row(Value* r) {
    Values parts;
    for (int64_t at = 0; at < kKeys; at += g_.nr)
      parts.push_back(
          load_lanes(e_.at(f32_, scores_, e_.add(e_.mul(r, e_.i64(g_.nr)), e_.i64(at * g_.mr)))));
    return e_.concat(parts);
  }

  // Scores become weights; rows behind the last one repeat it. Returns whether any key is hidden
  // from any row.
  Value* weigh(Value* i, Value* first, Value* count) {
    Value* last = e_.b.CreateSub(gemm_.rows(), e_.i64(1));
    const Values r = e_.loop(
        e_.i64(0), e_.i64(g_.mr), 1, {e_.b.getFalse()}, [&](Value* row, const Values& hidden) {
          Eval::Scope scope(ev_);
          ev_.bind(g_.m, e_.min(e_.add(i, row), last));
          ev_.bind_lanes(g_.n, first, kKeys, e_.prefix_mask(count, kKeys));
          ev_.set(g_.contracts[0].id, {score_row(row)});
          ev_.ensure({score(), mask()});
          Value* visible = e_.b.CreateAnd(ev_.vector(mask()), ev_.lanes().mask);
          weigh_row(row, ev_.vector(score()), visible);
          Value* here = e_.any(e_.b.CreateAnd(e_.b.CreateNot(visible), ev_.lanes().mask));
          return Values{e_.b.CreateOr(hidden[0], here)};
        });
    return r[0];
  }

  void weigh_row(Value* r, Value* s, Value* visible) {
    Value* before = load(m_, r);
    Value* shown = e_.b.CreateSelect(visible, s, minus_infinity(s->getType()));
    Value* m = max(before, e_.fold(shown, [&](Value* x, Value* y) { return max(x, y); }));
    Value* rescale = exp_of(before, base(m));
    Value* p =
        e_.b.CreateSelect(visible, exp_of(s, e_.splat(base(m), kKeys)), Emit::zero(s->getType()));
    Value* total = e_.fold(p, [&](Value* x, Value* y) { return e_.b.CreateFAdd(x, y); });
    save(emit_fma(e_, load(l_, r), rescale, total), l_, r);
    save(m, m_, r);
    save(rescale, rescale_, r);
    Value* at = e_.mul(r, e_.i64(kKeys));
    e_.b.CreateAlignedStore(p, slot(weights_, at), llvm::Align(4));
    e_.b.CreateAlignedStore(e_.b.CreateZExt(visible, Emit::widen(e_.b.getInt8Ty(), kKeys)),
                            e_.at(e_.b.getInt8Ty(), visible_, at), llvm::Align(1));
  }

  // mixed_ of all rows for the channels [d, d + nr): rescaled, then one key after the other.
  void mix(Value* first, Value* count, Value* d, bool some_hidden) {
    Eval::Frame frame;
    {
      Eval::Scope scope(ev_, frame);
      const bool whole = *ev_.f.a.const_extent(p_.channel) % g_.nr == 0;
      Value* live = e_.min(e_.b.CreateSub(ev_.extent(p_.channel), d), e_.i64(g_.nr));
      ev_.bind_lanes(p_.channel, d, g_.nr, whole ? nullptr : e_.prefix_mask(live, g_.nr));
      ev_.prepare({value()});
    }
    Values u;
    for (unsigned r = 0; r < g_.mr; ++r)
      u.push_back(e_.b.CreateFMul(load_lanes(channel_slot(mixed_, e_.i64(r), d)),
                                  e_.splat(load(rescale_, e_.i64(r)), g_.nr)));
    u = e_.loop(e_.i64(0), count, 1, u, [&](Value* j, const Values& acc) {
      Eval::Scope outside(ev_, frame);
      Eval::Scope scope(ev_);
      ev_.bind(g_.n, e_.add(first, j));
      ev_.ensure({value()});
      Value* v = ev_.vector(value());
      Values next;
      for (unsigned r = 0; r < g_.mr; ++r) next.push_back(add_key(r, j, v, acc[r], some_hidden));
      return next;
    });
    for (unsigned r = 0; r < g_.mr; ++r) save_lanes(u[r], channel_slot(mixed_, e_.i64(r), d));
  }

  Value* add_key(unsigned r, Value* j, Value* v, Value* u, bool some_hidden) {
    Value* at = e_.add(j, e_.i64(r * kKeys));
    Value* next = emit_fma(e_, e_.splat(load(weights_, at), g_.nr), v, u);
    if (!some_hidden) return next;
    Value* seen = e_.b.CreateLoad(e_.b.getInt8Ty(), e_.at(e_.b.getInt8Ty(), visible_, at));
    return e_.b.CreateSelect(e_.b.CreateICmpNE(seen, e_.b.getInt8(0)), next, u);
  }

  // The chunk's state of a row into the totals.
  void combine_row(Value* r, Value* is_first) {
    Value *m0 = load(all_m_, r), *m1 = load(m_, r);
    Value* m = e_.b.CreateSelect(is_first, m1, max(m0, m1));
    Value* keep = exp_of(m0, base(m));
    Value* take = exp_of(m1, base(m));
    Value* l = emit_fma(e_, load(all_l_, r), keep, e_.b.CreateFMul(load(l_, r), take));
    save(m, all_m_, r);
    save(e_.b.CreateSelect(is_first, load(l_, r), l), all_l_, r);
    for_channels([&](Value* d) {
      Value *total = load_lanes(channel_slot(all_mixed_, r, d)),
            *u = load_lanes(channel_slot(mixed_, r, d));
      Value* sum =
          emit_fma(e_, total, e_.splat(keep, g_.nr), e_.b.CreateFMul(u, e_.splat(take, g_.nr)));
      save_lanes(e_.b.CreateSelect(is_first, u, sum), channel_slot(all_mixed_, r, d));
    });
  }

  void finish(Value* i, Value* l, Value* mixed) {
    Value* live_rows = e_.min(e_.b.CreateSub(gemm_.rows(), i), e_.i64(g_.mr));
    e_.loop(e_.i64(0), live_rows, 1, [&](Value* r) {
      Eval::Scope scope(ev_);
      ev_.bind(g_.m, e_.add(i, r));
      Value* total = load(l, r);
      Value* empty = e_.b.CreateFCmpOEQ(total, Emit::zero(f32_));
      for_channels([&](Value* d) {
        Eval::Scope inner(ev_);
        const bool whole = *ev_.f.a.const_extent(p_.channel) % g_.nr == 0;
        Value* live = e_.min(e_.b.CreateSub(ev_.extent(p_.channel), d), e_.i64(g_.nr));
        ev_.bind_lanes(p_.channel, d, g_.nr, whole ? nullptr : e_.prefix_mask(live, g_.nr));
        Value* out = e_.b.CreateFDiv(load_lanes(channel_slot(mixed, r, d)), e_.splat(total, g_.nr));
        ev_.set(p_.attention, {e_.b.CreateSelect(empty, Emit::zero(lanes()), out)});
        ev_.ensure(operands_of(k_, g_.stores));
        for (const Id s : g_.stores) ev_.store(s);
      });
    });
  }

  Eval& ev_;
  Emit& e_;
  const kir::Kernel& k_;
  const AttentionPlan& p_;
  const GemmPlan& g_;
  GemmEmitter gemm_;
  llvm::Type* f32_;
  Value *scores_ = nullptr, *weights_ = nullptr, *visible_ = nullptr, *m_ = nullptr, *l_ = nullptr,
        *rescale_ = nullptr;
  Value *all_m_ = nullptr, *all_l_ = nullptr, *mixed_ = nullptr, *all_mixed_ = nullptr;
};

}  // namespace

void add_attention(Lowering& lowering, const AttentionPlan& given) {
  const auto plan = std::make_shared<AttentionPlan>(given);
  Phase pack;
  pack.remark = "packing";
  for (const GemmContract& c : plan->scores.contracts) {
    pack.roots.push_back(c.b.value);
    if (c.a.packed) pack.roots.push_back(c.a.value);
  }
  pack.tasks = [plan](Eval& ev) { return GemmEmitter(ev, plan->scores).all_pack_tasks(); };
  pack.emit = [plan](Eval& ev, Value*, Value* lo, Value* hi) {
    GemmEmitter(ev, plan->scores).emit_pack(lo, hi);
  };
  lowering.phases.push_back(std::move(pack));
  lowering.shared_bytes = [plan](Eval& ev) { return GemmEmitter(ev, plan->scores).shared_bytes(); };
  Phase rows;
  rows.remark = "attention, tiles of " + std::to_string(plan->scores.mr) + " queries";
  rows.roots = plan->scores.stores;
  rows.tasks = [plan](Eval& ev) { return TilesEmitter(ev, *plan).tasks(); };
  rows.emit = [plan](Eval& ev, Value*, Value* lo, Value* hi) {
    TilesEmitter(ev, *plan).emit(lo, hi);
  };
  lowering.phases.push_back(std::move(rows));
}

}  // namespace ost_cpu
