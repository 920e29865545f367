// Integer polynomials over values of a kernel: what index arithmetic is reasoned about in. An atom
// is a record that is not a sum or product of others (an axis, a variable, a quotient, a load,
// ...). Arithmetic is exact: an overflow of a coefficient, a degree above 6 or too many terms make
// the polynomial invalid, never wrong.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::kir {

inline constexpr uint32_t kMaxDegree = 6;

// A product of atoms, sorted by position; repeated for powers.
struct Monomial {
  uint32_t degree = 0;
  std::array<Value, kMaxDegree> atoms{};

  bool contains(Value atom) const;
  std::span<const Value> factors() const { return {atoms.data(), degree}; }
  friend bool operator==(const Monomial&, const Monomial&) = default;
  // By the atoms in order, so that terms of earlier axes come first; the constant comes last.
  friend std::strong_ordering operator<=>(const Monomial& a, const Monomial& b);
};

std::optional<Monomial> multiply(const Monomial& a, const Monomial& b);
std::optional<Monomial> divide(const Monomial& a, const Monomial& b);  // exact
Monomial common_factor(const Monomial& a, const Monomial& b);

struct PolyTerm {
  Monomial monomial;
  int64_t coefficient;
  friend bool operator==(const PolyTerm&, const PolyTerm&) = default;
};

class Poly {
 public:
  Poly() = default;  // 0
  static Poly constant(int64_t c);
  static Poly atom(Value v);
  static Poly term(const Monomial& m, int64_t c);
  static Poly invalid();

  bool is_valid() const { return valid_; }
  std::span<const PolyTerm> terms() const { return terms_; }  // sorted, no zero coefficients
  std::optional<int64_t> as_constant() const;
  std::optional<Value> as_atom() const;
  bool is_zero() const { return valid_ && terms_.empty(); }
  int64_t constant_part() const;
  bool contains(Value atom) const;

  friend Poly operator+(const Poly& a, const Poly& b);
  friend Poly operator-(const Poly& a, const Poly& b);
  friend Poly operator*(const Poly& a, const Poly& b);
  friend bool operator==(const Poly&, const Poly&) = default;

 private:
  static Poly merge(const Poly& a, const Poly& b, int64_t sign);
  std::vector<PolyTerm> terms_;
  bool valid_ = true;
};

// a / b, if b divides a.
std::optional<Poly> divide_exactly(const Poly& a, const Poly& b);

// a = b * whole + rest. For b of one term the split is term by term: coefficients of `rest` that
// b's atoms divide are smaller than b's in magnitude and have the sign of a's (a constant by a
// constant leaves a remainder >= 0). For a sum b, whole multiples of b are taken out.
struct PolySplit {
  Poly whole;
  Poly rest;
};
PolySplit split(const Poly& a, const Poly& b);

}  // namespace ost::kir
