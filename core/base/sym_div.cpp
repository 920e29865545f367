// floordiv, mod, min, max, ceildiv: folded where they can be, else an atom with reduced operands.
#include <algorithm>
#include <numeric>

#include "core/base/sym.hpp"
#include "core/base/sym_rep.hpp"

namespace ost {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// a / b where b is one term that divides the term a exactly.
std::optional<Sym::Term> divide_term(const Sym::Term& a, const Sym::Term& b) {
  if (a.coefficient == INT64_MIN || a.coefficient % b.coefficient != 0) return std::nullopt;
  Sym::Term quotient{a.coefficient / b.coefficient, {}};
  size_t j = 0;
  for (const auto& factor : a.factors) {
    if (j < b.factors.size() && compare_atoms(*factor, *b.factors[j]) == 0) {
      ++j;
    } else {
      quotient.factors.push_back(factor);
    }
  }
  if (j != b.factors.size()) return std::nullopt;
  return quotient;
}

// a = b * whole + rest, where rest has no term that b divides; a constant b > 0 leaves a constant
// in [0, b).
struct Split {
  Sym whole = 0;
  Sym rest = 0;
};

Split split_by(const Sym& a, const Sym& b) {
  const std::vector<Sym::Term> divisor = b.terms();
  if (divisor.size() != 1) return a == b ? Split{1, 0} : Split{0, a};
  std::vector<Sym::Term> whole;
  std::vector<Sym::Term> rest;
  for (const Sym::Term& term : a.terms()) {
    if (term.factors.empty() && divisor[0].factors.empty()) {
      const int64_t quotient = floor_div(term.coefficient, divisor[0].coefficient);
      const int64_t remainder = term.coefficient - quotient * divisor[0].coefficient;
      if (quotient != 0) whole.push_back({quotient, {}});
      if (remainder != 0) rest.push_back({remainder, {}});
    } else if (auto quotient = divide_term(term, divisor[0])) {
      whole.push_back(std::move(*quotient));
    } else {
      rest.push_back(term);
    }
  }
  const auto sorted = [](std::vector<Sym::Term>& terms) {
    std::sort(terms.begin(), terms.end(), [](const auto& p, const auto& q) {
      return compare_factors(p.factors, q.factors) < 0;
    });
    return SymAccess::from_terms(std::move(terms));
  };
  return {sorted(whole), sorted(rest)};
}

// The common divisor of a constant c > 0 and all coefficients of a except the constant term's.
int64_t common_divisor(const Sym& a, int64_t c) {
  int64_t g = c;
  for (const Sym::Term& term : a.terms()) {
    if (term.coefficient == INT64_MIN) return 1;
    if (!term.factors.empty()) g = std::gcd(g, term.coefficient);
  }
  return g;
}

// floordiv of an expression that has no part that b divides.
Sym reduced_floordiv(const Sym& a, const Sym& b) {
  if (a.lower() >= 0 && provably_lt(a, b)) return 0;
  if (a.upper() < 0 && provably_le(0 - b, a)) return -1;
  const auto c = b.constant();
  if (!c || *c <= 1) return SymAccess::from_atom(Sym::AtomKind::floordiv, a, b);
  if (const int64_t g = common_divisor(a, *c); g > 1) {
    Split by_g = split_by(a, g);  // only the constant term leaves a rest, which is below g
    return floordiv(by_g.whole, *c / g);
  }
  if (const auto atom = SymAccess::lone_atom(a);
      atom && atom->kind == Sym::AtomKind::floordiv && atom->b.is_const()) {
    const Sym product = atom->b * b;  // floordiv(floordiv(x, p), c) = floordiv(x, p*c) for p, c > 0
    if (product.is_valid() && *atom->b.constant() > 0) return floordiv(atom->a, product);
  }
  return SymAccess::from_atom(Sym::AtomKind::floordiv, a, b);
}

Sym order_pair(Sym::AtomKind kind, const Sym& a, const Sym& b) {
  return a < b ? SymAccess::from_atom(kind, a, b) : SymAccess::from_atom(kind, b, a);
}

}  // namespace

Sym floordiv(const Sym& a, const Sym& b) {
  if (!a.is_valid() || !b.is_valid() || b == Sym(0)) return SymAccess::invalid();
  if (a.is_const() && b.is_const()) {
    if (a.value_ == INT64_MIN && b.value_ == -1) return SymAccess::invalid();
    return floor_div(a.value_, b.value_);
  }
  if (b.upper() < 0) return floordiv(0 - a, 0 - b);
  if (b.lower() < 1) return SymAccess::from_atom(Sym::AtomKind::floordiv, a, b);
  const Split parts = split_by(a, b);
  if (parts.rest == Sym(0)) return parts.whole;
  return parts.whole + reduced_floordiv(parts.rest, b);
}

Sym mod(const Sym& a, const Sym& b) {
  if (!a.is_valid() || !b.is_valid() || b == Sym(0)) return SymAccess::invalid();
  if (a.is_const() && b.is_const())
    return b.value_ == -1 ? Sym(0) : Sym(a.value_ - b.value_ * floor_div(a.value_, b.value_));
  if (b.upper() < 0) return 0 - mod(0 - a, 0 - b);
  if (b.lower() < 1) return SymAccess::from_atom(Sym::AtomKind::mod, a, b);
  const Sym rest = split_by(a, b).rest;
  if (rest.is_const() && b.is_const()) return mod(rest, b);
  if (rest == Sym(0) || (rest.lower() >= 0 && provably_lt(rest, b))) return rest;
  if (rest.upper() < 0 && provably_le(0 - b, rest)) return rest + b;
  return SymAccess::from_atom(Sym::AtomKind::mod, rest, b);
}

Sym min(const Sym& a, const Sym& b) {
  if (!a.is_valid() || !b.is_valid()) return SymAccess::invalid();
  if (a.is_const() && b.is_const()) return std::min(a.value_, b.value_);
  if (provably_le(a, b)) return a;
  if (provably_le(b, a)) return b;
  return order_pair(Sym::AtomKind::min, a, b);
}

Sym max(const Sym& a, const Sym& b) {
  if (!a.is_valid() || !b.is_valid()) return SymAccess::invalid();
  if (a.is_const() && b.is_const()) return std::max(a.value_, b.value_);
  if (provably_le(a, b)) return b;
  if (provably_le(b, a)) return a;
  return order_pair(Sym::AtomKind::max, a, b);
}

Sym ceildiv(const Sym& a, const Sym& b) { return floordiv(a + b - 1, b); }

}  // namespace ost
