#include "core/codegen/tiles.hpp"

#include <algorithm>

#include "core/codegen/tile_writer.hpp"

namespace ost::codegen {

Tiles::Tiles(Evaluator& e, const TilePlan& plan) : e_(e), b_(e.builder()), plan_(plan) {
  const auto up = [&](Value n, int64_t by) {
    return b_.div(b_.add(n, b_.i64(by - 1)), b_.i64(by));
  };
  const TileShape& s = plan_.shape;
  rows_ = {plan_.m, kNone, e_.points(plan_.m), are_whole_tiles(e, plan_.m, s.bm())};
  columns_ = {plan_.n, kNone, e_.points(plan_.n), are_whole_tiles(e, plan_.n, s.bn())};
  batch_ = e_.points(plan_.batch);
  tiles_m_ = up(rows_.count, s.bm());
  tiles_n_ = up(columns_.count, s.bn());
  groups_ = b_.mul(batch_, b_.mul(tiles_m_, tiles_n_));
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
  std::vector<TileResult> results;
  for (const TileContract& c : plan_.contracts) {
    TileProduct& product = products.emplace_back(e_, s, c, memory_);
    product.run(rows_, columns_);
    results.push_back({c.record, [&](int64_t i, int64_t j) { return product.at(i, j); }, nullptr});
  }
  write_tile(e_, s, rows_, columns_, memory_, results, stores);
}

}  // namespace ost::codegen
