#include "core/codegen/tiles.hpp"

#include <algorithm>

namespace ost::codegen {

Tiles::Tiles(Evaluator& e, const TilePlan& plan) : e_(e), b_(e.builder()), plan_(plan) {
  const auto up = [&](Value n, int64_t by) {
    return b_.div(b_.add(n, b_.i64(by - 1)), b_.i64(by));
  };
  const TileShape& s = plan_.shape;
  rows_ = {plan_.m, kNone, e_.points(plan_.m), whole(plan_.m, s.bm())};
  columns_ = {plan_.n, kNone, e_.points(plan_.n), whole(plan_.n, s.bn())};
  batch_ = e_.points(plan_.batch);
  tiles_m_ = up(rows_.count, s.bm());
  tiles_n_ = up(columns_.count, s.bn());
  groups_ = b_.mul(batch_, b_.mul(tiles_m_, tiles_n_));
}

bool Tiles::whole(const std::vector<Value>& axes, int64_t tile) const {
  int64_t points = 1;
  for (const Value axis : axes) {
    const kir::Range r = e_.extent_range(axis);
    if (r.lo != r.hi || r.hi < 1 || points > (int64_t{1} << 31) || r.hi > (int64_t{1} << 31))
      return false;
    points *= r.hi;
  }
  return points % tile == 0;
}

void Tiles::run(Value group, const std::function<void()>& stores) {
  const TileShape& s = plan_.shape;
  const Value tile = b_.rem(group, b_.mul(tiles_m_, tiles_n_));
  const Value outer = b_.div(group, b_.mul(tiles_m_, tiles_n_));
  e_.bind(plan_.batch, e_.digits(outer, plan_.batch));
  rows_.first = b_.mul(b_.div(tile, tiles_n_), b_.i64(s.bm()));
  columns_.first = b_.mul(b_.rem(tile, tiles_n_), b_.i64(s.bn()));
  const auto contracts = static_cast<int64_t>(plan_.contracts.size());
  const int64_t elements = std::max(s.buffers * s.stage(), s.lanes_m * s.bn() * contracts);
  memory_ = b_.local_array(e_.kernel().dtype(plan_.contracts.front().record),
                           static_cast<uint64_t>(elements));
  std::vector<TileProduct> products;
  products.reserve(plan_.contracts.size());
  for (const TileContract& c : plan_.contracts) {
    products.emplace_back(e_, s, c, memory_);
    products.back().run(rows_, columns_);
  }
  write(products, stores);
}

// Register row by register row through local memory, so that the expression is emitted once and
// neighbouring lanes store neighbouring columns. Lanes with one column keep what they have.
void Tiles::write(std::vector<TileProduct>& products, const std::function<void()>& stores) {
  const TileShape& s = plan_.shape;
  const int64_t slab = s.lanes_m * s.bn();
  const auto pick = [&](TileProduct& p, Value r, int64_t j) {
    Value x = p.at(0, j);
    for (int64_t i = 1; i < s.tm; ++i)
      x = b_.where(b_.compare(Op::eq, r, b_.i64(i)), p.at(i, j), x);
    return x;
  };
  const auto row_of = [&](Value y, Value r) {
    const int64_t run = std::min<int64_t>(s.tm, 4);
    const Value start = b_.mul(b_.div(r, b_.i64(run)), b_.i64(s.lanes_m * run));
    return b_.add(b_.add(start, b_.mul(y, b_.i64(run))), b_.rem(r, b_.i64(run)));
  };
  std::vector<Value> results(products.size());
  e_.loop(b_.i64(0), b_.i64(s.tm), 1, [&](Value r) {
    if (s.tn == 1) {
      for (size_t c = 0; c < products.size(); ++c) results[c] = pick(products[c], r, 0);
      return point(row_of(products[0].lane_m(), r), products[0].lane_n(), results, stores);
    }
    for (size_t c = 0; c < products.size(); ++c) {
      const Value at = b_.add(b_.mul(products[c].lane_m(), b_.i64(s.bn())),
                              b_.i64(static_cast<int64_t>(c) * slab));
      for (int64_t j = 0; j < s.tn; ++j)
        b_.store(memory_, b_.add(at, products[c].column(j)), pick(products[c], r, j));
    }
    b_.barrier();
    e_.loop(b_.lane(), b_.i64(slab), s.lanes(), [&](Value p) {
      for (size_t c = 0; c < products.size(); ++c)
        results[c] = b_.load(memory_, b_.add(p, b_.i64(static_cast<int64_t>(c) * slab)));
      point(row_of(b_.div(p, b_.i64(s.bn())), r), b_.rem(p, b_.i64(s.bn())), results, stores);
    });
    b_.barrier();
  });
}

// The statement at a row and a column of the tile, if they exist.
void Tiles::point(Value row, Value column, const std::vector<Value>& results,
                  const std::function<void()>& stores) {
  const Value m = b_.add(rows_.first, row), n = b_.add(columns_.first, column);
  Value exists = kNone;
  if (!rows_.whole) exists = b_.compare(Op::lt, m, rows_.count);
  if (!columns_.whole) exists = b_.both(exists, b_.compare(Op::lt, n, columns_.count));
  const auto body = [&] {
    e_.bind(plan_.m, e_.digits(m, plan_.m));
    e_.bind(plan_.n, e_.digits(n, plan_.n));
    for (size_t c = 0; c < results.size(); ++c) e_.give(plan_.contracts[c].record, results[c]);
    stores();
  };
  if (exists == kNone)
    body();
  else
    e_.when(exists, body);
}

}  // namespace ost::codegen
