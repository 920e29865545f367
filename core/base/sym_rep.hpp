// What a Sym that is not a constant is made of, for the sym_*.cpp files only.
#pragma once

#include "core/base/sym.hpp"

namespace ost {

struct Sym::Rep {
  std::vector<Term>
      terms;          // sorted by compare_factors, no zero coefficients; never a lone constant
  int64_t lower = 0;  // interval over all variable values, saturated
  int64_t upper = 0;
  bool valid = true;
};

using Factors = std::vector<std::shared_ptr<const Sym::Atom>>;

std::strong_ordering compare_atoms(const Sym::Atom& a, const Sym::Atom& b);
// More factors first (so that a constant comes last), then by the factors in order.
std::strong_ordering compare_factors(const Factors& a, const Factors& b);

struct Interval {
  int64_t lower;
  int64_t upper;
};
Interval interval_of(const Sym::Atom& atom);
Interval interval_of(const Sym::Term& term);

// The one friend of Sym: makes expressions from terms and looks inside.
struct SymAccess {
  static constexpr size_t kMaxTerms =
      256;  // larger expressions are invalid: they are an attack or a mistake
  static constexpr size_t kMaxDegree = 16;

  static Sym invalid();
  static Sym from_terms(std::vector<Sym::Term> sorted_terms);  // constants become constants
  static Sym from_atom(Sym::AtomKind kind, Sym a, Sym b);
  static std::shared_ptr<const Sym::Atom> lone_atom(
      const Sym& s);  // the atom, if the expression is just that
};

// True if the expression is >= 0 for all values of its variables; false means "not proved".
bool prove_nonnegative(const Sym& s);

}  // namespace ost
