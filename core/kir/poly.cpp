#include "core/kir/poly.hpp"

#include <algorithm>

namespace ost::kir {
namespace {

constexpr size_t kMaxTerms = 64;

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// a = b*whole + rest, term by term.
PolySplit split_by_term(const Poly& a, const PolyTerm& divisor) {
  PolySplit out;
  for (const PolyTerm& term : a.terms()) {
    const auto m = divide(term.monomial, divisor.monomial);
    if (!m) {
      out.rest = out.rest + Poly::term(term.monomial, term.coefficient);
      continue;
    }
    const bool constants = term.monomial.degree == 0 && divisor.monomial.degree == 0;
    const int64_t quotient = constants ? floor_quotient(term.coefficient, divisor.coefficient)
                                       : term.coefficient / divisor.coefficient;
    out.whole = out.whole + Poly::term(*m, quotient);
    out.rest =
        out.rest + Poly::term(term.monomial, term.coefficient - quotient * divisor.coefficient);
  }
  return out;
}

// True if every term of `part` is in `all` with the same coefficient.
bool includes(const Poly& all, const Poly& part) {
  return std::all_of(part.terms().begin(), part.terms().end(), [&](const PolyTerm& term) {
    return std::find(all.terms().begin(), all.terms().end(), term) != all.terms().end();
  });
}

// Takes out whole multiples of b: i*n + i + j by n + 1 is i, rest j.
PolySplit split_by_sum(const Poly& a, const Poly& b) {
  PolySplit out{{}, a};
  const PolyTerm lead = b.terms()[0];
  for (const PolyTerm& term : a.terms()) {
    const auto m = divide(term.monomial, lead.monomial);
    if (!m || term.coefficient % lead.coefficient != 0) continue;
    const Poly quotient = Poly::term(*m, term.coefficient / lead.coefficient);
    const Poly multiple = b * quotient;
    if (!multiple.is_valid() || !includes(out.rest, multiple)) continue;
    out.whole = out.whole + quotient;
    out.rest = out.rest - multiple;
  }
  return out;
}

}  // namespace

bool Monomial::contains(Value atom) const {
  const auto all = factors();
  return std::find(all.begin(), all.end(), atom) != all.end();
}

std::strong_ordering operator<=>(const Monomial& a, const Monomial& b) {
  const uint32_t common = std::min(a.degree, b.degree);
  for (uint32_t i = 0; i < common; ++i) {
    if (a.atoms[i] != b.atoms[i]) return a.atoms[i] <=> b.atoms[i];
  }
  return b.degree <=> a.degree;
}

std::optional<Monomial> multiply(const Monomial& a, const Monomial& b) {
  if (a.degree + b.degree > kMaxDegree) return std::nullopt;
  Monomial out;
  const auto left = a.factors();
  const auto right = b.factors();
  std::merge(left.begin(), left.end(), right.begin(), right.end(), out.atoms.begin());
  out.degree = a.degree + b.degree;
  return out;
}

std::optional<Monomial> divide(const Monomial& a, const Monomial& b) {
  Monomial out;
  uint32_t j = 0;
  for (Value atom : a.factors()) {
    if (j < b.degree && b.atoms[j] == atom) {
      ++j;
    } else {
      out.atoms[out.degree++] = atom;
    }
  }
  if (j != b.degree) return std::nullopt;
  return out;
}

Monomial common_factor(const Monomial& a, const Monomial& b) {
  Monomial out;
  const auto left = a.factors();
  const auto right = b.factors();
  const auto end = std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                                         out.atoms.begin());
  out.degree = static_cast<uint32_t>(end - out.atoms.begin());
  return out;
}

Poly Poly::constant(int64_t c) { return term(Monomial{}, c); }

Poly Poly::atom(Value v) {
  Monomial m;
  m.degree = 1;
  m.atoms[0] = v;
  return term(m, 1);
}

Poly Poly::term(const Monomial& m, int64_t c) {
  Poly out;
  if (c != 0) out.terms_.push_back({m, c});
  return out;
}

Poly Poly::invalid() {
  Poly out;
  out.valid_ = false;
  return out;
}

std::optional<int64_t> Poly::as_constant() const {
  if (!valid_ || terms_.size() > 1 || (terms_.size() == 1 && terms_[0].monomial.degree > 0))
    return std::nullopt;
  return terms_.empty() ? 0 : terms_[0].coefficient;
}

std::optional<Value> Poly::as_atom() const {
  if (!valid_ || terms_.size() != 1 || terms_[0].coefficient != 1 || terms_[0].monomial.degree != 1)
    return std::nullopt;
  return terms_[0].monomial.atoms[0];
}

int64_t Poly::constant_part() const {
  return terms_.empty() || terms_.back().monomial.degree > 0 ? 0 : terms_.back().coefficient;
}

bool Poly::contains(Value atom) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const PolyTerm& t) { return t.monomial.contains(atom); });
}

Poly Poly::merge(const Poly& a, const Poly& b, int64_t sign) {
  if (!a.valid_ || !b.valid_) return invalid();
  Poly out;
  out.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto i = a.terms_.begin();
  auto j = b.terms_.begin();
  while (i != a.terms_.end() || j != b.terms_.end()) {
    const bool from_a = j == b.terms_.end() || (i != a.terms_.end() && i->monomial < j->monomial);
    const bool from_both = !from_a && i != a.terms_.end() && i->monomial == j->monomial;
    if (from_a) {
      out.terms_.push_back(*i++);
      continue;
    }
    int64_t c = 0;
    if (__builtin_mul_overflow(j->coefficient, sign, &c)) return invalid();
    if (from_both && __builtin_add_overflow(i->coefficient, c, &c)) return invalid();
    if (c != 0) out.terms_.push_back({j->monomial, c});
    ++j;
    if (from_both) ++i;
  }
  if (out.terms_.size() > kMaxTerms) return invalid();
  return out;
}

Poly operator+(const Poly& a, const Poly& b) { return Poly::merge(a, b, 1); }

Poly operator-(const Poly& a, const Poly& b) { return Poly::merge(a, b, -1); }

Poly operator*(const Poly& a, const Poly& b) {
  if (!a.valid_ || !b.valid_ || a.terms_.size() * b.terms_.size() > 4 * kMaxTerms)
    return Poly::invalid();
  Poly out;
  for (const PolyTerm& x : a.terms_) {
    Poly row;
    for (const PolyTerm& y : b.terms_) {
      const auto m = multiply(x.monomial, y.monomial);
      int64_t c = 0;
      if (!m || __builtin_mul_overflow(x.coefficient, y.coefficient, &c)) return Poly::invalid();
      row.terms_.push_back({*m, c});
    }
    std::sort(row.terms_.begin(), row.terms_.end(),
              [](const PolyTerm& p, const PolyTerm& q) { return p.monomial < q.monomial; });
    out = out + row;
  }
  return out;
}

std::optional<Poly> divide_exactly(const Poly& a, const Poly& b) {
  if (!a.is_valid() || !b.is_valid() || b.is_zero()) return std::nullopt;
  PolySplit parts = split(a, b);
  if (!parts.rest.is_zero()) return std::nullopt;
  return std::move(parts.whole);
}

PolySplit split(const Poly& a, const Poly& b) {
  if (!a.is_valid() || !b.is_valid() || b.is_zero()) return {{}, a};
  for (const PolyTerm& term : a.terms()) {
    if (term.coefficient == INT64_MIN) return {{}, a};  // would overflow when divided by -1
  }
  return b.terms().size() == 1 ? split_by_term(a, b.terms()[0]) : split_by_sum(a, b);
}

}  // namespace ost::kir
