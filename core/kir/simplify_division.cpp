// Quotients and remainders of index polynomials, a >= 0 and b >= 1.
#include <algorithm>
#include <numeric>

#include "core/kir/simplify_index.hpp"

namespace ost::kir {

// What one look at a / b gives.
struct IndexSimplifier::Step {
  enum class Kind : uint8_t {
    done,    // a = b*whole + rest with 0 <= rest < b
    common,  // a = b*whole + factor*inner + rest with 0 <= rest < factor and factor dividing b
    open     // a = b*whole + rest with rest >= 0: nothing more is known
  };
  Kind kind = Kind::open;
  Poly whole;
  Poly rest;
  Poly factor;
  Poly inner;
};

IndexSimplifier::Step IndexSimplifier::step(const Poly& a, const Poly& b) {
  Step out;
  PolySplit parts = split(a, b);
  if (is_in(parts.rest, b)) return {Step::Kind::done, parts.whole, parts.rest, {}, {}};
  if (is_in(parts.rest + b, b))
    return {Step::Kind::done, parts.whole - Poly::constant(1), parts.rest + b, {}, {}};
  if (!nonnegative(parts.rest)) parts = {Poly(), a};
  out.whole = parts.whole;
  out.rest = parts.rest;
  if (take_common(out.rest, b, out)) out.kind = Step::Kind::common;
  return out;
}

// Looks for a factor that b has in common with some terms of a, where the other terms stay below
// it.
bool IndexSimplifier::take_common(const Poly& a, const Poly& b, Step& out) {
  if (b.terms().size() != 1) return false;
  const PolyTerm divisor = b.terms()[0];
  for (const PolyTerm& term : a.terms()) {
    if (term.coefficient == INT64_MIN) return false;
    const Poly factor = Poly::term(common_factor(term.monomial, divisor.monomial),
                                   std::gcd(term.coefficient, divisor.coefficient));
    if (factor == Poly::constant(1) || factor == b) continue;
    PolySplit parts = split(a, factor);
    if (parts.whole.is_zero() || !is_in(parts.rest, factor) || !nonnegative(parts.whole)) continue;
    out.factor = factor;
    out.inner = parts.whole;
    out.rest = parts.rest;
    return true;
  }
  return false;
}

Poly IndexSimplifier::quotient(const Poly& a, const Poly& b, int depth) {
  const Step s = step(a, b);
  if (s.kind == Step::Kind::done || depth == 0)
    return s.kind == Step::Kind::done ? s.whole : Poly::invalid();
  if (s.kind == Step::Kind::common)
    return s.whole + quotient(s.inner, *divide_exactly(b, s.factor), depth - 1);
  return s.whole + quotient_atom(s.rest, b, depth - 1);
}

Poly IndexSimplifier::remainder(const Poly& a, const Poly& b, int depth) {
  const Step s = step(a, b);
  if (s.kind == Step::Kind::done || depth == 0)
    return s.kind == Step::Kind::done ? s.rest : Poly::invalid();
  if (s.kind == Step::Kind::common)
    return s.factor * remainder(s.inner, *divide_exactly(b, s.factor), depth - 1) + s.rest;
  return remainder_atom(s.rest, b, depth - 1);
}

// (x / c) / b = x / (c*b), and (x rem c) / b = (x / b) rem (c / b) where b divides c: one spelling
// for nested splits.
Poly IndexSimplifier::quotient_atom(const Poly& a, const Poly& b, int depth) {
  if (const auto atom = a.as_atom()) {
    const Inst inner = pool_.kernel().insts[*atom];
    const Op op = static_cast<Op>(inner.op);
    if ((op == Op::div || op == Op::rem) && nonnegative(poly(inner.src[0])) &&
        nonnegative(poly(inner.src[1]) - Poly::constant(1))) {
      const Poly x = poly(inner.src[0]);
      const Poly c = poly(inner.src[1]);
      const Poly product = c * b;
      if (op == Op::div && index_.range(product)) return quotient(x, product, depth);
      if (const auto count = divide_exactly(c, b); op == Op::rem && count)
        return remainder(quotient(x, b, depth), *count, depth);
    }
  }
  const Value numerator = emit(a);
  return Poly::atom(raw(Op::div, numerator, emit(b)));
}

// (x rem c) rem b = x rem b where b divides c.
Poly IndexSimplifier::remainder_atom(const Poly& a, const Poly& b, int depth) {
  if (const auto atom = a.as_atom()) {
    const Inst inner = pool_.kernel().insts[*atom];
    if (inner.op == OST_KIR_OP_REM && nonnegative(poly(inner.src[0])) &&
        nonnegative(poly(inner.src[1]) - Poly::constant(1)) &&
        divide_exactly(poly(inner.src[1]), b)) {
      return remainder(poly(inner.src[0]), b, depth);
    }
  }
  const Value numerator = emit(a);
  const Value rest = raw(Op::rem, numerator, emit(b));
  if (!partner_.contains(rest)) partner_.emplace(rest, quotient(a, b, depth));
  return Poly::atom(rest);
}

// A sum that holds k*b*(a/b) and k*(a rem b) holds k*a.
Poly IndexSimplifier::rejoin(Poly p) {
  for (bool changed = p.is_valid(); changed;) {
    changed = false;
    for (const PolyTerm& term : p.terms()) {
      const auto factors = term.monomial.factors();
      const auto found = std::find_if(factors.begin(), factors.end(),
                                      [&](Value v) { return partner_.contains(v); });
      if (found == factors.end()) continue;
      const Inst rest = pool_.kernel().insts[*found];
      const Poly remainder = Poly::atom(*found);
      const Poly scale = *divide_exactly(Poly::term(term.monomial, term.coefficient), remainder);
      const Poly multiple = scale * poly(rest.src[1]) * partner_.at(*found);
      const Poly without = p - multiple;
      if (!without.is_valid() || multiple.is_zero() ||
          without.terms().size() + multiple.terms().size() != p.terms().size())
        continue;
      const Poly joined = without - scale * remainder + scale * poly(rest.src[0]);
      if (!joined.is_valid() || !index_.range(joined)) continue;
      p = joined;
      changed = true;
      break;
    }
  }
  return p;
}

}  // namespace ost::kir
