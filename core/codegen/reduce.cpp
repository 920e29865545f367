#include "core/codegen/reduce.hpp"

#include <bit>
#include <limits>

namespace ost::codegen {
namespace {

constexpr int64_t kTreeLanes = 64;
constexpr int64_t kTreeChunk = 4096;
constexpr int64_t kChain = 256;
constexpr int64_t kSharedChains = 4;  // fewer are left to each lane

uint64_t lowest_bits(DType t) {
  switch (t) {
    case DType::f32:
      return 0xff800000u;
    case DType::f64:
      return 0xfff0000000000000u;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return uint64_t{1} << (bits_of(t) - 1);
    default:
      return 0;
  }
}

uint64_t highest_bits(DType t) {
  switch (t) {
    case DType::f32:
      return 0x7f800000u;
    case DType::f64:
      return 0x7ff0000000000000u;
    case DType::boolean:
      return 1;
    default: {
      const uint64_t all = bits_of(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(t)) - 1;
      const bool is_signed = t >= DType::i8 && t <= DType::i64;
      return is_signed ? all >> 1 : all;
    }
  }
}

uint64_t all_bits(DType t) {
  if (t == DType::boolean) return 1;
  return bits_of(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(t)) - 1;
}

uint64_t sign_bit(DType t) { return uint64_t{1} << (bits_of(t) - 1); }

uint64_t one_bits(DType t) {
  return t == DType::f32 ? 0x3f800000u : t == DType::f64 ? 0x3ff0000000000000u : 1;
}

}  // namespace

Reduction::Reduction(Evaluator& e, Value record)
    : e_(e),
      b_(e.builder()),
      inst_(e.kernel().insts[record]),
      op_(e.kernel().op(record)),
      axis_(inst_.src[inst_.nsrc - 1]),
      count_(e.extent(axis_)),
      upper_(e.max_extent(axis_)),
      type_(e.kernel().dtype(inst_.src[0])),
      shared_(e.together && b_.lanes() > 1),
      lanes_(shared_ ? b_.lanes() : 1) {}

Value Reduction::run() {
  std::vector<Value> operands(inst_.src, inst_.src + inst_.nsrc - 1);
  e_.prepare(operands);
  const bool before = e_.together;
  e_.together = false;  // in the loops each lane has elements of its own
  Value out = kNone;
  if (op_ == Op::argreduce) {
    out = argreduce();
  } else {
    switch (static_cast<kir::Order>(inst_.aux >> 8)) {
      case kir::Order::tree: {
        int level = 1;
        for (int64_t span = kTreeChunk; span < upper_ && level < 5; span *= kTreeChunk) ++level;
        out = tree(level, b_.i64(0), count_);
        break;
      }
      case kir::Order::blk256:
        out = blk256();
        break;
      default:
        out = any(b_.i64(0), count_);
    }
  }
  e_.together = before;
  return out;
}

Value Reduction::identity() {
  switch (static_cast<Combine>(inst_.aux & 0xff)) {
    case Combine::prod:
      return b_.constant(type_, one_bits(type_));
    case Combine::max:
      return b_.constant(type_, lowest_bits(type_));
    case Combine::min:
      return b_.constant(type_, highest_bits(type_));
    case Combine::bit_and:
      return b_.constant(type_, all_bits(type_));
    default:
      return b_.constant(type_, 0);
  }
}

Value Reduction::combine(Value a, Value b) {
  switch (static_cast<Combine>(inst_.aux & 0xff)) {
    case Combine::sum:
      return b_.add(a, b);
    case Combine::prod:
      return b_.mul(a, b);
    case Combine::max:
      return b_.binary(Op::max, a, b);
    case Combine::min:
      return b_.min(a, b);
    case Combine::bit_and:
      return b_.binary(Op::bit_and, a, b);
    case Combine::bit_or:
      return b_.binary(Op::bit_or, a, b);
    case Combine::bit_xor:
      return b_.binary(Op::bit_xor, a, b);
  }
  return kNone;
}

Value Reduction::step(Value acc) {
  const Value x = e_.value(inst_.src[0]);
  if (op_ != Op::contract) return combine(acc, x);
  const Value y = e_.value(inst_.src[1]);
  if (is_float(type_)) return b_.pure(Op::fma, type_, {x, y, acc});
  return b_.add(acc, b_.mul(x, y));
}

Value Reduction::as_variable(Value initial) {
  const Value array = b_.private_array(b_.dtype(initial), 1);
  b_.store(array, b_.i64(0), initial);
  return array;
}

Value Reduction::chain(Value begin, Value end, int64_t by) {
  const Value acc = as_variable(identity());
  e_.loop(begin, end, by, [&](Value i) {
    e_.bind(axis_, i);
    b_.store(acc, b_.i64(0), step(b_.load(acc, b_.i64(0))));
  });
  return b_.load(acc, b_.i64(0));
}

// merge(l, l + w) for l < w, w halving: what is left is at 0.
void Reduction::fold_shared(int64_t width, const std::function<void(Value, Value)>& merge) {
  for (int64_t w = width / 2; w > 0; w /= 2) {
    b_.barrier();
    if (w <= lanes_) {
      const auto body = [&] { merge(b_.lane(), b_.add(b_.lane(), b_.i64(w))); };
      if (w == lanes_)
        body();
      else
        e_.when(b_.compare(Op::lt, b_.lane(), b_.i64(w)), body);
    } else {
      e_.loop(b_.lane(), b_.i64(w), lanes_, [&](Value l) { merge(l, b_.add(l, b_.i64(w))); });
    }
  }
  b_.barrier();
}

Value Reduction::any(Value begin, Value end) {
  if (!shared_) return chain(begin, end, 1);
  const Value mine = chain(b_.add(begin, b_.lane()), end, lanes_);
  const Value array = e_.scratch(type_);
  b_.store(array, b_.lane(), mine);
  fold_shared(lanes_, [&](Value l, Value r) {
    b_.store(array, l, combine(b_.load(array, l), b_.load(array, r)));
  });
  const Value out = b_.load(array, b_.i64(0));
  b_.barrier();
  return out;
}

Value Reduction::open_accumulators() {
  const int64_t each = kTreeLanes / lanes_;
  const Value acc = b_.private_array(type_, static_cast<uint64_t>(each));
  if (each == 1) {
    b_.store(acc, b_.i64(0), identity());
  } else {
    const Value id = identity();
    e_.loop(b_.i64(0), b_.i64(each), 1, [&](Value q) { b_.store(acc, q, id); });
  }
  return acc;
}

// Lane l of the order is held by lane l mod lanes_, at l / lanes_.
Value Reduction::fold(Value acc) {
  const int64_t each = kTreeLanes / lanes_;
  if (!shared_) {
    for (int64_t w = kTreeLanes / 2; w > 0; w /= 2) {
      e_.loop(b_.i64(0), b_.i64(w), 1, [&](Value l) {
        b_.store(acc, l, combine(b_.load(acc, l), b_.load(acc, b_.add(l, b_.i64(w)))));
      });
    }
    return b_.load(acc, b_.i64(0));
  }
  const Value array = e_.scratch(type_);
  for (int64_t q = 0; q < each; ++q)
    b_.store(array, b_.add(b_.lane(), b_.i64(q * lanes_)), b_.load(acc, b_.i64(q)));
  fold_shared(kTreeLanes, [&](Value l, Value r) {
    b_.store(array, l, combine(b_.load(array, l), b_.load(array, r)));
  });
  const Value out = b_.load(array, b_.i64(0));
  b_.barrier();
  return out;
}

Value Reduction::lanes64(Value begin, Value end) {
  const int64_t each = kTreeLanes / lanes_;
  const Value acc = open_accumulators();
  e_.loop(shared_ ? b_.add(begin, b_.lane()) : begin, end, lanes_, [&](Value i) {
    e_.bind(axis_, i);
    const Value turn = b_.div(b_.sub(i, begin), b_.i64(lanes_));
    const Value q = each == 1 ? b_.i64(0) : b_.binary(Op::bit_and, turn, b_.i64(each - 1));
    b_.store(acc, q, step(b_.load(acc, q)));
  });
  return fold(acc);
}

Value Reduction::tree(int level, Value begin, Value end) {
  if (level == 1) return lanes64(begin, end);
  int64_t span = kTreeChunk;
  for (int k = 2; k < level; ++k) span *= kTreeChunk;
  const Value acc = open_accumulators();
  e_.loop(begin, end, span, [&](Value first) {
    const Value part = tree(level - 1, first, b_.min(end, b_.add(first, b_.i64(span))));
    const Value ordinal = b_.div(b_.sub(first, begin), b_.i64(span));
    into_lane(acc, b_.binary(Op::bit_and, ordinal, b_.i64(kTreeLanes - 1)), part);
  });
  return fold(acc);
}

void Reduction::into_lane(Value acc, Value l, Value x) {
  if (!shared_) return b_.store(acc, l, combine(b_.load(acc, l), x));
  const Value holder = b_.binary(Op::bit_and, l, b_.i64(lanes_ - 1));
  const Value q = b_.div(l, b_.i64(lanes_));
  e_.when(b_.compare(Op::eq, b_.lane(), holder),
          [&] { b_.store(acc, q, combine(b_.load(acc, q), x)); });
}

// The first chain's result is the total so far: -0 stands for it, which a sum with any number keeps
// (a chain of products that underflow may be -0). Without elements there is one empty chain.
Value Reduction::blk256() {
  const Value zero = b_.i64(0);
  if (upper_ <= kChain) return chain(zero, count_, 1);
  const bool is_sum = static_cast<Combine>(inst_.aux & 0xff) == Combine::sum;
  const Value total =
      as_variable(is_sum && is_float(type_) ? b_.constant(type_, sign_bit(type_)) : identity());
  const Value end = b_.binary(Op::max, count_, b_.i64(1));
  const auto add_block = [&](Value x) { b_.store(total, zero, combine(b_.load(total, zero), x)); };
  if (!shared_ || upper_ <= kChain * kSharedChains) {
    e_.loop(zero, end, kChain, [&](Value first) {
      add_block(chain(first, b_.min(count_, b_.add(first, b_.i64(kChain))), 1));
    });
    return b_.load(total, zero);
  }
  // A chain for each lane, whose results all lanes add up alike.
  const Value array = e_.scratch(type_);
  e_.loop(zero, end, kChain * lanes_, [&](Value round) {
    const Value first = b_.add(round, b_.mul(b_.lane(), b_.i64(kChain)));
    b_.store(array, b_.lane(), chain(first, b_.min(count_, b_.add(first, b_.i64(kChain))), 1));
    b_.barrier();
    const Value left = b_.div(b_.add(b_.sub(end, round), b_.i64(kChain - 1)), b_.i64(kChain));
    e_.loop(zero, b_.min(left, b_.i64(lanes_)), 1,
            [&](Value block) { add_block(b_.load(array, block)); });
    b_.barrier();
  });
  return b_.load(total, zero);
}

// x is strictly beyond the best so far, or the first NaN.
Value Reduction::beyond(Value x, Value best) {
  const bool max = static_cast<Combine>(inst_.aux) == Combine::max;
  const Value better = max ? b_.compare(Op::lt, best, x) : b_.compare(Op::lt, x, best);
  if (!is_float(type_)) return better;
  const Value best_is_number = b_.compare(Op::eq, best, best);
  const Value x_is_nan = b_.compare(Op::ne, x, x);
  return b_.both(best_is_number, b_.binary(Op::bit_or, x_is_nan, better));
}

Value Reduction::argreduce() {
  const Value zero = b_.i64(0), none = b_.i64(std::numeric_limits<int64_t>::max());
  const Value best = as_variable(b_.constant(type_, 0)), where = as_variable(none);
  e_.loop(shared_ ? b_.lane() : zero, count_, lanes_, [&](Value i) {
    e_.bind(axis_, i);
    const Value x = e_.value(inst_.src[0]);
    const Value first = b_.compare(Op::eq, b_.load(where, zero), none);
    const Value wins = b_.binary(Op::bit_or, first, beyond(x, b_.load(best, zero)));
    e_.when(wins, [&] {
      b_.store(best, zero, x);
      b_.store(where, zero, i);
    });
  });
  Value found = b_.load(where, zero);
  if (shared_) {
    const Value values = e_.scratch(type_), indices = e_.scratch(DType::i64, 1);
    b_.store(values, b_.lane(), b_.load(best, zero));
    b_.store(indices, b_.lane(), found);
    fold_shared(lanes_, [&](Value l, Value r) {
      const Value x = b_.load(values, l), y = b_.load(values, r);
      const Value i = b_.load(indices, l), j = b_.load(indices, r);
      const Value tie =
          b_.both(b_.pure(Op::bit_not, DType::boolean, {beyond(x, y)}), b_.compare(Op::lt, j, i));
      const Value better = b_.binary(Op::bit_or, beyond(y, x), tie);
      const Value exists = b_.compare(Op::ne, j, none);
      const Value alone = b_.compare(Op::eq, i, none);
      e_.when(b_.both(exists, b_.binary(Op::bit_or, alone, better)), [&] {
        b_.store(values, l, y);
        b_.store(indices, l, j);
      });
    });
    found = b_.load(indices, zero);
    b_.barrier();
  }
  return b_.where(b_.compare(Op::eq, found, none), zero, found);
}

Value emit_reduction(Evaluator& e, Value v) { return Reduction(e, v).run(); }

}  // namespace ost::codegen
