// Interval arithmetic over variable bounds, and proofs of a <= b: the canonical difference is
// bounded by intervals, and where these are too wide (a variable that occurs more than once), one
// atom after the other is replaced by a bound.
#include <algorithm>
#include <utility>

#include "core/base/sym.hpp"
#include "core/base/sym_rep.hpp"

namespace ost {
namespace {

// Ends at INT64_MIN/MAX stand for "unbounded"; 0 times anything is 0.
int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

Interval product(Interval x, Interval y) {
  const auto [lower, upper] =
      std::minmax({saturated_product(x.lower, y.lower), saturated_product(x.lower, y.upper),
                   saturated_product(x.upper, y.lower), saturated_product(x.upper, y.upper)});
  return {lower, upper};
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

Interval floordiv_interval(const Sym& a, const Sym& b) {
  const int64_t divisor_lower = b.lower();
  if (divisor_lower < 1) return {INT64_MIN, INT64_MAX};
  const int64_t divisor_upper = b.upper();
  // A quotient by a huge divisor tends to 0 or -1, by a small one to the ends.
  const int64_t lower = floor_quotient(a.lower(), a.lower() < 0 ? divisor_lower : divisor_upper);
  const int64_t upper = floor_quotient(a.upper(), a.upper() < 0 ? divisor_upper : divisor_lower);
  return {a.lower() == INT64_MIN ? INT64_MIN : lower, a.upper() == INT64_MAX ? INT64_MAX : upper};
}

Interval mod_interval(const Sym& a, const Sym& b) {
  if (b.lower() < 1) return {INT64_MIN, INT64_MAX};
  const int64_t below_divisor = b.upper() == INT64_MAX ? INT64_MAX : b.upper() - 1;
  return {0, a.lower() >= 0 ? std::min(a.upper(), below_divisor) : below_divisor};
}

// Proves "s >= 0" by replacing atoms that occur linearly. Each step removes one atom, so it ends;
// the budget bounds the number of expressions looked at.
class Prover {
 public:
  bool nonnegative(const Sym& s) {
    if (!s.is_valid() || budget_-- <= 0) return false;
    if (s.lower() >= 0) return true;
    if (s.upper() < 0) return false;
    for (const auto& atom : atoms_of(s)) {
      if (auto parts = linear_in(s, *atom); parts && eliminate(*atom, parts->first, parts->second))
        return true;
    }
    return false;
  }

 private:
  // Composite atoms first: their bounds bring in variables that may then cancel.
  static Factors atoms_of(const Sym& s) {
    Factors atoms;
    for (const Sym::Term& term : s.terms())
      atoms.insert(atoms.end(), term.factors.begin(), term.factors.end());
    const auto later = [](const auto& x, const auto& y) { return compare_atoms(*x, *y) > 0; };
    std::sort(atoms.begin(), atoms.end(), later);
    atoms.erase(
        std::unique(atoms.begin(), atoms.end(),
                    [](const auto& x, const auto& y) { return compare_atoms(*x, *y) == 0; }),
        atoms.end());
    return atoms;
  }

  // s = first * atom + second, if the atom has no power above 1.
  static std::optional<std::pair<Sym, Sym>> linear_in(const Sym& s, const Sym::Atom& atom) {
    std::vector<Sym::Term> with;
    std::vector<Sym::Term> without;
    for (Sym::Term& term : s.terms()) {
      const auto is_atom = [&](const auto& f) { return compare_atoms(*f, atom) == 0; };
      const auto power = std::count_if(term.factors.begin(), term.factors.end(), is_atom);
      if (power > 1) return std::nullopt;
      if (power == 0) {
        without.push_back(std::move(term));
      } else {
        term.factors.erase(std::find_if(term.factors.begin(), term.factors.end(), is_atom));
        with.push_back(std::move(term));
      }
    }
    return std::pair(SymAccess::from_terms(std::move(with)),
                     SymAccess::from_terms(std::move(without)));
  }

  bool eliminate(const Sym::Atom& x, const Sym& slope, const Sym& rest) {
    const bool rising = slope.lower() >= 0;
    if (!rising && slope.upper() > 0) return false;  // unknown sign
    const auto at = [&](const Sym& bound) { return nonnegative(slope * bound + rest); };
    switch (x.kind) {
      case Sym::AtomKind::var:
        return at(rising ? x.variable.min : x.variable.max);
      case Sym::AtomKind::min:
        return rising ? at(x.a) && at(x.b) : at(x.a) || at(x.b);
      case Sym::AtomKind::max:
        return rising ? at(x.a) || at(x.b) : at(x.a) && at(x.b);
      case Sym::AtomKind::mod:
        if (x.b.lower() < 1) return false;
        return rising ? at(0) : at(x.b - 1) || (x.a.lower() >= 0 && at(x.a));
      case Sym::AtomKind::floordiv: {
        if (x.b.lower() < 1) return false;
        // a - b + 1 <= b * floordiv(a, b) <= a; b > 0, so the sign of b times the expression is the
        // expression's.
        const Sym bound = rising ? x.a - x.b + 1 : x.a;
        return nonnegative(slope * bound + rest * x.b);
      }
    }
    return false;
  }

  int budget_ = 64;
};

}  // namespace

Interval interval_of(const Sym::Atom& atom) {
  switch (atom.kind) {
    case Sym::AtomKind::var:
      return {atom.variable.min, atom.variable.max};
    case Sym::AtomKind::floordiv:
      return floordiv_interval(atom.a, atom.b);
    case Sym::AtomKind::mod:
      return mod_interval(atom.a, atom.b);
    case Sym::AtomKind::min:
      return {std::min(atom.a.lower(), atom.b.lower()), std::min(atom.a.upper(), atom.b.upper())};
    case Sym::AtomKind::max:
      return {std::max(atom.a.lower(), atom.b.lower()), std::max(atom.a.upper(), atom.b.upper())};
  }
  return {INT64_MIN, INT64_MAX};
}

Interval interval_of(const Sym::Term& term) {
  Interval range{term.coefficient, term.coefficient};
  for (const auto& factor : term.factors) range = product(range, interval_of(*factor));
  return range;
}

bool prove_nonnegative(const Sym& s) { return Prover().nonnegative(s); }

bool provably_le(const Sym& a, const Sym& b) {
  if (a.is_const() && b.is_const()) return *a.constant() <= *b.constant();
  return prove_nonnegative(b - a);
}

bool provably_lt(const Sym& a, const Sym& b) { return provably_le(a + 1, b); }

}  // namespace ost
