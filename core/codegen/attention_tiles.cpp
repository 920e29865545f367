// Rows have lanes_of_row() lanes in the softmax; the products use the grid of lanes of a tile.
#include "core/codegen/attention_tiles.hpp"

#include "core/codegen/tile_writer.hpp"

namespace ost::codegen {
namespace {

constexpr uint32_t kMinusInfinity = 0xff800000u;
constexpr uint32_t kMinusZero = 0x80000000u;
constexpr uint32_t kMinusOne = 0xbf800000u;  // the weight of a masked key: no weight is negative
constexpr int64_t kFlags = 16;               // of a group, after the first round

enum RowNumber : int { kFactor, kOld, kNew, kSum };  // what is kept of each row

}  // namespace

AttentionTiles::AttentionTiles(Evaluator& e, const AttentionPlan& plan)
    : e_(e), b_(e.builder()), plan_(plan), s_(plan.shape) {
  const kir::Kernel& k = e.kernel();
  masked_ = !(k.op(plan.mask) == Op::constant && k.insts[plan.mask].imm != 0);
  const kir::Range range = e.extent_range(plan.keys);
  whole_keys_ = range.lo == range.hi && range.hi % kAttentionBlock == 0;
  const auto up = [&](Value n, int64_t by) {
    return b_.div(b_.add(n, b_.i64(by - 1)), b_.i64(by));
  };
  rows_ = {plan.rows, kNone, e.points(plan.rows), are_whole_tiles(e, plan.rows, s_.rows())};
  columns_ = {plan.channels, kNone, e.points(plan.channels),
              are_whole_tiles(e, plan.channels, s_.channels())};
  tiles_m_ = up(rows_.count, s_.rows());
  tiles_n_ = up(columns_.count, s_.channels());
  groups_ = b_.mul(e.points(plan.outer), b_.mul(tiles_m_, tiles_n_));
}

void AttentionTiles::declare() {
  const auto local = [&](DType type, int64_t count) {
    return b_.local_array(type, static_cast<uint64_t>(count));
  };
  shared_ = local(DType::f32, s_.shared_floats());
  weights_ = local(DType::f32, s_.rows() * s_.weights_pitch());
  of_rows_ = local(DType::f32, 4 * s_.rows());
  of_lanes_ = local(DType::f32, 2 * s_.scores.lanes());
  if (masked_) flags_ = local(DType::boolean, s_.scores.lanes() + kFlags);
  lane_m_ = b_.div(b_.lane(), b_.i64(s_.scores.lanes_n));
  lane_n_ = b_.rem(b_.lane(), b_.i64(s_.scores.lanes_n));
  row_ = b_.div(b_.lane(), b_.i64(s_.lanes_of_row()));
  part_ = b_.rem(b_.lane(), b_.i64(s_.lanes_of_row()));
  now_ = state();
}

AttentionTiles::State AttentionTiles::state() {
  return {b_.private_array(DType::f32, 1), b_.private_array(DType::f32, 1),
          b_.private_array(DType::f32, static_cast<uint64_t>(s_.scores.tm * s_.channels_of_lane))};
}

void AttentionTiles::reset(const State& s) {
  put(s.m, f32(kMinusInfinity));
  put(s.l, f32(0));
  for (int64_t o = 0; o < s_.scores.tm * s_.channels_of_lane; ++o) b_.store(s.u, b_.i64(o), f32(0));
}

// m, but 0 where no key was visible yet.
Value AttentionTiles::finite(Value m) {
  return b_.where(b_.compare(Op::eq, m, f32(kMinusInfinity)), f32(0), m);
}

void AttentionTiles::run(Value group, const std::function<void()>& stores) {
  declare();
  const Value tiles = b_.mul(tiles_m_, tiles_n_), tile = b_.rem(group, tiles);
  e_.bind(plan_.outer, e_.digits(b_.div(group, tiles), plan_.outer));
  rows_.first = b_.mul(b_.div(tile, tiles_n_), b_.i64(s_.rows()));
  columns_.first = b_.mul(b_.rem(tile, tiles_n_), b_.i64(s_.channels()));
  e_.prepare({plan_.score, plan_.mask, plan_.values});
  Value point = b_.add(rows_.first, row_);
  if (!rows_.whole) point = b_.min(point, b_.sub(rows_.count, b_.i64(1)));
  row_digits_ = e_.digits(point, plan_.rows);
  keys_ = e_.count(plan_.keys);
  values_.emplace(e_,
                  StagingShape{s_.staged_keys, s_.channels(), s_.values_pitch(), s_.scores.lanes(),
                               0, kAttentionBlock},
                  plan_.values, plan_.keys);
  values_->begin(columns_);
  State result = now_;
  if (e_.max_extent(plan_.keys) <= kAttentionChunk) {
    chunk(b_.i64(0), keys_);
  } else {
    result = state();
    reset(result);
    e_.loop(b_.i64(0), keys_, kAttentionChunk, [&](Value begin) {
      chunk(begin, b_.min(keys_, b_.add(begin, b_.i64(kAttentionChunk))));
      const Value is_first = b_.compare(Op::eq, begin, b_.i64(0));
      e_.when(is_first, [&] {
        put(result.m, get(now_.m));
        put(result.l, get(now_.l));
        for (int64_t o = 0; o < s_.scores.tm * s_.channels_of_lane; ++o)
          b_.store(result.u, b_.i64(o), b_.load(now_.u, b_.i64(o)));
      });
      e_.when(b_.pure(Op::bit_not, DType::boolean, {is_first}), [&] { merge(result); });
    });
  }
  put_row(kSum, get(result.l));
  if (s_.channels_of_lane == 1) b_.barrier();  // else write_tile has one before it finishes values
  TileShape out = s_.scores;
  out.tn = s_.channels_of_lane;
  const TileResult outputs[] = {
      {plan_.record,
       [&](int64_t i, int64_t j) { return b_.load(result.u, b_.i64(i * s_.channels_of_lane + j)); },
       [&](Value u, Value row) {
         const Value l = get_row(kSum, row);
         return b_.where(b_.compare(Op::eq, l, f32(0)), f32(0), op(Op::div, {u, l}));
       }}};
  write_tile(e_, out, rows_, columns_, shared_, outputs, stores);
}

// Of each row one lane writes what all its lanes have.
void AttentionTiles::put_row(int which, Value x) {
  e_.when(b_.compare(Op::eq, part_, b_.i64(0)),
          [&] { b_.store(of_rows_, b_.add(row_, b_.i64(which * s_.rows())), x); });
}
Value AttentionTiles::get_row(int which, Value row) {
  return b_.load(of_rows_, b_.add(row, b_.i64(which * s_.rows())));
}

void AttentionTiles::chunk(Value begin, Value end) {
  reset(now_);
  e_.loop(begin, end, kAttentionBlock, [&](Value first) {
    if (!masked_) return block(first);
    e_.when(any_visible(first), [&] { block(first); });
  });
}

// Keys part, part + lanes_of_row, ... of a block are those of this lane in the softmax of its row.
template <class F>
void AttentionTiles::each_key(F&& f) {
  const int64_t count = kAttentionBlock / s_.lanes_of_row();
  e_.loop(b_.i64(0), b_.i64(count), 1, f, count <= 16);
}
Value AttentionTiles::weight_place(Value t) {
  const Value key = b_.add(part_, b_.mul(t, b_.i64(s_.lanes_of_row())));
  return b_.add(b_.mul(row_, b_.i64(s_.weights_pitch())), key);
}
void AttentionTiles::at_key(Value first, Value t) {
  Value key = b_.add(first, b_.add(part_, b_.mul(t, b_.i64(s_.lanes_of_row()))));
  if (!whole_keys_) key = b_.min(key, b_.sub(keys_, b_.i64(1)));
  e_.bind(plan_.rows, row_digits_);
  e_.bind(plan_.keys, key);
}
// kNone: always.
Value AttentionTiles::visible(Value first, Value t) {
  Value exists = kNone;
  if (!whole_keys_) {
    const Value key = b_.add(first, b_.add(part_, b_.mul(t, b_.i64(s_.lanes_of_row()))));
    exists = b_.compare(Op::lt, key, keys_);
  }
  return masked_ ? b_.both(exists, e_.value(plan_.mask)) : exists;
}

// The same for all lanes: a block of keys that no row sees changes nothing.
Value AttentionTiles::any_visible(Value first) {
  const int64_t lanes = s_.scores.lanes(), left = std::min(lanes, kFlags);
  const Value seen = b_.private_array_here(DType::boolean, 1);
  b_.store(seen, b_.i64(0), b_.constant(DType::boolean, 0));
  each_key([&](Value t) {
    at_key(first, t);
    b_.store(seen, b_.i64(0), b_.binary(Op::bit_or, get(seen), visible(first, t)));
  });
  b_.store(flags_, b_.lane(), get(seen));
  b_.barrier();
  e_.when(b_.compare(Op::lt, b_.lane(), b_.i64(left)), [&] {
    Value any = b_.load(flags_, b_.lane());
    for (int64_t i = left; i < lanes; i += left)
      any = b_.binary(Op::bit_or, any, b_.load(flags_, b_.add(b_.lane(), b_.i64(i))));
    b_.store(flags_, b_.add(b_.lane(), b_.i64(lanes)), any);
  });
  b_.barrier();
  Value any = b_.load(flags_, b_.i64(lanes));
  for (int64_t i = 1; i < left; ++i)
    any = b_.binary(Op::bit_or, any, b_.load(flags_, b_.i64(lanes + i)));
  return any;
}

void AttentionTiles::block(Value first) {
  scores(first);
  weigh(first);
  accumulate(first);
}

// The products of all rows and keys of the block, into the place of the weights.
void AttentionTiles::scores(Value first) {
  TileProduct product(e_, s_.scores, plan_.product, shared_);
  const TileSide keys{{plan_.keys}, first, keys_, whole_keys_};
  product.run(rows_, keys);
  for (int64_t i = 0; i < s_.scores.tm; ++i) {
    const Value row = b_.mul(product.row(i), b_.i64(s_.weights_pitch()));
    for (int64_t j = 0; j < s_.scores.tn; ++j)
      b_.store(weights_, b_.add(row, product.column(j)), product.at(i, j));
  }
  b_.barrier();
}

// From products to weights; the state of the rows, and the factor that the sums so far get.
void AttentionTiles::weigh(Value first) {
  const Value high = b_.private_array_here(DType::f32, 1);
  put(high, f32(kMinusInfinity));
  each_key([&](Value t) {
    at_key(first, t);
    e_.give(plan_.product.record, b_.load(weights_, weight_place(t)));
    Value s = e_.value(plan_.score);
    if (const Value sees = visible(first, t); sees != kNone)
      s = b_.where(sees, s, f32(kMinusInfinity));
    b_.store(weights_, weight_place(t), s);
    put(high, op(Op::max, {get(high), s}));
  });
  b_.store(of_lanes_, b_.lane(), get(high));
  b_.barrier();
  const int64_t shares = s_.lanes_of_row();
  Value m = get(now_.m);
  for (int64_t q = 0; q < shares; ++q)
    m = op(Op::max, {m, b_.load(of_lanes_, b_.add(b_.mul(row_, b_.i64(shares)), b_.i64(q)))});
  const Value ms = finite(m);
  const Value a = e_.exp(op(Op::sub, {get(now_.m), ms}));
  put(now_.m, m);
  each_key([&](Value t) {
    const Value x = b_.load(weights_, weight_place(t));
    Value p = e_.exp(op(Op::sub, {x, ms}));
    at_key(first, t);
    if (const Value sees = visible(first, t); sees != kNone)
      p = b_.where(sees, p, f32(masked_ ? kMinusOne : kMinusZero));
    b_.store(weights_, weight_place(t), p);
  });
  b_.store(of_lanes_, b_.add(b_.lane(), b_.i64(s_.scores.lanes())), fold_weights());
  put_row(kFactor, a);
  b_.barrier();
  std::vector<Value> sums;
  for (int64_t q = 0; q < shares; ++q)
    sums.push_back(
        b_.load(of_lanes_, b_.add(b_.mul(row_, b_.i64(shares)), b_.i64(s_.scores.lanes() + q))));
  for (int64_t w = shares / 2; w > 0; w /= 2)
    for (int64_t q = 0; q < w; ++q) sums[q] = b_.add(sums[q], sums[q + w]);
  put(now_.l, op(Op::fma, {get(now_.l), a, sums[0]}));
}

// lanes64 of the weights, down to one for each lane of the row.
Value AttentionTiles::fold_weights() {
  std::vector<Value> p;
  const int64_t count = kAttentionBlock / s_.lanes_of_row();
  for (int64_t t = 0; t < count; ++t) {
    const Value x = b_.load(weights_, weight_place(b_.i64(t)));
    p.push_back(masked_ ? b_.where(b_.compare(Op::lt, x, f32(0)), f32(0), x) : x);
  }
  for (int64_t w = count / 2; w > 0; w /= 2)
    for (int64_t t = 0; t < w; ++t) p[t] = b_.add(p[t], p[t + w]);
  return p[0];
}

// The weighted sums of the values of this block's keys, some keys at a time.
void AttentionTiles::accumulate(Value first) {
  for (int64_t i = 0; i < s_.scores.tm; ++i) {
    const Value a =
        get_row(kFactor, place_in_tile(b_, lane_m_, s_.scores.lanes_m, s_.scores.tm, i));
    for (int64_t j = 0; j < s_.channels_of_lane; ++j) {
      const Value o = b_.i64(i * s_.channels_of_lane + j);
      b_.store(now_.u, o, op(Op::mul, {b_.load(now_.u, o), a}));
    }
  }
  e_.loop(b_.i64(0), b_.i64(kAttentionBlock), s_.staged_keys, [&](Value from) {
    values_->keep(values_->fetch(b_.add(first, from)), shared_, b_.i64(0));
    b_.barrier();
    add_values(from);
    b_.barrier();
  });
}

void AttentionTiles::add_values(Value first_weight) {
  const int64_t tm = s_.scores.tm, tn = s_.channels_of_lane;
  const Value sums = b_.private_array_here(DType::f32, static_cast<uint64_t>(tm * tn));
  for (int64_t o = 0; o < tm * tn; ++o) b_.store(sums, b_.i64(o), b_.load(now_.u, b_.i64(o)));
  e_.loop(
      b_.i64(0), b_.i64(s_.staged_keys), 1,
      [&](Value key) {
        std::vector<Value> v;
        for (int64_t j = 0; j < tn; ++j)
          v.push_back(
              b_.load(shared_, b_.add(b_.mul(key, b_.i64(s_.values_pitch())),
                                      place_in_tile(b_, lane_n_, s_.scores.lanes_n, tn, j))));
        for (int64_t i = 0; i < tm; ++i) {
          const Value row = place_in_tile(b_, lane_m_, s_.scores.lanes_m, tm, i);
          const Value p = b_.load(
              weights_, b_.add(b_.mul(row, b_.i64(s_.weights_pitch())), b_.add(first_weight, key)));
          const Value hidden = masked_ ? b_.compare(Op::lt, p, f32(0)) : kNone;
          for (int64_t j = 0; j < tn; ++j) {
            const Value o = b_.i64(i * tn + j), u = b_.load(sums, o);
            const Value sum = op(Op::fma, {p, v[j], u});
            b_.store(sums, o, masked_ ? b_.where(hidden, u, sum) : sum);
          }
        }
      },
      true);
  for (int64_t o = 0; o < tm * tn; ++o) b_.store(now_.u, b_.i64(o), b_.load(sums, b_.i64(o)));
}

// A later chunk into the total of the earlier ones.
void AttentionTiles::merge(const State& total) {
  const Value m = op(Op::max, {get(total.m), get(now_.m)}), ms = finite(m);
  const Value x = e_.exp(op(Op::sub, {get(total.m), ms}));
  const Value y = e_.exp(op(Op::sub, {get(now_.m), ms}));
  put(total.l, op(Op::fma, {get(total.l), x, op(Op::mul, {get(now_.l), y})}));
  put(total.m, m);
  put_row(kOld, x);
  put_row(kNew, y);
  b_.barrier();
  for (int64_t i = 0; i < s_.scores.tm; ++i) {
    const Value row = place_in_tile(b_, lane_m_, s_.scores.lanes_m, s_.scores.tm, i);
    const Value of_total = get_row(kOld, row), of_chunk = get_row(kNew, row);
    for (int64_t j = 0; j < s_.channels_of_lane; ++j) {
      const Value o = b_.i64(i * s_.channels_of_lane + j);
      const Value u = op(Op::mul, {b_.load(now_.u, o), of_chunk});
      b_.store(total.u, o, op(Op::fma, {b_.load(total.u, o), of_total, u}));
    }
  }
}

}  // namespace ost::codegen
