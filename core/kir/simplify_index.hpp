// Simplification of i64 arithmetic through polynomials: sums get one canonical spelling, quotients
// and remainders are taken apart where ranges allow it, comparisons are decided. This is what makes
// movement operations vanish: an index that is linearised and split again becomes the index it was.
//
// Values are simplified under the assumption that the point exists, that is that no axis they
// depend on is empty.
#pragma once

#include <unordered_map>

#include "core/kir/index.hpp"
#include "core/kir/pool.hpp"
#include "core/kir/samples.hpp"

namespace ost::kir {

class IndexSimplifier {
 public:
  explicit IndexSimplifier(Pool& pool) : pool_(pool), index_(pool.kernel(), kMaxTerms) {}

  // The value of an i64 operation, or of a comparison of integers; kNone: nothing better than the
  // record itself.
  Value run(const Inst& inst);
  // A value that is known to be a constant, as one.
  Value settled(Value v);
  Range range(Value v);
  void clear();

 private:
  static constexpr size_t kMaxTerms = 24;

  Poly poly(Value v);  // a copy: the analysis grows while it is used
  Value emit(const Poly& p);
  Value emit_product(const Monomial& m, int64_t coefficient);
  Value emit_sum(Value sum, const Monomial& m, int64_t coefficient);
  Value raw(Op op, Value a, Value b);

  Value arithmetic(const Inst& inst);
  Value division(const Inst& inst);
  Value extreme(const Inst& inst);
  Value comparison(const Inst& inst);

  bool nonnegative(const Poly& p);
  bool is_in(const Poly& p, const Poly& limit) {
    return nonnegative(p) && nonnegative(limit - p - Poly::constant(1));
  }

  // Division of a >= 0 by b >= 1 (both proved); deeper calls only see smaller dividends.
  struct Step;
  Step step(const Poly& a, const Poly& b);
  bool take_common(const Poly& a, const Poly& b, Step& out);
  Poly quotient(const Poly& a, const Poly& b, int depth);
  Poly remainder(const Poly& a, const Poly& b, int depth);
  Poly quotient_atom(const Poly& a, const Poly& b, int depth);
  Poly remainder_atom(const Poly& a, const Poly& b, int depth);
  Poly rejoin(Poly p);  // b*(a/b) + a rem b is a

  Pool& pool_;
  IndexAnalysis index_;
  Samples samples_;
  std::unordered_map<Value, Poly> partner_;  // the quotient that belongs to a remainder
};

}  // namespace ost::kir
