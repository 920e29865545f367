// Proofs of "p >= 0" for integer polynomials over the values of a kernel.
//
// Method: interval arithmetic; where that is too wide, one atom is cancelled by a known fact F >=
// 0: p is replaced by p - k*F with k >= 0, and p >= 0 follows if the rest is >= 0. Facts come from
// what an atom is (0 <= axis < extent, b*(a/b) <= a, ...), from masks, and from axes that are known
// to have points. A search with a budget; failure means "not proved".
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/kir/index.hpp"

namespace ost::kir {

class Prover {
 public:
  explicit Prover(const IndexAnalysis& index, int budget) : index_(index), budget_(budget) {}

  void assume(const Poly& nonnegative);
  void assume_points(uint64_t axes);  // each of these axes has an extent of at least 1
  void assume_truth(Value condition,
                    bool truth);  // comparisons, and/or/not of them; others say nothing
  void allow_cases() {
    cases_ = 3;
  }  // split where, min and max into cases, nested at most this deep

  bool nonnegative(const Poly& p);
  int budget() const { return budget_; }

 private:
  Range range(Value v) const;
  std::optional<Range> range(const Poly& p) const;
  void narrow(Value v, Range r);
  void narrow_by(const Poly& fact);
  void assume_comparison(Value condition, bool truth);
  Poly exact(Value v, int depth = 3) const;

  bool search(const Poly& p);
  bool reduce(const Poly& p);
  bool cancel(const Poly& p, Value atom);
  bool cancel_by(const Poly& p, const Poly& slope, Value atom, const Poly& fact);
  bool by_cases(const Poly& p, Value atom);
  bool case_holds(const Poly& p, Value condition, bool truth, Value atom, Value replacement);
  void facts_about(Value atom, std::vector<Poly>& out) const;
  void quotient_facts(Value atom, std::vector<Poly>& out) const;
  std::optional<Poly> upper(const Poly& p, int depth) const;
  std::optional<Poly> upper_of_atom(Value atom, int depth) const;
  std::optional<Poly> quotient_upper(const Poly& a, const Poly& b, int depth) const;
  bool is_positive(const Poly& p) const;

  const IndexAnalysis& index_;
  mutable int budget_;
  int cases_ = 0;
  std::vector<Poly> facts_;
  std::vector<std::pair<Value, Range>> narrowed_;
  int depth_left_ = 0;
  std::unordered_map<uint64_t, int>
      seen_;  // hashes of what was tried; a collision only loses a proof
};

// p = slope * atom + rest, if the atom has no power above 1.
struct Linear {
  Poly slope;
  Poly rest;
};
std::optional<Linear> linear_in(const Poly& p, Value atom);

}  // namespace ost::kir
