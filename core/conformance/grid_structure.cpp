#include "grid.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Combine;
using kir::Op;
using kir::Order;
using kir::Role;
using kir::Value;

constexpr uint32_t kReadWrite = OST_KIR_READ | OST_KIR_WRITE;

Bytes floats(int64_t count, Random& random) {
  return values(DType::f32, static_cast<uint64_t>(count), Flavour::moderate, random);
}
Bytes indices(int64_t count, Random& random) {
  return values(DType::i32, static_cast<uint64_t>(count), Flavour::index, random);
}

// A row's maximum, sum of exp-like values, and each value over the sum: three reductions and a
// store that share one axis.
Result<Trial> rows(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 20);
  const Value width = b.var(1, 0, 300);
  const Value x = b.param(0, DType::f32, b.mul(n, width), OST_KIR_READ);
  const Value y = b.param(1, DType::f32, b.mul(n, width), OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  const Value k = b.axis(width, Role::reduce);
  const Value j = b.axis(width, Role::parallel);
  const Value row = b.mul(i, width);
  const Value in = b.load(x, b.add(row, k));
  const Value top = b.reduce(Combine::max, Order::any, in, k);
  const Value less = b.sub(in, top);
  const Value sum = b.reduce(Combine::sum, Order::tree, b.mul(less, less), k);
  const Value here = b.sub(b.load(x, b.add(row, j)), top);
  b.store(y, b.add(row, j), b.div(here, sum));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {1, 1}, {7, 65}, {20, 300}}) {
    out.launches.push_back(
        {{floats(rows * columns, random), floats(rows * columns, random)}, {rows, columns}});
  }
  return out;
}

// Stores over different axes to different parameters.
Result<Trial> statements(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 100);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value i = b.axis(n, Role::parallel);
  const Value k = b.axis(n, Role::reduce);
  const Value j = b.axis(b.i64(13), Role::parallel);
  b.store(b.param(1, DType::f32, n, OST_KIR_WRITE), i, b.unary(Op::neg, b.load(x, i)));
  b.store(b.param(2, DType::f32, b.i64(1), OST_KIR_WRITE), b.i64(0),
          b.reduce(Combine::sum, Order::tree, b.load(x, k), k));
  b.store(b.param(3, DType::i64, b.i64(13), OST_KIR_WRITE), j, b.mul(j, n));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t n_value : {0, 1, 100}) {
    out.launches.push_back({{floats(n_value, random), floats(n_value, random), floats(1, random),
                             values(DType::i64, 13, Flavour::any, random)},
                            {n_value}});
  }
  return out;
}

// y[r, i] = y[r, i - 1] + x[r, i]: each iteration sees the one before.
Result<Trial> scan(Random& random) {
  Builder b;
  const Value rows = b.i64(4);
  const Value n = b.var(0, 0, 200);
  const Value x = b.param(0, DType::f32, b.mul(rows, n), OST_KIR_READ);
  const Value y = b.param(1, DType::f32, b.mul(rows, n), kReadWrite);
  const Value r = b.axis(rows, Role::parallel);
  const Value i = b.axis(n, Role::carry);
  const Value at = b.add(b.mul(r, n), i);
  const Value before = b.load(y, b.sub(at, b.i64(1)), b.le(b.i64(1), i));
  b.store(y, at, b.add(before, b.load(x, at)));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t n_value : {0, 1, 2, 200}) {
    out.launches.push_back({{floats(4 * n_value, random), floats(4 * n_value, random)}, {n_value}});
  }
  return out;
}

Value clamped(Builder& b, Value index, int64_t count) {
  const Value low = b.binary(Op::max, b.cast(DType::i64, index), b.i64(0));
  return b.binary(Op::min, low, b.i64(count - 1));
}

// y[index[i]] += u[i], in order.
Result<Trial> scatter(Random& random) {
  constexpr int64_t kSlots = 17;
  Builder b;
  const Value n = b.var(0, 0, 90);
  const Value index = b.param(0, DType::i32, n, OST_KIR_READ);
  const Value u = b.param(1, DType::f32, n, OST_KIR_READ);
  const Value y = b.param(2, DType::f32, b.i64(kSlots), kReadWrite);
  const Value i = b.axis(n, Role::carry);
  const Value at = clamped(b, b.load(index, i), kSlots);
  b.store(y, at, b.add(b.load(y, at), b.load(u, i)));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t n_value : {0, 1, 90}) {
    out.launches.push_back(
        {{indices(n_value, random), floats(n_value, random), floats(kSlots, random)}, {n_value}});
  }
  return out;
}

// y[i] = x[index[i]] where the index is inside, by mask.
Result<Trial> gather(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 90);
  const Value m = b.var(1, 0, 40);
  const Value x = b.param(0, DType::f32, m, OST_KIR_READ);
  const Value index = b.param(1, DType::i32, n, OST_KIR_READ);
  const Value y = b.param(2, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  const Value at = b.cast(DType::i64, b.load(index, i));
  const Value inside = b.bit_and(b.le(b.i64(0), at), b.lt(at, m));
  b.store(y, i, b.load(x, at, inside));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const auto& [count, slots] : {std::pair<int64_t, int64_t>{0, 3}, {90, 0}, {90, 17}}) {
    out.launches.push_back(
        {{floats(slots, random), indices(count, random), floats(count, random)}, {count, slots}});
  }
  return out;
}

Result<Trial> in_place(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 5000);
  const Value x = b.param(0, DType::f32, n, kReadWrite);
  const Value i = b.axis(n, Role::parallel);
  const Value v = b.load(x, i);
  b.store(x, i, b.fma(v, v, b.f32(1)));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t count : {0, 1, 5000})
    out.launches.push_back({{floats(count, random)}, {count}});
  return out;
}

// Indices with quotients and remainders, as a reshape of a transposition has them.
Result<Trial> reshape(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 30);
  const Value seven = b.i64(7);
  const Value count = b.mul(n, seven);
  const Value x = b.param(0, DType::f32, count, OST_KIR_READ);
  const Value y = b.param(1, DType::f32, count, OST_KIR_WRITE);
  const Value i = b.axis(count, Role::parallel);
  b.store(y, i, b.load(x, b.add(b.mul(b.rem(i, seven), n), b.div(i, seven))));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t v : {0, 1, 30})
    out.launches.push_back({{floats(7 * v, random), floats(7 * v, random)}, {v}});
  return out;
}

// Five axes, permuted.
Result<Trial> permute(Random& random) {
  constexpr int64_t kSizes[] = {2, 3, 4, 5, 6};
  constexpr int64_t kCount = 720;
  Builder b;
  const Value x = b.param(0, DType::i16, b.i64(kCount), OST_KIR_READ);
  const Value y = b.param(1, DType::i16, b.i64(kCount), OST_KIR_WRITE);
  Value axis[5];
  for (int d = 0; d < 5; ++d) axis[d] = b.axis(b.i64(kSizes[d]), Role::parallel);
  Value to = b.i64(0), from = b.i64(0);
  for (int d = 0; d < 5; ++d) to = b.add(b.mul(to, b.i64(kSizes[d])), axis[d]);
  for (int d = 4; d >= 0; --d) from = b.add(b.mul(from, b.i64(kSizes[d])), axis[d]);
  b.store(y, to, b.load(x, from));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  out.launches.push_back({{values(DType::i16, kCount, Flavour::any, random),
                           values(DType::i16, kCount, Flavour::any, random)},
                          {}});
  return out;
}

// y[i] = sum over k of x[i + k - 2] w[k], zero outside: a padded convolution.
Result<Trial> window(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 120);
  const Value five = b.i64(5);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value w = b.param(1, DType::f32, five, OST_KIR_READ);
  const Value y = b.param(2, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  const Value k = b.axis(five, Role::reduce);
  const Value at = b.sub(b.add(i, k), b.i64(2));
  const Value inside = b.bit_and(b.le(b.i64(0), at), b.lt(at, n));
  b.store(y, i, b.contract(Order::blk256, b.load(x, at, inside), b.load(w, k), k));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t v : {0, 1, 2, 120})
    out.launches.push_back({{floats(v, random), floats(5, random), floats(v, random)}, {v}});
  return out;
}

// An extent that is computed, and may be below 1: then the axis has no points.
Result<Trial> extent(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 50);
  const Value count = b.binary(Op::max, b.sub(b.div(n, b.i64(2)), b.i64(3)), b.i64(0));
  const Value y = b.param(0, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(count, Role::parallel);
  b.store(y, i, b.f32(2.5f), b.lt(i, n));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t v : {0, 5, 7, 50}) out.launches.push_back({{floats(v, random)}, {v}});
  return out;
}

// A value that does not depend on the axis counts once for each of its points.
Result<Trial> uniform(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 9000);
  const Value x = b.param(0, DType::f32, b.i64(1), OST_KIR_READ);
  const Value y = b.param(1, DType::f32, b.i64(1), OST_KIR_WRITE);
  const Value k = b.axis(n, Role::reduce);
  b.store(y, b.i64(0), b.reduce(Combine::sum, Order::tree, b.load(x, b.i64(0)), k));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t v : {0, 1, 65, 9000})
    out.launches.push_back({{floats(1, random), floats(1, random)}, {v}});
  return out;
}

Result<Trial> many_params(Random& random) {
  constexpr uint32_t kParams = 40;
  Builder b;
  const Value n = b.i64(19);
  const Value i = b.axis(n, Role::parallel);
  Value sum = b.f32(0);
  Trial out;
  Launch launch;
  for (uint32_t p = 0; p < kParams; ++p) {
    sum = b.add(sum, b.load(b.param(p, DType::f32, n, OST_KIR_READ), i));
    launch.params.push_back(floats(19, random));
  }
  b.store(b.param(kParams, DType::f32, n, OST_KIR_WRITE), i, sum);
  launch.params.push_back(floats(19, random));
  OST_TRY_ASSIGN(out.kernel, b.build());
  out.launches.push_back(std::move(launch));
  return out;
}

// Enough elements for every unit that a device has.
Result<Trial> large(Random& random) {
  Builder b;
  const Value n = b.var(0, 0, int64_t{1} << 40);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value y = b.param(1, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  b.store(y, i, b.mul(b.load(x, i), b.f32(1.5f)));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  constexpr int64_t kCount = 300007;
  out.launches.push_back({{floats(kCount, random), floats(kCount, random)}, {kCount}});
  return out;
}

}  // namespace

void add_structures(std::vector<GridCase>& out) {
  const std::pair<const char*, Result<Trial> (*)(Random&)> kCases[] = {
      {"rows", rows},       {"statements", statements}, {"scan", scan},
      {"scatter", scatter}, {"gather", gather},         {"in_place", in_place},
      {"reshape", reshape}, {"permute", permute},       {"window", window},
      {"extent", extent},   {"uniform", uniform},       {"many_params", many_params},
      {"large", large}};
  for (const auto& [name, make] : kCases)
    out.push_back({"", fmt::format("structure.{}", name), make});
}

std::vector<GridCase> grid() {
  std::vector<GridCase> out;
  add_structures(out);
  add_elementwise(out);
  add_reductions(out);
  add_contractions(out);
  return out;
}

}  // namespace ost::conform
