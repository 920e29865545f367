#include "core/codegen/tile_product.hpp"

#include "core/codegen/tile_writer.hpp"

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
      contract_(contract),
      k_axis_(e.kernel().insts[contract.record].src[2]),
      memory_(memory),
      type_(e.kernel().dtype(contract.record)),
      lane_m_(b_.div(b_.lane(), b_.i64(shape.lanes_n))),
      lane_n_(b_.rem(b_.lane(), b_.i64(shape.lanes_n))),
      rows_(e, {shape.bk, shape.bm(), shape.pitch_m(), shape.lanes(), minus_zero(type_), shape.bk},
            contract.a, k_axis_),
      columns_(e, {shape.bk, shape.bn(), shape.pitch_n(), shape.lanes(), 0, shape.bk}, contract.b,
               k_axis_) {
  const auto outputs = static_cast<uint64_t>(shape.tm * shape.tn);
  if (is_float(type_) && e.max_extent(k_axis_) > kChain) total_ = b_.private_array(type_, outputs);
  chain_ = b_.private_array(type_, outputs);
}

Value TileProduct::row(int64_t i) {
  return place_in_tile(b_, lane_m_, shape_.lanes_m, shape_.tm, i);
}
Value TileProduct::column(int64_t j) {
  return place_in_tile(b_, lane_n_, shape_.lanes_n, shape_.tn, j);
}

Value TileProduct::at(int64_t i, int64_t j) {
  return b_.load(total_ != kNone ? total_ : chain_, b_.i64(i * shape_.tn + j));
}

Value TileProduct::step(Value a, Value b, Value acc) {
  if (is_float(type_)) return b_.pure(Op::fma, type_, {a, b, acc});
  return b_.add(acc, b_.mul(a, b));
}

void TileProduct::run(const TileSide& rows, const TileSide& columns) {
  e_.prepare({contract_.a, contract_.b});
  const Value count = e_.count(k_axis_);
  steps_ = b_.div(b_.add(count, b_.i64(shape_.bk - 1)), b_.i64(shape_.bk));
  each_output([&](Value o) {
    b_.store(chain_, o, b_.constant(type_, 0));
    if (total_ != kNone) b_.store(total_, o, b_.constant(type_, minus_zero(type_)));
  });
  const bool before = e_.together;
  e_.together = false;
  const auto stages = [&] {
    rows_.begin(rows);
    columns_.begin(columns);
    pipeline();
  };
  if (e_.extent_range(k_axis_).lo >= 1)
    e_.afresh(stages);
  else
    e_.when(b_.compare(Op::lt, b_.i64(0), count), stages);
  e_.together = before;
  if (total_ == kNone) return;
  each_output(
      [&](Value o) { b_.store(total_, o, b_.add(b_.load(total_, o), b_.load(chain_, o))); });
}

void TileProduct::keep(const std::vector<Value>& a, const std::vector<Value>& b, Value buffer) {
  const Value base = b_.mul(buffer, b_.i64(shape_.stage()));
  rows_.keep(a, memory_, base);
  columns_.keep(b, memory_, b_.add(base, b_.i64(shape_.bk * shape_.pitch_m())));
}

void TileProduct::pipeline() {
  const Value zero = b_.i64(0), one = b_.i64(1);
  const auto stage = [&](Value step, Value buffer) {
    const Value first = b_.mul(step, b_.i64(shape_.bk));
    const std::vector<Value> a = rows_.fetch(first), b = columns_.fetch(first);
    keep(a, b, buffer);
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
    const Value first = b_.mul(next, b_.i64(shape_.bk));
    const std::vector<Value> a = rows_.fetch(first), b = columns_.fetch(first);
    multiply(b_.binary(Op::bit_and, t, one));
    keep(a, b, b_.binary(Op::bit_and, b_.add(t, one), one));
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

std::vector<Value> TileProduct::registers(Value start, int64_t count, int64_t lanes) {
  const int64_t run = std::min<int64_t>(count, 4);
  std::vector<Value> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(b_.load(memory_, b_.add(start, b_.i64(i / run * lanes * run + i % run))));
  return out;
}

void TileProduct::multiply(Value buffer) {
  const Value base = b_.mul(buffer, b_.i64(shape_.stage()));
  const Value at_a = b_.add(base, row(0));
  const Value at_b = b_.add(b_.add(base, column(0)), b_.i64(shape_.bk * shape_.pitch_m()));
  // Copies that no barrier is in the life of: they become registers also where lanes are loops.
  const Value sums = b_.private_array_here(type_, static_cast<uint64_t>(shape_.tm * shape_.tn));
  each_output([&](Value o) { b_.store(sums, o, b_.load(chain_, o)); });
  e_.loop(
      b_.i64(0), b_.i64(shape_.bk), 1,
      [&](Value k) {
        const std::vector<Value> a =
            registers(b_.add(at_a, b_.mul(k, b_.i64(shape_.pitch_m()))), shape_.tm, shape_.lanes_m);
        const std::vector<Value> b =
            registers(b_.add(at_b, b_.mul(k, b_.i64(shape_.pitch_n()))), shape_.tn, shape_.lanes_n);
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
