// The order `attn` (docs/numerics.md §2): online softmax over blocks of 64 keys within chunks of
// 1,024. One lane computes one channel of a row.
#include "core/codegen/evaluator.hpp"

namespace ost::codegen {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kChunk = 1024;

class Attention {
 public:
  Attention(Evaluator& e, Value record)
      : e_(e),
        b_(e.builder()),
        score_(e.kernel().insts[record].src[0]),
        mask_(e.kernel().insts[record].src[1]),
        v_(e.kernel().insts[record].src[2]),
        axis_(e.kernel().insts[record].src[3]) {}

  Value run() {
    e_.prepare({score_, mask_, v_});
    const bool before = e_.together;
    e_.together = false;
    keys_ = e_.extent(axis_);
    zero_ = b_.i64(0);
    chunk_ = state();
    Value out = kNone;
    if (e_.max_extent(axis_) <= kChunk) {
      one_chunk(zero_, keys_);
      out = result(chunk_);
    } else {
      out = many_chunks();
    }
    e_.together = before;
    return out;
  }

 private:
  struct State {
    Value m, l, u;  // arrays of one element
  };

  Value f32(uint32_t bits) { return b_.constant(DType::f32, bits); }
  Value get(Value variable) { return b_.load(variable, zero_); }
  void put(Value variable, Value x) { b_.store(variable, zero_, x); }
  Value f32_op(Op op, std::initializer_list<Value> operands) {
    return b_.pure(op, DType::f32, operands);
  }
  State state() {
    return {b_.private_array(DType::f32, 1), b_.private_array(DType::f32, 1),
            b_.private_array(DType::f32, 1)};
  }
  void reset(const State& s) {
    put(s.m, f32(kMinusInfinity));
    put(s.l, f32(0));
    put(s.u, f32(0));
  }
  // m, but 0 where no key was visible yet.
  Value finite(Value m) {
    const Value none = b_.compare(Op::eq, m, f32(kMinusInfinity));
    return b_.where(none, f32(0), m);
  }
  Value result(const State& s) {
    const Value l = get(s.l);
    const Value none = b_.compare(Op::eq, l, f32(0));
    return b_.where(none, f32(0), f32_op(Op::div, {get(s.u), l}));
  }

  void one_chunk(Value begin, Value end) {
    reset(chunk_);
    weights_ = b_.private_array(DType::f32, kBlock);
    visible_ = b_.private_array(DType::boolean, kBlock);
    e_.loop(begin, end, kBlock, [&](Value first) { block(first, end); });
  }

  void block(Value first, Value end) {
    const Value last = b_.min(end, b_.add(first, b_.i64(kBlock)));
    const Value high = b_.private_array(DType::f32, 1);
    put(high, get(chunk_.m));
    e_.loop(first, last, 1, [&](Value j) {
      e_.bind(axis_, j);
      const Value s = e_.value(score_), sees = e_.value(mask_);
      b_.store(weights_, b_.sub(j, first), s);
      b_.store(visible_, b_.sub(j, first), sees);
      const Value now = get(high);
      put(high, b_.where(sees, f32_op(Op::max, {now, s}), now));
    });
    const Value m = get(high), ms = finite(m);
    const Value a = e_.exp(f32_op(Op::sub, {get(chunk_.m), ms}));
    weigh(first, last, ms);
    put(chunk_.u, f32_op(Op::mul, {get(chunk_.u), a}));
    e_.loop(first, last, 1, [&](Value j) {
      e_.bind(axis_, j);
      const Value at = b_.sub(j, first);
      e_.when(b_.load(visible_, at), [&] {
        put(chunk_.u, f32_op(Op::fma, {b_.load(weights_, at), e_.value(v_), get(chunk_.u)}));
      });
    });
    put(chunk_.l, f32_op(Op::fma, {get(chunk_.l), a, sum()}));
    put(chunk_.m, m);
  }

  // p_j in place of s_j; +0 for keys that are masked or not there.
  void weigh(Value first, Value last, Value ms) {
    const Value count = b_.sub(last, first);
    e_.loop(zero_, b_.i64(kBlock), 1, [&](Value j) {
      const Value there = b_.compare(Op::lt, j, count);
      const Value p = b_.private_array(DType::f32, 1);
      put(p, f32(0));
      e_.when(there, [&] {
        const Value x = e_.exp(f32_op(Op::sub, {b_.load(weights_, j), ms}));
        put(p, b_.where(b_.load(visible_, j), x, f32(0)));
      });
      b_.store(weights_, j, get(p));
    });
  }

  // lanes64 of the 64 weights. They are needed afterwards, so it works on a copy.
  Value sum() {
    const Value t = b_.private_array(DType::f32, kBlock / 2);
    e_.loop(zero_, b_.i64(kBlock / 2), 1, [&](Value j) {
      b_.store(t, j,
               b_.add(b_.load(weights_, j), b_.load(weights_, b_.add(j, b_.i64(kBlock / 2)))));
    });
    for (int64_t w = kBlock / 4; w > 0; w /= 2) {
      e_.loop(zero_, b_.i64(w), 1, [&](Value j) {
        b_.store(t, j, b_.add(b_.load(t, j), b_.load(t, b_.add(j, b_.i64(w)))));
      });
    }
    return b_.load(t, zero_);
  }

  // The first chunk's state is the total so far; the others are combined into it in order.
  Value many_chunks() {
    const State total = state();
    reset(total);
    e_.loop(zero_, keys_, kChunk, [&](Value begin) {
      one_chunk(begin, b_.min(keys_, b_.add(begin, b_.i64(kChunk))));
      const Value is_first = b_.compare(Op::eq, begin, zero_);
      e_.when(is_first, [&] { copy(total, chunk_); });
      e_.when(b_.pure(Op::bit_not, DType::boolean, {is_first}), [&] { merge(total); });
    });
    return result(total);
  }

  void copy(const State& to, const State& from) {
    put(to.m, get(from.m));
    put(to.l, get(from.l));
    put(to.u, get(from.u));
  }

  void merge(const State& total) {
    const Value m = f32_op(Op::max, {get(total.m), get(chunk_.m)}), ms = finite(m);
    const Value x = e_.exp(f32_op(Op::sub, {get(total.m), ms}));
    const Value y = e_.exp(f32_op(Op::sub, {get(chunk_.m), ms}));
    put(total.l, f32_op(Op::fma, {get(total.l), x, f32_op(Op::mul, {get(chunk_.l), y})}));
    put(total.u, f32_op(Op::fma, {get(total.u), x, f32_op(Op::mul, {get(chunk_.u), y})}));
    put(total.m, m);
  }

  static constexpr uint32_t kMinusInfinity = 0xff800000u;
  Evaluator& e_;
  GroupBuilder& b_;
  Value score_, mask_, v_, axis_;
  Value keys_ = kNone, zero_ = kNone, weights_ = kNone, visible_ = kNone;
  State chunk_{};
};

}  // namespace

Value emit_attention(Evaluator& e, Value v) { return Attention(e, v).run(); }

}  // namespace ost::codegen
