#include "core/kir/range.hpp"

#include <algorithm>
#include <bit>

#include "core/kir/fold.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

Range hull(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

// An index below an extent; an axis without points has no values, 0 stands for them.
Range below(const Range& extent) { return {0, std::max<int64_t>(extent.hi, 1) - 1}; }

// The result of exact arithmetic, if it fits the type, else every value (it may wrap).
Range or_full(std::optional<Range> exact, DType type) {
  const Range full = full_range(type);
  return exact && type != DType::u64 && is_within(*exact, full) ? *exact : full;
}

std::optional<Range> negated(const Range& a) {
  if (a.lo == INT64_MIN) return std::nullopt;
  return Range{-a.hi, -a.lo};
}

Range quotient(const Range& a, const Range& b, const Range& full) {
  if (b.lo >= 1) {  // monotone in both ends: toward zero for larger divisors
    const auto [lo, hi] = std::minmax({a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi});
    return {lo, hi};
  }
  if (a.lo <= -full.hi) return full;
  const int64_t largest = std::max(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
  return {-largest, largest};
}

Range remainder(const Range& a, const Range& b) {
  if (b.lo == INT64_MIN) return {std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0)};
  const int64_t largest =
      std::max<int64_t>({b.lo < 0 ? -b.lo : b.lo, b.hi < 0 ? -b.hi : b.hi, 1}) - 1;
  return {a.lo >= 0 ? 0 : std::max(a.lo, -largest), a.hi <= 0 ? 0 : std::min(a.hi, largest)};
}

Range bitwise(Op op, const Range& a, const Range& b, const Range& full) {
  const bool a_positive = a.lo >= 0;
  const bool b_positive = b.lo >= 0;
  if (op == Op::bit_and && (a_positive || b_positive))
    return {0, a_positive && b_positive ? std::min(a.hi, b.hi) : a_positive ? a.hi : b.hi};
  if (op != Op::bit_and && a_positive && b_positive) {
    const auto bits = std::bit_width(static_cast<uint64_t>(std::max(a.hi, b.hi)));
    return {0, static_cast<int64_t>((uint64_t{1} << bits) - 1)};
  }
  return full;
}

Range shifted(Op op, const Range& a, const Range& amount, DType type) {
  const Range full = full_range(type);
  if (amount.lo != amount.hi || amount.lo < 0 || amount.lo >= bits_of(type) || a.lo < 0)
    return full;
  if (op == Op::shr) return {a.lo >> amount.lo, a.hi >> amount.lo};
  if (amount.lo > 62) return full;
  const int64_t factor = int64_t{1} << amount.lo;
  return or_full(multiply(a, {factor, factor}), type);
}

Range absolute(const Range& a, DType type) {
  const auto n = negated(a);
  if (!n) return full_range(type);
  if (a.lo >= 0) return a;
  return or_full(a.hi <= 0 ? *n : Range{0, std::max(a.hi, n->hi)}, type);
}

Range converted(DType to, DType from, const Range& a) {
  if (from == DType::u64 || is_float(from)) return full_range(to);
  return or_full(a, to);
}

}  // namespace

Range full_range(DType type) {
  switch (type) {
    case DType::boolean:
      return {0, 1};
    case DType::i8:
      return {INT8_MIN, INT8_MAX};
    case DType::i16:
      return {INT16_MIN, INT16_MAX};
    case DType::i32:
      return {INT32_MIN, INT32_MAX};
    case DType::u8:
      return {0, UINT8_MAX};
    case DType::u16:
      return {0, UINT16_MAX};
    case DType::u32:
      return {0, UINT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

std::optional<Range> add(const Range& a, const Range& b) {
  Range out;
  if (__builtin_add_overflow(a.lo, b.lo, &out.lo) || __builtin_add_overflow(a.hi, b.hi, &out.hi))
    return std::nullopt;
  return out;
}

std::optional<Range> multiply(const Range& a, const Range& b) {
  int64_t p[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
    return std::nullopt;
  const auto [lo, hi] = std::minmax({p[0], p[1], p[2], p[3]});
  return Range{lo, hi};
}

std::optional<Range> range_of(const Poly& p, const RangeLookup& atoms) {
  if (!p.is_valid()) return std::nullopt;
  Range sum{0, 0};
  for (const PolyTerm& term : p.terms()) {
    std::optional<Range> product = Range{term.coefficient, term.coefficient};
    for (Value atom : term.monomial.factors()) {
      product = multiply(*product, atoms(atom));
      if (!product) return std::nullopt;
    }
    const auto total = add(sum, *product);
    if (!total) return std::nullopt;
    sum = *total;
  }
  return sum;
}

Range transfer(const Kernel& kernel, Value v, const RangeLookup& operands) {
  const Inst& inst = kernel.insts[v];
  const DType type = kernel.dtype(v);
  const Range full = full_range(type);
  if (is_float(type) || type == DType::u64) return full;
  const auto src = [&](uint32_t k) { return operands(inst.src[k]); };
  const auto op = static_cast<Op>(inst.op);
  switch (op) {
    case Op::constant: {
      const int64_t c = sign_value(type, inst.imm);
      return {c, c};
    }
    case Op::var:
      return {src(0).lo, src(1).hi};
    case Op::axis:
      return below(src(0));
    case Op::argreduce:
      return below({0, src(1).hi == INT64_MAX ? INT64_MAX : src(1).hi + 1});
    case Op::neg:
      return or_full(negated(src(0)), type);
    case Op::abs:
      return absolute(src(0), type);
    case Op::add:
      return or_full(add(src(0), src(1)), type);
    case Op::sub: {
      const auto n = negated(src(1));
      return n ? or_full(add(src(0), *n), type) : full;
    }
    case Op::mul:
      return or_full(multiply(src(0), src(1)), type);
    case Op::div:
      return quotient(src(0), src(1), full);
    case Op::rem:
      return remainder(src(0), src(1));
    case Op::min:
      return {std::min(src(0).lo, src(1).lo), std::min(src(0).hi, src(1).hi)};
    case Op::max:
      return {std::max(src(0).lo, src(1).lo), std::max(src(0).hi, src(1).hi)};
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return bitwise(op, src(0), src(1), full);
    case Op::shl:
    case Op::shr:
      return shifted(op, src(0), src(1), type);
    case Op::where:
      return hull(src(1), src(2));
    case Op::cast:
      return type == DType::boolean ? full : converted(type, kernel.dtype(inst.src[0]), src(0));
    default:
      return full;  // loads, reductions, comparisons
  }
}

std::vector<Range> ranges_of(const Kernel& kernel) {
  std::vector<Range> ranges;
  ranges.reserve(kernel.insts.size());
  for (Value v = 0; v < kernel.insts.size(); ++v)
    ranges.push_back(transfer(kernel, v, [&](Value s) { return ranges[s]; }));
  return ranges;
}

}  // namespace ost::kir
