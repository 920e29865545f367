#include "core/codegen/tile_writer.hpp"

#include <algorithm>

namespace ost::codegen {
namespace {

class Writer {
 public:
  Writer(Evaluator& e, const TileShape& shape, const TileSide& rows, const TileSide& columns,
         std::span<const TileResult> results, const std::function<void()>& stores)
      : e_(e),
        b_(e.builder()),
        s_(shape),
        rows_(rows),
        columns_(columns),
        results_(results),
        stores_(stores),
        lane_m_(b_.div(b_.lane(), b_.i64(shape.lanes_n))),
        lane_n_(b_.rem(b_.lane(), b_.i64(shape.lanes_n))),
        values_(results.size()) {}

  // Register row by register row through local memory, so that the expression is emitted once and
  // neighbouring lanes store neighbouring columns. Lanes with one column keep what they have.
  void run(Value memory) {
    const int64_t slab = s_.lanes_m * s_.bn();
    const auto part = [&](size_t c) { return b_.i64(static_cast<int64_t>(c) * slab); };
    e_.loop(b_.i64(0), b_.i64(s_.tm), 1, [&](Value r) {
      if (s_.tn == 1) {
        for (size_t c = 0; c < results_.size(); ++c) values_[c] = pick(results_[c], r, 0);
        return point(row_of(lane_m_, r), lane_n_);
      }
      for (size_t c = 0; c < results_.size(); ++c) {
        const Value at = b_.add(b_.mul(lane_m_, b_.i64(s_.bn())), part(c));
        for (int64_t j = 0; j < s_.tn; ++j)
          b_.store(memory, b_.add(at, place_in_tile(b_, lane_n_, s_.lanes_n, s_.tn, j)),
                   pick(results_[c], r, j));
      }
      b_.barrier();
      e_.loop(b_.lane(), b_.i64(slab), s_.lanes(), [&](Value p) {
        for (size_t c = 0; c < results_.size(); ++c)
          values_[c] = b_.load(memory, b_.add(p, part(c)));
        point(row_of(b_.div(p, b_.i64(s_.bn())), r), b_.rem(p, b_.i64(s_.bn())));
      });
      if (s_.tm > 1) b_.barrier();
    });
  }

 private:
  Value pick(const TileResult& result, Value r, int64_t j) {
    Value x = result.at(0, j);
    for (int64_t i = 1; i < s_.tm; ++i)
      x = b_.where(b_.compare(Op::eq, r, b_.i64(i)), result.at(i, j), x);
    return x;
  }

  // Of register row r of a row of lanes: place_in_tile for an r that is not a constant.
  Value row_of(Value y, Value r) {
    const int64_t run = std::min<int64_t>(s_.tm, 4);
    const Value start = b_.mul(b_.div(r, b_.i64(run)), b_.i64(s_.lanes_m * run));
    return b_.add(b_.add(start, b_.mul(y, b_.i64(run))), b_.rem(r, b_.i64(run)));
  }

  // The statement at a row and a column of the tile, if they exist.
  void point(Value row, Value column) {
    const Value m = b_.add(rows_.first, row), n = b_.add(columns_.first, column);
    Value exists = kNone;
    if (!rows_.whole) exists = b_.compare(Op::lt, m, rows_.count);
    if (!columns_.whole) exists = b_.both(exists, b_.compare(Op::lt, n, columns_.count));
    const auto body = [&] {
      e_.bind(rows_.axes, e_.digits(m, rows_.axes));
      e_.bind(columns_.axes, e_.digits(n, columns_.axes));
      for (size_t c = 0; c < results_.size(); ++c) {
        const Value x = results_[c].finish ? results_[c].finish(values_[c], row) : values_[c];
        e_.give(results_[c].record, x);
      }
      stores_();
    };
    if (exists == kNone)
      body();
    else
      e_.when(exists, body);
  }

  Evaluator& e_;
  GroupBuilder& b_;
  const TileShape& s_;
  const TileSide &rows_, &columns_;
  std::span<const TileResult> results_;
  const std::function<void()>& stores_;
  Value lane_m_, lane_n_;
  std::vector<Value> values_;
};

}  // namespace

Value place_in_tile(GroupBuilder& b, Value lane, int64_t lanes, int64_t registers, int64_t i) {
  const int64_t run = std::min<int64_t>(registers, 4);
  return b.add(b.mul(lane, b.i64(run)), b.i64(i / run * lanes * run + i % run));
}

void write_tile(Evaluator& e, const TileShape& shape, const TileSide& rows, const TileSide& columns,
                Value memory, std::span<const TileResult> results,
                const std::function<void()>& stores) {
  Writer(e, shape, rows, columns, results, stores).run(memory);
}

}  // namespace ost::codegen
