#include "core/codegen/tile_product.hpp"

#include <algorithm>

namespace ost::codegen {
namespace {

constexpr int64_t kChain = 256;  // of blk256

// The product of this and +0 adds to a sum without changing it, also not a sum of -0.
uint64_t minus_zero(DType type) {
  return type == DType::f32 ? 0x80000000u : type == DType::f64 ? 0x8000000000000000u : 0;
}

}  // namespace

TileProduct::TileProduct(Evaluator& e, const TileShape& shape, const TileContract& contract,
                         Value memory)
    : e_(e),
      b_(e.builder()),
      shape_(shape),
      k_axis_(e.kernel().insts[contract.record].src[2]),
      memory_(memory),
      type_(e.kernel().dtype(contract.record)),
      lane_m_(b_.div(b_.lane(), b_.i64(shape.lanes_n))),
      lane_n_(b_.rem(b_.lane(), b_.i64(shape.lanes_n))) {
  const kir::Range k = e_.extent_range(k_axis_);
  whole_k_ = k.lo == k.hi && k.hi % shape_.bk == 0;
  const Strides strides(e_.kernel(), e_.scope());
  const auto side = [&](Value operand, int64_t size, int64_t pitch, int64_t offset, uint64_t n) {
    return Side{operand, nullptr, size, pitch, offset, true, n, {}};
  };
  a_ = side(contract.a, shape_.bm(), shape_.pitch_m(), 0, minus_zero(type_));
  b_side_ = side(contract.b, shape_.bn(), shape_.pitch_n(), shape_.bk * shape_.pitch_m(), 0);
  if (is_float(type_) && k.hi > kChain)
    total_ = b_.private_array(type_, static_cast<uint64_t>(shape_.tm * shape_.tn));
  chain_ = b_.private_array(type_, static_cast<uint64_t>(shape_.tm * shape_.tn));
}

// Registers in runs of four, so that lanes read neighbouring vectors.
Value TileProduct::place(GroupBuilder& b, Value lane, int64_t lanes, int64_t registers, int64_t i) {
  const int64_t run = std::min<int64_t>(registers, 4);
  return b.add(b.mul(lane, b.i64(run)), b.i64(i / run * lanes * run + i % run));
}

Value TileProduct::at(int64_t i, int64_t j) {
  return b_.load(total_ != kNone ? total_ : chain_, b_.i64(i * shape_.tn + j));
}

Value TileProduct::step(Value a, Value b, Value acc) {
  if (is_float(type_)) return b_.pure(Op::fma, type_, {a, b, acc});
  return b_.add(acc, b_.mul(a, b));
}

void TileProduct::run(const TileSide& rows, const TileSide& columns) {
  a_.where = &rows;
  b_side_.where = &columns;
  e_.prepare({a_.operand, b_side_.operand});
  const Strides strides(e_.kernel(), e_.scope());
  for (Side* side : {&a_, &b_side_})
    side->along_k =
        side->where->axes.empty() || !strides.unit(side->operand, side->where->axes.back());
  count_ = e_.count(k_axis_);
  steps_ = b_.div(b_.add(count_, b_.i64(shape_.bk - 1)), b_.i64(shape_.bk));
  each_output([&](Value o) {
    b_.store(chain_, o, b_.constant(type_, 0));
    if (total_ != kNone) b_.store(total_, o, b_.constant(type_, minus_zero(type_)));
  });
  const bool before = e_.together;
  e_.together = false;
  if (e_.extent_range(k_axis_).lo >= 1)
    e_.afresh([&] { pipeline(); });
  else
    e_.when(b_.compare(Op::lt, b_.i64(0), count_), [&] { pipeline(); });
  e_.together = before;
  if (total_ == kNone) return;
  each_output(
      [&](Value o) { b_.store(total_, o, b_.add(b_.load(total_, o), b_.load(chain_, o))); });
}

// Element e of a stage is staged by lane e mod lanes.
void TileProduct::find_elements(Side& side) {
  const int64_t lanes = shape_.lanes();
  const int64_t fast = side.along_k ? shape_.bk : side.size;
  side.elements.clear();
  for (int64_t q = 0; q < side.size * shape_.bk / lanes; ++q) {
    Value inner = kNone, outer = kNone;
    if (lanes % fast == 0) {
      inner = b_.rem(b_.lane(), b_.i64(fast));
      outer = b_.add(b_.div(b_.lane(), b_.i64(fast)), b_.i64(q * (lanes / fast)));
    } else {
      const Value at = b_.add(b_.lane(), b_.i64(q * lanes));
      inner = b_.rem(at, b_.i64(fast));
      outer = b_.div(at, b_.i64(fast));
    }
    const Value k = side.along_k ? inner : outer, x = side.along_k ? outer : inner;
    Value point = b_.add(side.where->first, x);
    if (!side.where->whole) point = b_.min(point, b_.sub(side.where->count, b_.i64(1)));
    Side::Element element;
    if (!side.where->axes.empty()) element.digits = e_.digits(point, side.where->axes);
    element.k = k;
    element.place = b_.add(b_.add(b_.mul(k, b_.i64(side.pitch)), x), b_.i64(side.offset));
    side.elements.push_back(std::move(element));
  }
}

std::vector<Value> TileProduct::fetch(const Side& side, Value step) {
  const Value base = b_.mul(step, b_.i64(shape_.bk));
  std::vector<Value> out;
  for (const Side::Element& element : side.elements) {
    e_.afresh([&] {
      Value k = b_.add(base, element.k), exists = kNone;
      if (!whole_k_) {
        exists = b_.compare(Op::lt, k, count_);
        k = b_.min(k, b_.sub(count_, b_.i64(1)));
      }
      e_.bind(side.where->axes, element.digits);
      e_.bind(k_axis_, k);
      Value x = e_.value(side.operand);
      if (exists != kNone) x = b_.where(exists, x, b_.constant(type_, side.neutral));
      out.push_back(x);
    });
  }
  return out;
}

void TileProduct::keep(const Side& side, const std::vector<Value>& values, Value buffer) {
  const Value base = b_.mul(buffer, b_.i64(shape_.stage()));
  for (size_t q = 0; q < values.size(); ++q)
    b_.store(memory_, b_.add(base, side.elements[q].place), values[q]);
}

void TileProduct::pipeline() {
  find_elements(a_);
  find_elements(b_side_);
  const Value zero = b_.i64(0), one = b_.i64(1);
  const auto stage = [&](Value step, Value buffer) {
    const std::vector<Value> a = fetch(a_, step), b = fetch(b_side_, step);
    keep(a_, a, buffer);
    keep(b_side_, b, buffer);
  };
  if (shape_.buffers == 1) {
    e_.loop(zero, steps_, 1, [&](Value t) {
      next_chain(t);
      stage(t, zero);
      b_.barrier();
      multiply(zero);
      b_.barrier();
    });
    return;
  }
  stage(zero, zero);
  b_.barrier();
  e_.loop(zero, steps_, 1, [&](Value t) {
    next_chain(t);
    const Value next = b_.min(b_.add(t, one), b_.sub(steps_, one));
    const std::vector<Value> a = fetch(a_, next), b = fetch(b_side_, next);
    multiply(b_.binary(Op::bit_and, t, one));
    const Value other = b_.binary(Op::bit_and, b_.add(t, one), one);
    keep(a_, a, other);
    keep(b_side_, b, other);
    b_.barrier();
  });
}

// At the start of each chain but the first one.
void TileProduct::next_chain(Value step) {
  if (total_ == kNone) return;
  const int64_t turns = kChain / shape_.bk;
  const Value ends =
      b_.both(b_.compare(Op::lt, b_.i64(0), step),
              b_.compare(Op::eq, b_.binary(Op::bit_and, step, b_.i64(turns - 1)), b_.i64(0)));
  e_.when(ends, [&] {
    each_output([&](Value o) {
      b_.store(total_, o, b_.add(b_.load(total_, o), b_.load(chain_, o)));
      b_.store(chain_, o, b_.constant(type_, 0));
    });
  });
}

void TileProduct::multiply(Value buffer) {
  const Value base = b_.mul(buffer, b_.i64(shape_.stage()));
  const Value at_a = b_.add(base, row(0)), at_b = b_.add(base, column(0));
  const auto from = [&](const Side& side, Value at, Value k, int64_t registers, int64_t lanes) {
    const Value start = b_.add(at, b_.add(b_.mul(k, b_.i64(side.pitch)), b_.i64(side.offset)));
    const int64_t run = std::min<int64_t>(registers, 4);
    std::vector<Value> out;
    for (int64_t i = 0; i < registers; ++i)
      out.push_back(b_.load(memory_, b_.add(start, b_.i64(i / run * lanes * run + i % run))));
    return out;
  };
  // Copies that no barrier is in the life of: they become registers also where lanes are loops.
  const Value sums = b_.private_array_here(type_, static_cast<uint64_t>(shape_.tm * shape_.tn));
  each_output([&](Value o) { b_.store(sums, o, b_.load(chain_, o)); });
  e_.loop(
      b_.i64(0), b_.i64(shape_.bk), 1,
      [&](Value k) {
        const std::vector<Value> a = from(a_, at_a, k, shape_.tm, shape_.lanes_m);
        const std::vector<Value> b = from(b_side_, at_b, k, shape_.tn, shape_.lanes_n);
        for (int64_t i = 0; i < shape_.tm; ++i) {
          for (int64_t j = 0; j < shape_.tn; ++j) {
            const Value o = b_.i64(i * shape_.tn + j);
            b_.store(sums, o, step(a[i], b[j], b_.load(sums, o)));
          }
        }
      },
      true);
  each_output([&](Value o) { b_.store(chain_, o, b_.load(sums, o)); });
}

}  // namespace ost::codegen
