// What is known about an atom from the record that it is: inequalities "fact >= 0".
#include <algorithm>

#include "core/kir/prove.hpp"

namespace ost::kir {

void Prover::facts_about(Value atom, std::vector<Poly>& out) const {
  const Inst& inst = index_.kernel().insts[atom];
  const Poly x = Poly::atom(atom);
  const auto src = [&](uint32_t k) { return index_.poly(inst.src[k]); };
  switch (index_.kernel().op(atom)) {
    case Op::axis:
      out.push_back(src(0) - Poly::constant(1) - x);
      break;
    case Op::argreduce: {  // 0 for an empty axis, so it is below the extent only where that is
                           // positive
      const Poly& extent = index_.poly(index_.kernel().insts[inst.src[1]].src[0]);
      if (is_positive(extent)) out.push_back(extent - Poly::constant(1) - x);
      break;
    }
    case Op::min:
      out.push_back(src(0) - x);
      out.push_back(src(1) - x);
      break;
    case Op::max:
      out.push_back(x - src(0));
      out.push_back(x - src(1));
      break;
    case Op::div:
    case Op::rem:
      quotient_facts(atom, out);
      break;
    default:
      break;
  }
  const Range r = range(atom);
  if (r.lo != INT64_MIN) out.push_back(x - Poly::constant(r.lo));
  if (r.hi != INT64_MAX) out.push_back(Poly::constant(r.hi) - x);
}

// For a >= 0 and b >= 1, where truncated division is floored division.
void Prover::quotient_facts(Value atom, std::vector<Poly>& out) const {
  const Inst& inst = index_.kernel().insts[atom];
  const Poly x = Poly::atom(atom);
  const Poly a = index_.poly(inst.src[0]);
  const Poly b = index_.poly(inst.src[1]);
  const Poly one = Poly::constant(1);
  const auto dividend = range(a);
  if (!is_positive(b) || !dividend || dividend->lo < 0) return;
  if (index_.kernel().op(atom) == Op::rem) {
    out.push_back(b - one - x);
    out.push_back(a - x);
    return;
  }
  if (const auto limit = quotient_upper(a, b, 4)) out.push_back(*limit - x);
  out.push_back(a - b * x);
  out.push_back(b * x + b - one - a);
}

// A bound of p over all axes: each atom that depends on one is replaced by its own bound, the
// latest record first.
std::optional<Poly> Prover::upper(const Poly& p, int depth) const {
  Poly bound = p;
  while (budget_-- > 0) {
    Value atom = kNone;
    for (const PolyTerm& term : bound.terms()) {
      for (Value v : term.monomial.factors()) {
        if (!index_.is_uniform(v) && (atom == kNone || v > atom)) atom = v;
      }
    }
    if (atom == kNone) return bound.is_valid() ? std::optional(bound) : std::nullopt;
    const auto parts = linear_in(bound, atom);
    const auto slope = parts ? range(parts->slope) : std::nullopt;
    if (!slope || (slope->lo < 0 && slope->hi > 0)) return std::nullopt;
    const int64_t lowest = range(atom).lo;
    std::optional<Poly> value = Poly::constant(lowest);
    if (slope->lo >= 0) value = upper_of_atom(atom, depth);
    if (!value || (slope->lo < 0 && lowest == INT64_MIN)) return std::nullopt;
    bound = parts->slope * *value + parts->rest;
  }
  return std::nullopt;
}

std::optional<Poly> Prover::upper_of_atom(Value atom, int depth) const {
  const Inst& inst = index_.kernel().insts[atom];
  const Op op = index_.kernel().op(atom);
  if (op == Op::axis) return index_.poly(inst.src[0]) - Poly::constant(1);
  if (op == Op::rem && is_positive(index_.poly(inst.src[1])))
    return index_.poly(inst.src[1]) - Poly::constant(1);
  if (op == Op::div && depth > 0) {
    if (auto limit = quotient_upper(index_.poly(inst.src[0]), index_.poly(inst.src[1]), depth - 1))
      return limit;
  }
  const int64_t highest = range(atom).hi;
  return highest == INT64_MAX ? std::nullopt : std::optional(Poly::constant(highest));
}

// a / b <= k if 0 <= a <= k*b + rest with rest < b; from the bound of a over all axes.
std::optional<Poly> Prover::quotient_upper(const Poly& a, const Poly& b, int depth) const {
  const auto dividend = range(a);
  if (!is_positive(b) || !dividend || dividend->lo < 0) return std::nullopt;
  const auto bound = upper(a, depth);
  if (!bound) return std::nullopt;
  const PolySplit parts = split(*bound, b);
  const auto rest = range(parts.rest);
  if (!rest) return std::nullopt;
  if (rest->hi < 0) return parts.whole - Poly::constant(1);
  const auto margin = range(b - parts.rest);
  return margin && margin->lo >= 1 ? std::optional(parts.whole) : std::nullopt;
}

}  // namespace ost::kir
