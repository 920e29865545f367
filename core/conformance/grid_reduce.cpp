#include "core/kir/ops.hpp"
#include "grid.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Combine;
using kir::Op;
using kir::Order;
using kir::Role;
using kir::Value;

// y[i] = reduction over k of x[i, k] (or x[k, i]).
struct Reduction {
  DType type;
  DType result;
  Flavour flavour;
  std::function<Value(Builder&, Value value, Value axis)> body;
};

struct Shape {
  const char* name;
  int64_t rows;    // -1: variable 0, at most 9
  int64_t length;  // -1: the next variable, at most 700
  bool columns;    // reduce over the outer axis
  bool masked;     // a load mask, so that 0 takes part
};

constexpr Shape kShapes[] = {{"fixed", 5, 131, false, false},
                             {"long", 2, 9001, false, false},
                             {"columns", 37, 300, true, false},
                             {"symbolic", -1, -1, false, false},
                             {"masked", 3, -1, true, true}};

Launch contents(const Reduction& r, int64_t rows, int64_t length, std::vector<int64_t> vars,
                Random& random) {
  Launch out;
  const auto count = static_cast<uint64_t>(rows);
  out.params.push_back(values(r.type, count * static_cast<uint64_t>(length), r.flavour, random));
  out.params.push_back(values(r.result, count, Flavour::any, random));
  out.vars = std::move(vars);
  return out;
}

Result<Trial> make(const Reduction& r, const Shape& s, Random& random) {
  Builder b;
  uint32_t vars = 0;
  const Value rows = s.rows < 0 ? b.var(vars++, 0, 9) : b.i64(s.rows);
  const Value length = s.length < 0 ? b.var(vars++, 0, 700) : b.i64(s.length);
  const Value x = b.param(0, r.type, b.mul(rows, length), OST_KIR_READ);
  const Value y = b.param(1, r.result, rows, OST_KIR_WRITE);
  const Value i = b.axis(rows, Role::parallel);
  const Value k = b.axis(length, Role::reduce);
  const Value at = s.columns ? b.add(b.mul(k, rows), i) : b.add(b.mul(i, length), k);
  const Value mask = s.masked ? b.compare(Op::ne, b.rem(k, b.i64(5)), b.i64(2)) : b.boolean(true);
  b.store(y, i, r.body(b, s.masked ? b.load(x, at, mask) : b.load(x, at), k));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  if (s.length >= 0) {
    out.launches.push_back(contents(r, s.rows, s.length, {}, random));
    return out;
  }
  for (const int64_t k_value : {0, 1, 63, 64, 65, 255, 256, 257, 700}) {
    const int64_t n = s.rows < 0 ? k_value % 10 : s.rows;
    std::vector<int64_t> given = s.rows < 0 ? std::vector{n, k_value} : std::vector{k_value};
    out.launches.push_back(contents(r, n, k_value, std::move(given), random));
  }
  return out;
}

void add(std::vector<GridCase>& out, Op op, const std::string& variant, const Reduction& r) {
  const std::string cell = fmt::format("{}.{}", kir::info(op).name, name_of(r.type));
  for (const Shape& shape : kShapes) {
    out.push_back({cell, fmt::format("{}.{}.{}", cell, variant, shape.name),
                   [r, shape](Random& random) { return make(r, shape, random); }});
  }
}

bool takes(Combine c, DType t) {
  if (is_half(t)) return false;
  switch (c) {
    case Combine::sum:
    case Combine::prod:
      return t != DType::boolean;
    case Combine::max:
    case Combine::min:
      return true;
    default:
      return !is_float(t);
  }
}

}  // namespace

void add_reductions(std::vector<GridCase>& out) {
  for (const Combine c : {Combine::sum, Combine::prod, Combine::max, Combine::min, Combine::bit_and,
                          Combine::bit_or, Combine::bit_xor}) {
    for (const DType t : kAllDTypes) {
      if (!takes(c, t)) continue;
      const bool ordered = is_float(t) && (c == Combine::sum || c == Combine::prod);
      const Flavour flavour = ordered ? Flavour::moderate : Flavour::any;
      for (const Order order : {Order::any, Order::tree, Order::blk256}) {
        if ((order == Order::any) == ordered) continue;
        add(out, Op::reduce, fmt::format("{}_{}", name_of(c), name_of(order)),
            {t, t, flavour,
             [c, order](Builder& b, Value v, Value k) { return b.reduce(c, order, v, k); }});
      }
    }
  }
  for (const Combine c : {Combine::max, Combine::min}) {
    for (const DType t : kAllDTypes) {
      if (is_half(t)) continue;
      add(out, Op::argreduce, std::string(name_of(c)),
          {t, DType::i64, Flavour::any,
           [c](Builder& b, Value v, Value k) { return b.argreduce(c, v, k); }});
    }
  }
}

}  // namespace ost::conform
