// Order `attn`: blocks of 64 keys (the lanes) inside chunks of 1,024; each chunk starts afresh, and
// the chunks are combined from left to right. The weights are made once per block, then every
// channel lane mixes its values with them.
#include "plugins/cpu/compiler/eval.hpp"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

namespace {

constexpr unsigned kKeys = 64;
constexpr int64_t kChunk = 1024;

class Attention {
 public:
  Attention(Eval& eval, Id r)
      : ev_(eval),
        e_(eval.e),
        axis_(eval.k.reduced_axis(r)),
        score_(eval.k.src(r, 0)),
        mask_(eval.k.src(r, 1)),
        value_(eval.k.src(r, 2)),
        width_(eval.varies(r) ? eval.lanes().width : 1) {}

  Value* emit() {
    if (ev_.varies(score_) || ev_.varies(mask_))
      throw CompileError{OST_INTERNAL, "cpu: attention scores vary along the vector axis"};
    ev_.prepare({score_, mask_, value_});
    Value* n = ev_.extent(axis_);
    weights_ = e_.stack(e_.b.getFloatTy(), kKeys);
    visible_ = e_.stack(e_.b.getInt8Ty(), kKeys);
    llvm::Type* f32 = e_.b.getFloatTy();
    const Values start{minus_infinity(f32), Emit::zero(f32), Emit::zero(Emit::widen(f32, width_))};
    const Values end = e_.loop(e_.i64(0), n, kChunk, start, [&](Value* at, const Values& total) {
      const Values c =
          e_.loop(at, e_.min(e_.add(at, e_.i64(kChunk)), n), kKeys, start,
                  [&](Value* first, const Values& s) {
                    return block(first, e_.min(e_.b.CreateSub(n, first), e_.i64(kKeys)), s);
                  });
      return combine(e_.b.CreateICmpEQ(at, e_.i64(0)), total, c);
    });
    Value* empty = e_.b.CreateFCmpOEQ(end[1], Emit::zero(f32));
    Value* mixed = e_.b.CreateFDiv(end[2], e_.splat(end[1], width_));
    return e_.b.CreateSelect(empty, Emit::zero(mixed->getType()), mixed);
  }

 private:
  static Value* minus_infinity(llvm::Type* t) { return llvm::ConstantFP::getInfinity(t, true); }
  Value* max(Value* x, Value* y) {
    return emit_combine(e_, OST_KIR_COMBINE_MAX, OST_DTYPE_F32, x, y);
  }
  Value* sum(Value* x, Value* y) { return e_.b.CreateFAdd(x, y); }
  // exp(x - m) must not become exp(-inf + inf) where everything so far is masked.
  Value* base(Value* m) {
    Value* none = e_.b.CreateFCmpOEQ(m, minus_infinity(m->getType()));
    return e_.b.CreateSelect(none, Emit::zero(m->getType()), m);
  }
  Value* exp_of(Value* x, Value* m) { return emit_exp_f32(e_, e_.b.CreateFSub(x, m)); }

  // {m, l, u} after the keys [first, first + count).
  Values block(Value* first, Value* count, const Values& state) {
    Value *m, *l, *rescale;
    {
      Eval::Scope scope(ev_);
      ev_.bind_lanes(axis_, first, kKeys, e_.prefix_mask(count, kKeys));
      ev_.ensure({score_, mask_});
      Value* s = ev_.vector(score_);
      Value* visible = e_.b.CreateAnd(ev_.vector(mask_), ev_.lanes().mask);
      Value* shown = e_.b.CreateSelect(visible, s, minus_infinity(s->getType()));
      m = max(state[0], e_.fold(shown, [&](Value* x, Value* y) { return max(x, y); }));
      rescale = exp_of(state[0], base(m));
      Value* p = exp_of(s, e_.splat(base(m), kKeys));
      p = e_.b.CreateSelect(visible, p, Emit::zero(p->getType()));
      Value* total = e_.fold(p, [&](Value* x, Value* y) { return sum(x, y); });
      l = emit_fma(e_, state[1], rescale, total);
      e_.b.CreateAlignedStore(p, weights_, llvm::Align(64));
      e_.b.CreateAlignedStore(e_.b.CreateZExt(visible, Emit::widen(e_.b.getInt8Ty(), kKeys)),
                              visible_, llvm::Align(64));
    }
    Value* u = e_.b.CreateFMul(state[2], e_.splat(rescale, width_));
    u = e_.loop(e_.i64(0), count, 1, {u},
                [&](Value* j, const Values& acc) { return Values{mix(first, j, acc[0])}; })[0];
    return {m, l, u};
  }

  Value* mix(Value* first, Value* j, Value* u) {
    Eval::Scope scope(ev_);
    ev_.bind(axis_, e_.add(first, j));
    ev_.ensure({value_});
    Value* w = e_.b.CreateLoad(e_.b.getFloatTy(), e_.at(e_.b.getFloatTy(), weights_, j));
    Value* seen = e_.b.CreateLoad(e_.b.getInt8Ty(), e_.at(e_.b.getInt8Ty(), visible_, j));
    Value* v = width_ > 1 ? ev_.vector(value_) : ev_.scalar(value_);
    Value* next = emit_fma(e_, e_.splat(w, width_), v, u);
    return e_.b.CreateSelect(e_.b.CreateICmpNE(seen, e_.b.getInt8(0)), next, u);
  }

  Values combine(Value* is_first, const Values& total, const Values& chunk) {
    Value* m = max(total[0], chunk[0]);
    Value* keep = exp_of(total[0], base(m));
    Value* take = exp_of(chunk[0], base(m));
    Value* l = emit_fma(e_, total[1], keep, e_.b.CreateFMul(chunk[1], take));
    Value* u = emit_fma(e_, total[2], e_.splat(keep, width_),
                        e_.b.CreateFMul(chunk[2], e_.splat(take, width_)));
    return {e_.b.CreateSelect(is_first, chunk[0], m), e_.b.CreateSelect(is_first, chunk[1], l),
            e_.b.CreateSelect(is_first, chunk[2], u)};
  }

  Eval& ev_;
  Emit& e_;
  Id axis_, score_, mask_, value_;
  unsigned width_;
  Value *weights_ = nullptr, *visible_ = nullptr;
};

}  // namespace

Value* emit_attention(Eval& eval, Id r) { return Attention(eval, r).emit(); }

}  // namespace ost_cpu
