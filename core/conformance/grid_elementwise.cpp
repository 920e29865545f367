#include <algorithm>

#include "core/kir/ops.hpp"
#include "grid.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Op;
using kir::Role;
using kir::Value;

// y[i] = body(a[i], b[i], c[i]): what is common to all operations without an axis.
struct Pointwise {
  DType result;
  std::vector<DType> operands;
  std::vector<Flavour> flavours;
  std::function<Value(Builder&, std::span<const Value>)> body;
};

Launch contents(const Pointwise& p, uint64_t inputs, uint64_t outputs, std::vector<int64_t> vars,
                Random& random) {
  Launch out;
  for (size_t k = 0; k < p.operands.size(); ++k)
    out.params.push_back(values(p.operands[k], inputs, p.flavours[k], random));
  out.params.push_back(values(p.result, outputs, Flavour::any, random));
  out.vars = std::move(vars);
  return out;
}

// 131 elements: more than a vector of any machine, and not a multiple of one. Odd operands are read
// backwards.
Result<Trial> fixed(const Pointwise& p, Random& random) {
  constexpr int64_t kCount = 131;
  Builder b;
  const Value count = b.i64(kCount);
  const Value i = b.axis(count, Role::parallel);
  std::vector<Value> operands;
  for (uint32_t k = 0; k < p.operands.size(); ++k) {
    const Value at = k % 2 == 0 ? i : b.sub(b.i64(kCount - 1), i);
    operands.push_back(b.load(b.param(k, p.operands[k], count, OST_KIR_READ), at));
  }
  const auto slot = static_cast<uint32_t>(p.operands.size());
  b.store(b.param(slot, p.result, count, OST_KIR_WRITE), i, p.body(b, operands));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  out.launches.push_back(contents(p, kCount, kCount, {}, random));
  return out;
}

Result<Trial> symbolic(const Pointwise& p, Random& random) {
  Builder b;
  const Value n = b.var(0, 0, 300);
  const Value i = b.axis(n, Role::parallel);
  std::vector<Value> operands;
  for (uint32_t k = 0; k < p.operands.size(); ++k)
    operands.push_back(b.load(b.param(k, p.operands[k], n, OST_KIR_READ), i));
  const auto slot = static_cast<uint32_t>(p.operands.size());
  b.store(b.param(slot, p.result, n, OST_KIR_WRITE), i, p.body(b, operands));
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t size : {0, 1, 7, 64, 65, 300}) {
    const auto count = static_cast<uint64_t>(size);
    out.launches.push_back(contents(p, count, count, {size}, random));
  }
  return out;
}

// Two axes, masked loads (0 where the mask is false) and a masked store (memory stays).
Result<Trial> masked(const Pointwise& p, Random& random) {
  constexpr int64_t kColumns = 33;
  constexpr int64_t kLoaded = 20;
  Builder b;
  const Value n = b.var(0, 0, 9);
  const Value columns = b.i64(kColumns);
  const Value i = b.axis(n, Role::parallel);
  const Value j = b.axis(columns, Role::parallel);
  const Value in_at = b.add(b.mul(i, b.i64(kLoaded)), j);
  const Value mask = b.lt(j, b.i64(kLoaded));
  std::vector<Value> operands;
  for (uint32_t k = 0; k < p.operands.size(); ++k) {
    const Value param = b.param(k, p.operands[k], b.mul(n, b.i64(kLoaded)), OST_KIR_READ);
    operands.push_back(b.load(param, in_at, mask));
  }
  const Value at = b.add(b.mul(i, columns), j);
  const Value keep = b.compare(Op::ne, b.rem(at, b.i64(3)), b.i64(1));
  const auto slot = static_cast<uint32_t>(p.operands.size());
  b.store(b.param(slot, p.result, b.mul(n, columns), OST_KIR_WRITE), at, p.body(b, operands), keep);
  Trial out;
  OST_TRY_ASSIGN(out.kernel, b.build());
  for (const int64_t rows : {0, 1, 9}) {
    out.launches.push_back(contents(p, static_cast<uint64_t>(rows * kLoaded),
                                    static_cast<uint64_t>(rows * kColumns), {rows}, random));
  }
  return out;
}

void add(std::vector<GridCase>& out, const std::string& cell, const std::string& variant,
         const Pointwise& p) {
  const std::string name = variant.empty() ? cell : cell + "." + variant;
  const std::pair<const char*, Result<Trial> (*)(const Pointwise&, Random&)> kShapes[] = {
      {"fixed", fixed}, {"symbolic", symbolic}, {"masked", masked}};
  for (const auto& [shape, make] : kShapes) {
    out.push_back(
        {cell, name + "." + shape, [p, make](Random& random) { return make(p, random); }});
  }
}

std::string cell_name(Op op, DType type) {
  return fmt::format("{}.{}", kir::info(op).name, name_of(type));
}

bool computes(DType t) { return is_int(t) || t == DType::f32 || t == DType::f64; }

void add_unary(std::vector<GridCase>& out) {
  for (const Op op :
       {Op::neg, Op::abs, Op::sqrt, Op::floor, Op::ceil, Op::trunc, Op::rint, Op::bit_not}) {
    for (const DType t : kAllDTypes) {
      const bool arithmetic = op == Op::neg || op == Op::abs;
      const bool fits = op == Op::bit_not ? is_int(t) || t == DType::boolean
                        : arithmetic      ? computes(t)
                                          : computes(t) && is_float(t);
      if (!fits) continue;
      add(out, cell_name(op, t), "",
          {t, {t}, {Flavour::any}, [op](Builder& b, auto v) { return b.unary(op, v[0]); }});
    }
  }
}

bool binary_takes(Op op, DType t) {
  switch (op) {
    case Op::rem:
    case Op::shl:
    case Op::shr:
      return is_int(t);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return is_int(t) || t == DType::boolean;
    case Op::min:
    case Op::max:
      return computes(t) || t == DType::boolean;
    default:
      return computes(t);
  }
}

void add_binary(std::vector<GridCase>& out) {
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::min, Op::max, Op::bit_and,
                      Op::bit_or, Op::bit_xor, Op::shl, Op::shr}) {
    for (const DType t : kAllDTypes) {
      if (!binary_takes(op, t)) continue;
      add(out, cell_name(op, t), "",
          {t, {t, t}, {Flavour::any, Flavour::any}, [op](Builder& b, auto v) {
             return b.binary(op, v[0], v[1]);
           }});
    }
  }
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le}) {
    for (const DType t : kAllDTypes) {
      if (is_half(t)) continue;
      // The record is a bool; the cell is named after what it compares.
      add(out, cell_name(op, t), "",
          {DType::boolean, {t, t}, {Flavour::any, Flavour::any}, [op](Builder& b, auto v) {
             return b.compare(op, v[0], v[1]);
           }});
    }
  }
}

void add_memory(std::vector<GridCase>& out) {
  for (const DType t : kAllDTypes) {
    const Pointwise copy{t, {t}, {Flavour::no_nan}, [](Builder&, auto v) { return v[0]; }};
    add(out, cell_name(Op::load, t), "", copy);
    add(out, cell_name(Op::store, t), "",
        {t, {t, t}, {Flavour::no_nan, Flavour::no_nan}, [](Builder&, auto v) { return v[1]; }});
    add(out, cell_name(Op::constant, t), "",
        {t, {}, {}, [t](Builder& b, auto) {
           return b.constant(t, t == DType::boolean ? 1 : uint64_t{0x41} << (bits_of(t) - 8));
         }});
    add(out, cell_name(Op::where, t), "",
        {t,
         {DType::boolean, t, t},
         {Flavour::any, Flavour::any, Flavour::any},
         [](Builder& b, auto v) { return b.where(v[0], v[1], v[2]); }});
    add(out, cell_name(Op::where, t), "rare",
        {t,
         {DType::boolean, t, t},
         {Flavour::any, Flavour::any, Flavour::any},
         [](Builder& b, auto v) { return b.where(v[0], v[1], v[2], true); }});
  }
}

void add_casts(std::vector<GridCase>& out) {
  for (const DType to : kAllDTypes) {
    for (const DType from : kAllDTypes) {
      const std::string variant = fmt::format("from_{}", name_of(from));
      // A builder drops a cast to the same type, which is the identity.
      if (to != from) {
        add(out, cell_name(Op::cast, to), variant,
            {to, {from}, {Flavour::any}, [to](Builder& b, auto v) { return b.cast(to, v[0]); }});
      }
      const bool bits = size_of(to) == size_of(from) && to != DType::boolean &&
                        from != DType::boolean && to != from;
      if (bits) {
        add(out, cell_name(Op::bitcast, to), variant,
            {to, {from}, {Flavour::no_nan}, [to](Builder& b, auto v) {
               return b.bitcast(to, v[0]);
             }});
      }
    }
  }
}

void add_others(std::vector<GridCase>& out) {
  for (const DType t : {DType::f32, DType::f64}) {
    add(out, cell_name(Op::fma, t), "",
        {t, {t, t, t}, {Flavour::any, Flavour::any, Flavour::any}, [](Builder& b, auto v) {
           return b.fma(v[0], v[1], v[2]);
         }});
    add(out, cell_name(Op::fma, t), "near",
        {t,
         {t, t, t},
         {Flavour::moderate, Flavour::moderate, Flavour::moderate},
         [](Builder& b, auto v) {
           // a·b - round(a·b): only one rounding gives the rest of the product.
           return b.fma(v[0], v[1], b.unary(Op::neg, b.binary(Op::mul, v[0], v[1])));
         }});
    add(out, cell_name(Op::mul, t), "add",
        {t,
         {t, t, t},
         {Flavour::moderate, Flavour::moderate, Flavour::moderate},
         [](Builder& b, auto v) { return b.add(b.mul(v[0], v[1]), v[2]); }});  // no contraction
    add(out, cell_name(Op::ldexp, t), "",
        {t, {t, DType::i32}, {Flavour::any, Flavour::any}, [](Builder& b, auto v) {
           return b.ldexp(v[0], v[1]);
         }});
    add(out, cell_name(Op::ldexp, t), "near",
        {t, {t, DType::i32}, {Flavour::any, Flavour::index}, [](Builder& b, auto v) {
           return b.ldexp(v[0], b.binary(Op::mul, v[1], b.constant(DType::i32, 0xfffffff3u)));
         }});
  }
}

}  // namespace

void add_elementwise(std::vector<GridCase>& out) {
  add_memory(out);
  add_unary(out);
  add_binary(out);
  add_others(out);
  add_casts(out);
}

}  // namespace ost::conform
