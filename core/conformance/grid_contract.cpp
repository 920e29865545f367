#include "core/kir/ops.hpp"
#include "grid.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Op;
using kir::Order;
using kir::Role;
using kir::Value;

struct Sizes {
  int64_t m, n, k;
};

struct ContractShape {
  const char* name;
  Sizes fixed;      // all 0: symbolic
  bool transposed;  // b[n, k]
};

constexpr ContractShape kShapes[] = {{"fixed", {5, 7, 131}, false},
                                     {"tiles", {70, 65, 33}, false},
                                     {"long", {2, 3, 5000}, true},
                                     {"symbolic", {0, 0, 0}, false},
                                     {"transposed", {0, 0, 0}, true}};

Launch contents(DType t, const Sizes& s, bool symbolic, Random& random) {
  Launch out;
  const auto bytes = [&](int64_t count, Flavour f) {
    return values(t, static_cast<uint64_t>(count), f, random);
  };
  out.params = {bytes(s.m * s.k, Flavour::moderate), bytes(s.k * s.n, Flavour::moderate),
                bytes(s.m * s.n, Flavour::any)};
  if (symbolic) out.vars = {s.m, s.n, s.k};
  return out;
}

// c[i, j] = sum over k of a[i, k] b[k, j]
Result<Trial> contract(DType t, Order order, const ContractShape& shape, Random& random) {
  Builder b;
  const bool symbolic = shape.fixed.m == 0;
  const Value m = symbolic ? b.var(0, 0, 40) : b.i64(shape.fixed.m);
  const Value n = symbolic ? b.var(1, 0, 40) : b.i64(shape.fixed.n);
  const Value length = symbolic ? b.var(2, 0, 600) : b.i64(shape.fixed.k);
  const Value pa = b.param(0, t, b.mul(m, length), OST_KIR_READ);
  const Value pb = b.param(1, t, b.mul(length, n), OST_KIR_READ);
  const Value pc = b.param(2, t, b.mul(m, n), OST_KIR_WRITE);
  const Value i = b.axis(m, Role::parallel);
  const Value j = b.axis(n, Role::parallel);
  const Value k = b.axis(length, Role::reduce);
  const Value at = shape.transposed ? b.add(b.mul(j, length), k) : b.add(b.mul(k, n), j);
  const Value sum = b.contract(order, b.load(pa, b.add(b.mul(i, length), k)), b.load(pb, at), k);
  b.store(pc, b.add(b.mul(i, n), j), sum);
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  if (!symbolic) {
    out.launches.push_back(contents(t, shape.fixed, false, random));
    return out;
  }
  constexpr Sizes kSizes[] = {{0, 3, 5},   {3, 4, 0},    {1, 1, 1},    {4, 4, 256},
                              {5, 1, 257}, {17, 33, 64}, {40, 40, 600}};
  for (const Sizes& s : kSizes) out.launches.push_back(contents(t, s, true, random));
  return out;
}

// o[q, d] = attention over the keys t with scores s[q, t] and values v[t, d].
Result<Trial> attention(int64_t fixed_keys, bool masked, Random& random) {
  constexpr int64_t kQueries = 3;
  constexpr int64_t kWidth = 5;
  Builder b;
  const Value keys = fixed_keys < 0 ? b.var(0, 0, 300) : b.i64(fixed_keys);
  const Value scores = b.param(0, DType::f32, b.mul(b.i64(kQueries), keys), OST_KIR_READ);
  const Value vs = b.param(1, DType::f32, b.mul(keys, b.i64(kWidth)), OST_KIR_READ);
  const Value out_param = b.param(2, DType::f32, b.i64(kQueries * kWidth), OST_KIR_WRITE);
  const Value q = b.axis(b.i64(kQueries), Role::parallel);
  const Value d = b.axis(b.i64(kWidth), Role::parallel);
  const Value t = b.axis(keys, Role::reduce);
  const Value score = b.load(scores, b.add(b.mul(q, keys), t));
  const Value mask = masked ? b.le(t, b.mul(q, b.i64(70))) : b.boolean(true);
  const Value v = b.load(vs, b.add(b.mul(t, b.i64(kWidth)), d));
  b.store(out_param, b.add(b.mul(q, b.i64(kWidth)), d), b.attn(score, mask, v, t));
  Trial trial;
  OST_TRY_ASSIGN(trial.kernel, b.build());
  const std::vector<int64_t> sizes =
      fixed_keys < 0 ? std::vector<int64_t>{0, 1, 63, 64, 65, 300} : std::vector{fixed_keys};
  for (const int64_t n : sizes) {
    const auto count = static_cast<uint64_t>(n);
    Launch l;
    l.params = {values(DType::f32, kQueries * count, Flavour::moderate, random),
                values(DType::f32, count * kWidth, Flavour::moderate, random),
                values(DType::f32, kQueries * kWidth, Flavour::any, random)};
    if (fixed_keys < 0) l.vars = {n};
    trial.launches.push_back(std::move(l));
  }
  return trial;
}

}  // namespace

void add_contractions(std::vector<GridCase>& out) {
  for (const DType t : kAllDTypes) {
    if (is_half(t) || t == DType::boolean) continue;
    for (const Order order : {Order::any, Order::tree, Order::blk256}) {
      if ((order == Order::any) == is_float(t)) continue;
      for (const ContractShape& shape : kShapes) {
        const std::string cell = fmt::format("contract.{}", name_of(t));
        out.push_back({cell, fmt::format("{}.{}.{}", cell, name_of(order), shape.name),
                       [t, order, shape](Random& r) { return contract(t, order, shape, r); }});
      }
    }
  }
  const std::tuple<const char*, int64_t, bool> kAttention[] = {
      {"fixed", 70, false}, {"long", 2100, false}, {"symbolic", -1, false}, {"masked", -1, true}};
  for (const auto& [name, keys, masked] : kAttention) {
    out.push_back({"attn.f32", fmt::format("attn.f32.{}", name),
                   [keys, masked](Random& r) { return attention(keys, masked, r); }});
  }
}

}  // namespace ost::conform
