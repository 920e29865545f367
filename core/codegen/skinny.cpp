#include "core/codegen/skinny.hpp"

namespace ost::codegen {
namespace {

constexpr int64_t kChain = 256;  // of blk256

}  // namespace

Skinny::Skinny(Evaluator& e, const TilePlan& plan)
    : e_(e), b_(e.builder()), plan_(plan), s_(*plan.skinny) {
  rows_ = e.points(plan.m);
  columns_ = e.points(plan.n);
  tiles_ = b_.div(b_.add(columns_, b_.i64(s_.columns - 1)), b_.i64(s_.columns));
  // Without rows there is nothing to do.
  const Value batch = b_.mul(e.points(plan.batch), b_.min(rows_, b_.i64(1)));
  groups_ = b_.mul(batch, tiles_);
}

void Skinny::run(Value group, const std::function<void()>& stores) {
  e_.bind(plan_.batch, e_.digits(b_.div(group, tiles_), plan_.batch));
  slice_ = b_.div(b_.lane(), b_.i64(s_.columns));
  column_ = b_.rem(b_.lane(), b_.i64(s_.columns));
  const Value n = b_.add(b_.mul(b_.rem(group, tiles_), b_.i64(s_.columns)), column_);
  column_digits_ = e_.digits(b_.min(n, b_.sub(columns_, b_.i64(1))), plan_.n);
  const DType type = e_.kernel().dtype(plan_.contracts.front().record);
  const Value memory = b_.local_array(type, static_cast<uint64_t>(s_.rows * s_.lanes()));
  std::vector<Value> totals;
  for (const TileContract& c : plan_.contracts) {
    totals.push_back(b_.private_array(type, static_cast<uint64_t>(s_.rows)));
    product(c, totals.back(), memory);
  }
  const Value exists =
      b_.both(b_.compare(Op::eq, slice_, b_.i64(0)), b_.compare(Op::lt, n, columns_));
  e_.when(exists, [&] {
    for (int64_t r = 0; r < s_.rows; ++r) {
      e_.when(b_.compare(Op::lt, b_.i64(r), rows_), [&] {
        e_.bind(plan_.m, e_.digits(b_.i64(r), plan_.m));
        e_.bind(plan_.n, column_digits_);
        for (size_t c = 0; c < totals.size(); ++c)
          e_.give(plan_.contracts[c].record, b_.load(totals[c], b_.i64(r)));
        stores();
      });
    }
  });
}

// Round by round: a chain for each lane, whose results the first lane of a column adds up in order.
void Skinny::product(const TileContract& contract, Value totals, Value memory) {
  const Value count = e_.count(e_.kernel().insts[contract.record].src[2]);
  const Value blocks =
      b_.binary(Op::max, b_.div(b_.add(count, b_.i64(kChain - 1)), b_.i64(kChain)), b_.i64(1));
  const DType type = e_.kernel().dtype(contract.record);
  e_.prepare({contract.a, contract.b});
  const Value minus_zero = b_.constant(type, uint64_t{1} << (bits_of(type) - 1));
  for (int64_t r = 0; r < s_.rows; ++r) b_.store(totals, b_.i64(r), minus_zero);
  e_.loop(b_.i64(0), blocks, s_.chains_at_once, [&](Value round) {
    const Value sums = b_.private_array_here(type, static_cast<uint64_t>(s_.rows));
    chain(contract, b_.add(round, slice_), sums);
    for (int64_t r = 0; r < s_.rows; ++r)
      b_.store(memory, b_.add(b_.lane(), b_.i64(r * s_.lanes())), b_.load(sums, b_.i64(r)));
    b_.barrier();
    for (int64_t s = 0; s < s_.chains_at_once; ++s) {
      const Value block = b_.add(round, b_.i64(s));
      e_.when(b_.both(b_.compare(Op::eq, slice_, b_.i64(0)), b_.compare(Op::lt, block, blocks)),
              [&] {
                for (int64_t r = 0; r < s_.rows; ++r) {
                  const Value at = b_.add(column_, b_.i64(s * s_.columns + r * s_.lanes()));
                  const Value sum = b_.load(totals, b_.i64(r));
                  b_.store(totals, b_.i64(r), b_.add(sum, b_.load(memory, at)));
                }
              });
    }
    b_.barrier();
  });
}

void Skinny::bind_row(int64_t row) {
  const Value last = b_.sub(rows_, b_.i64(1));
  e_.bind(plan_.m, e_.digits(b_.min(b_.i64(row), last), plan_.m));
}

void Skinny::chain(const TileContract& contract, Value block, Value sums) {
  const kir::Inst& inst = e_.kernel().insts[contract.record];
  const DType type = e_.kernel().dtype(contract.record);
  const Value begin = b_.mul(block, b_.i64(kChain));
  const Value end = b_.min(e_.count(inst.src[2]), b_.add(begin, b_.i64(kChain)));
  for (int64_t r = 0; r < s_.rows; ++r) b_.store(sums, b_.i64(r), b_.constant(type, 0));
  const bool before = e_.together;
  e_.together = false;
  e_.loop(begin, end, 1, [&](Value k) {
    e_.bind(inst.src[2], k);
    Value b = kNone;
    e_.afresh([&] {
      e_.bind(plan_.n, column_digits_);
      b = e_.value(contract.b);
    });
    for (int64_t r = 0; r < s_.rows; ++r) {
      e_.afresh([&] {
        bind_row(r);
        const Value sum = b_.load(sums, b_.i64(r));
        b_.store(sums, b_.i64(r), b_.pure(Op::fma, type, {e_.value(contract.a), b, sum}));
      });
    }
  });
  e_.together = before;
}

}  // namespace ost::codegen
