// Construction, comparison and ring arithmetic of Sym. Division and min/max: sym_div.cpp; intervals
// and proofs: sym_bounds.cpp; evaluation: sym_eval.cpp; text: sym_text.cpp.
#include "core/base/sym.hpp"

#include <algorithm>

#include "core/base/sym_rep.hpp"

namespace ost {
namespace {

std::strong_ordering compare_terms(const std::vector<Sym::Term>& a,
                                   const std::vector<Sym::Term>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (auto order = compare_factors(a[i].factors, b[i].factors); order != 0) return order;
    if (auto order = a[i].coefficient <=> b[i].coefficient; order != 0) return order;
  }
  return a.size() <=> b.size();
}

// Merges two sorted term lists, the second one times `sign`; nothing on overflow.
std::optional<std::vector<Sym::Term>> merge(const std::vector<Sym::Term>& a,
                                            const std::vector<Sym::Term>& b, int64_t sign) {
  std::vector<Sym::Term> out;
  out.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const auto order = i == a.size()   ? std::strong_ordering::greater
                       : j == b.size() ? std::strong_ordering::less
                                       : compare_factors(a[i].factors, b[j].factors);
    int64_t scaled = 0;
    if (order >= 0 && __builtin_mul_overflow(b[j].coefficient, sign, &scaled)) return std::nullopt;
    if (order < 0) {
      out.push_back(a[i++]);
    } else if (order > 0) {
      out.push_back({scaled, b[j++].factors});
    } else {
      int64_t sum = 0;
      if (__builtin_add_overflow(a[i].coefficient, scaled, &sum)) return std::nullopt;
      if (sum != 0) out.push_back({sum, a[i].factors});
      ++i, ++j;
    }
  }
  return out;
}

Sym combine(const Sym& a, const Sym& b, int64_t sign) {
  if (!a.is_valid() || !b.is_valid()) return SymAccess::invalid();
  auto terms = merge(a.terms(), b.terms(), sign);
  return terms ? SymAccess::from_terms(std::move(*terms)) : SymAccess::invalid();
}

int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

Factors multiply(const Factors& a, const Factors& b) {
  Factors out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out),
             [](const auto& x, const auto& y) { return compare_atoms(*x, *y) < 0; });
  return out;
}

}  // namespace

std::strong_ordering compare_atoms(const Sym::Atom& a, const Sym::Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (auto order = a.kind <=> b.kind; order != 0) return order;
  if (a.kind == Sym::AtomKind::var) return a.variable <=> b.variable;
  if (auto order = a.a <=> b.a; order != 0) return order;
  return a.b <=> b.b;
}

std::strong_ordering compare_factors(const Factors& a, const Factors& b) {
  if (auto order = b.size() <=> a.size(); order != 0) return order;
  for (size_t i = 0; i < a.size(); ++i) {
    if (auto order = compare_atoms(*a[i], *b[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

Sym SymAccess::invalid() {
  static const auto rep =
      std::make_shared<const Sym::Rep>(Sym::Rep{{}, INT64_MIN, INT64_MAX, false});
  return Sym(rep);
}

Sym SymAccess::from_terms(std::vector<Sym::Term> terms) {
  if (terms.empty()) return Sym(0);
  if (terms.size() == 1 && terms[0].factors.empty()) return Sym(terms[0].coefficient);
  if (terms.size() > kMaxTerms) return invalid();
  Sym::Rep rep{std::move(terms), 0, 0, true};
  for (const Sym::Term& term : rep.terms) {
    if (term.factors.size() > kMaxDegree) return invalid();
    const Interval range = interval_of(term);
    rep.lower = rep.lower == INT64_MIN || range.lower == INT64_MIN
                    ? INT64_MIN
                    : saturated_sum(rep.lower, range.lower);
    rep.upper = rep.upper == INT64_MAX || range.upper == INT64_MAX
                    ? INT64_MAX
                    : saturated_sum(rep.upper, range.upper);
  }
  return Sym(std::make_shared<const Sym::Rep>(std::move(rep)));
}

Sym SymAccess::from_atom(Sym::AtomKind kind, Sym a, Sym b) {
  auto atom = std::make_shared<const Sym::Atom>(Sym::Atom{kind, {}, std::move(a), std::move(b)});
  return from_terms({Sym::Term{1, {std::move(atom)}}});
}

std::shared_ptr<const Sym::Atom> SymAccess::lone_atom(const Sym& s) {
  if (!s.rep_ || s.rep_->terms.size() != 1) return nullptr;
  const Sym::Term& term = s.rep_->terms[0];
  return term.coefficient == 1 && term.factors.size() == 1 ? term.factors[0] : nullptr;
}

Sym Sym::var(Var v) {
  if (v.min > v.max) return SymAccess::invalid();
  auto atom = std::make_shared<const Atom>(Atom{AtomKind::var, std::move(v), 0, 0});
  return SymAccess::from_terms({Term{1, {std::move(atom)}}});
}

bool Sym::is_valid() const { return !rep_ || rep_->valid; }

std::optional<int64_t> Sym::constant() const { return rep_ ? std::nullopt : std::optional(value_); }

std::optional<Var> Sym::as_var() const {
  const auto atom = SymAccess::lone_atom(*this);
  return atom && atom->kind == AtomKind::var ? std::optional(atom->variable) : std::nullopt;
}

std::vector<Sym::Term> Sym::terms() const {
  if (rep_) return rep_->terms;
  if (value_ == 0) return {};
  return {Term{value_, {}}};
}

int64_t Sym::lower() const { return rep_ ? rep_->lower : value_; }

int64_t Sym::upper() const { return rep_ ? rep_->upper : value_; }

Sym operator+(const Sym& a, const Sym& b) {
  int64_t sum = 0;
  if (a.rep_ || b.rep_) return combine(a, b, 1);
  return __builtin_add_overflow(a.value_, b.value_, &sum) ? SymAccess::invalid() : Sym(sum);
}

Sym operator-(const Sym& a, const Sym& b) {
  int64_t difference = 0;
  if (a.rep_ || b.rep_) return combine(a, b, -1);
  return __builtin_sub_overflow(a.value_, b.value_, &difference) ? SymAccess::invalid()
                                                                 : Sym(difference);
}

Sym operator*(const Sym& a, const Sym& b) {
  if (!a.rep_ && !b.rep_) {
    int64_t product = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &product) ? SymAccess::invalid()
                                                                : Sym(product);
  }
  if (!a.is_valid() || !b.is_valid()) return SymAccess::invalid();
  const std::vector<Sym::Term> left = a.terms();
  const std::vector<Sym::Term> right = b.terms();
  if (left.size() * right.size() > SymAccess::kMaxTerms) return SymAccess::invalid();
  Sym sum = 0;
  for (const Sym::Term& x : left) {
    std::vector<Sym::Term> row;
    for (const Sym::Term& y : right) {
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &coefficient))
        return SymAccess::invalid();
      row.push_back({coefficient, multiply(x.factors, y.factors)});
    }
    std::sort(row.begin(), row.end(), [](const auto& p, const auto& q) {
      return compare_factors(p.factors, q.factors) < 0;
    });
    sum = sum + SymAccess::from_terms(std::move(row));
  }
  return sum;
}

bool operator==(const Sym& a, const Sym& b) { return (a <=> b) == 0; }

std::strong_ordering operator<=>(const Sym& a, const Sym& b) {
  if (a.rep_ == b.rep_)
    return a.value_ <=> b.value_;  // both constants, or one expression (value_ is 0 then)
  if (auto order = a.is_valid() <=> b.is_valid(); order != 0) return order;
  if (!a.rep_ || !b.rep_)
    return !a.rep_ ? std::strong_ordering::less : std::strong_ordering::greater;
  return compare_terms(a.rep_->terms, b.rep_->terms);
}

Sym numel(std::span<const Sym> shape) {
  Sym product = 1;
  for (const Sym& dim : shape) product = product * dim;
  return product;
}

std::string to_string(std::span<const Sym> shape) {
  std::string text = "[";
  for (const Sym& dim : shape) {
    if (text.size() > 1) text += ", ";
    text += dim.str();
  }
  return text + "]";
}

}  // namespace ost
