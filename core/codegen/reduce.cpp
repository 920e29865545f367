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
      lanes_(shared_ ? e.row.count : 1),
      tree_lanes_(shared_ ? e.row.count / e.row.slices : 1),
      lane_(shared_ ? e.row.lane : b_.i64(0)),
      tree_lane_(b_.rem(lane_, b_.i64(tree_lanes_))),
      slice_(b_.div(lane_, b_.i64(tree_lanes_))) {}

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

// merge(l, l + w) for l < w, w halving: what is left is at 0. `lane`: below the width.
void Reduction::fold_shared(Value lane, int64_t width,
                            const std::function<void(Value, Value)>& merge) {
  for (int64_t w = width / 2; w > 0; w /= 2) {
    b_.barrier();
    e_.when(b_.compare(Op::lt, lane, b_.i64(w)), [&] { merge(lane, b_.add(lane, b_.i64(w))); });
  }
  b_.barrier();
}

Value Reduction::any(Value begin, Value end) {
  if (!shared_) return chain(begin, end, 1);
  const Value mine = chain(b_.add(begin, lane_), end, lanes_);
  const Value array = e_.scratch(type_);
  b_.store(array, place(lane_), mine);
  fold_shared(lane_, lanes_, [&](Value l, Value r) {
    b_.store(array, place(l), combine(b_.load(array, place(l)), b_.load(array, place(r))));
  });
  const Value out = b_.load(array, place(b_.i64(0)));
  b_.barrier();
  return out;
}

Value Reduction::open_accumulators() {
  const int64_t each = kTreeLanes / tree_lanes_;
  const Value acc = b_.private_array(type_, static_cast<uint64_t>(each));
  const Value id = identity();
  if (each > 1 && !shared_) {
    e_.loop(b_.i64(0), b_.i64(each), 1, [&](Value q) { b_.store(acc, q, id); });
  } else {
    for (int64_t q = 0; q < each; ++q) b_.store(acc, b_.i64(q), id);
  }
  return acc;
}

// Lane l of the order is held by lane l mod tree_lanes_, at l / tree_lanes_.
Value Reduction::fold(Value acc, bool leave_barrier) {
  if (!shared_) {
    for (int64_t w = kTreeLanes / 2; w > 0; w /= 2) {
      e_.loop(b_.i64(0), b_.i64(w), 1, [&](Value l) {
        b_.store(acc, l, combine(b_.load(acc, l), b_.load(acc, b_.add(l, b_.i64(w)))));
      });
    }
    return b_.load(acc, b_.i64(0));
  }
  for (int64_t half = kTreeLanes / tree_lanes_ / 2; half > 0; half /= 2) {
    for (int64_t q = 0; q < half; ++q) {
      const Value other = b_.load(acc, b_.i64(q + half));
      b_.store(acc, b_.i64(q), combine(b_.load(acc, b_.i64(q)), other));
    }
  }
  const Value array = e_.scratch(type_);
  const Value first = place(b_.mul(slice_, b_.i64(tree_lanes_)));
  b_.store(array, b_.add(first, tree_lane_), b_.load(acc, b_.i64(0)));
  fold_shared(tree_lane_, tree_lanes_, [&](Value l, Value r) {
    const Value at = b_.add(first, l);
    b_.store(array, at, combine(b_.load(array, at), b_.load(array, b_.add(first, r))));
  });
  const Value out = b_.load(array, first);
  if (leave_barrier) b_.barrier();
  return out;
}

Value Reduction::lanes64(Value begin, Value end, bool leave_barrier) {
  const int64_t each = kTreeLanes / tree_lanes_;
  const Value acc = open_accumulators();
  const auto add = [&](Value i, Value q) {
    e_.bind(axis_, i);
    b_.store(acc, q, step(b_.load(acc, q)));
  };
  const Value first = b_.add(begin, tree_lane_);
  if (shared_ && upper_ <= tree_lanes_) {  // an element a lane
    e_.when(b_.compare(Op::lt, first, end), [&] { add(first, b_.i64(0)); });
    return fold(acc, leave_barrier);
  }
  e_.loop(first, end, tree_lanes_, [&](Value i) {
    const Value turn = b_.div(b_.sub(i, begin), b_.i64(tree_lanes_));
    add(i, each == 1 ? b_.i64(0) : b_.binary(Op::bit_and, turn, b_.i64(each - 1)));
  });
  return fold(acc, leave_barrier);
}

Value Reduction::tree(int level, Value begin, Value end) {
  if (level == 1) return lanes64(begin, end);
  if (level == 2 && shared_ && e_.row.slices > 1) return sliced_tree(begin, end);
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

// A chunk for each slice of 64 lanes at a time. In all slices lane l keeps the accumulator l of the
// chunks' results, so that all have the result. The barriers of the next chunk's fold, or of the
// last one, are between the use of a round's results and the next ones.
Value Reduction::sliced_tree(Value begin, Value end) {
  const int64_t slices = e_.row.slices;
  const Value acc = open_accumulators(), array = e_.scratch(type_, 1);
  e_.loop(begin, end, kTreeChunk * slices, [&](Value round) {
    const Value mine = b_.add(round, b_.mul(slice_, b_.i64(kTreeChunk)));
    const Value first = b_.min(mine, end);
    const Value part = lanes64(first, b_.min(end, b_.add(first, b_.i64(kTreeChunk))), false);
    e_.when(b_.compare(Op::eq, tree_lane_, b_.i64(0)),
            [&] { b_.store(array, place(slice_), part); });
    b_.barrier();
    const Value ordinal = b_.div(b_.sub(round, begin), b_.i64(kTreeChunk));
    const Value slot = b_.binary(Op::bit_and, ordinal, b_.i64(kTreeLanes - 1));
    const Value which = b_.sub(tree_lane_, slot);  // rounds start at multiples of the slices
    const Value chunk = b_.add(round, b_.mul(which, b_.i64(kTreeChunk)));
    const Value is_mine = b_.both(
        b_.both(b_.compare(Op::le, b_.i64(0), which), b_.compare(Op::lt, which, b_.i64(slices))),
        b_.compare(Op::lt, chunk, end));
    e_.when(is_mine, [&] {
      const Value sum = b_.load(acc, b_.i64(0));
      b_.store(acc, b_.i64(0), combine(sum, b_.load(array, place(which))));
    });
  });
  return fold(acc);
}

void Reduction::into_lane(Value acc, Value l, Value x) {
  if (!shared_) return b_.store(acc, l, combine(b_.load(acc, l), x));
  const Value holder = b_.binary(Op::bit_and, l, b_.i64(tree_lanes_ - 1));
  const Value q = b_.div(l, b_.i64(tree_lanes_));
  e_.when(b_.compare(Op::eq, tree_lane_, holder),
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
    const Value first = b_.add(round, b_.mul(lane_, b_.i64(kChain)));
    b_.store(array, place(lane_), chain(first, b_.min(count_, b_.add(first, b_.i64(kChain))), 1));
    b_.barrier();
    const Value left = b_.div(b_.add(b_.sub(end, round), b_.i64(kChain - 1)), b_.i64(kChain));
    e_.loop(zero, b_.min(left, b_.i64(lanes_)), 1,
            [&](Value block) { add_block(b_.load(array, place(block))); });
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
  e_.loop(lane_, count_, lanes_, [&](Value i) {
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
    b_.store(values, place(lane_), b_.load(best, zero));
    b_.store(indices, place(lane_), found);
    fold_shared(lane_, lanes_, [&](Value left, Value right) {
      const Value l = place(left), r = place(right);
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
    found = b_.load(indices, place(zero));
    b_.barrier();
  }
  return b_.where(b_.compare(Op::eq, found, none), zero, found);
}

Value emit_reduction(Evaluator& e, Value v) { return Reduction(e, v).run(); }

}  // namespace ost::codegen
