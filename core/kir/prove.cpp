#include "core/kir/prove.hpp"

#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace ost::kir {
namespace {

constexpr size_t kMaxConditions = 64;  // of one mask
constexpr size_t kMaxFacts = 160;

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

uint64_t hash_of(const Poly& p) {
  uint64_t hash = p.terms().size();
  for (const PolyTerm& term : p.terms()) {
    hash = XXH3_64bits_withSeed(&term.coefficient, sizeof term.coefficient, hash);
    hash = XXH3_64bits_withSeed(term.monomial.atoms.data(), term.monomial.degree * sizeof(Value),
                                hash);
  }
  return hash;
}

// The atoms of a polynomial, latest record first: later ones are defined by earlier ones, which may
// then cancel.
std::vector<Value> atoms_of(const Poly& p) {
  std::vector<Value> atoms;
  for (const PolyTerm& term : p.terms()) {
    for (Value atom : term.monomial.factors()) atoms.push_back(atom);
  }
  std::sort(atoms.begin(), atoms.end(), std::greater<>());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

}  // namespace

std::optional<Linear> linear_in(const Poly& p, Value atom) {
  Linear out;
  Monomial just_atom;
  just_atom.degree = 1;
  just_atom.atoms[0] = atom;
  for (const PolyTerm& term : p.terms()) {
    const auto quotient = divide(term.monomial, just_atom);
    if (!quotient) {
      out.rest = out.rest + Poly::term(term.monomial, term.coefficient);
    } else if (quotient->contains(atom)) {
      return std::nullopt;
    } else {
      out.slope = out.slope + Poly::term(*quotient, term.coefficient);
    }
  }
  return out;
}

Range Prover::range(Value v) const {
  for (const auto& [value, range] : narrowed_) {
    if (value == v) return range;
  }
  return index_.range(v);
}

std::optional<Range> Prover::range(const Poly& p) const {
  return range_of(p, [this](Value v) { return range(v); });
}

void Prover::narrow(Value v, Range r) {
  for (auto& [value, range] : narrowed_) {
    if (value == v) {
      range = {std::max(range.lo, r.lo), std::min(range.hi, r.hi)};
      return;
    }
  }
  const Range known = index_.range(v);
  narrowed_.emplace_back(v, Range{std::max(known.lo, r.lo), std::min(known.hi, r.hi)});
}

void Prover::assume(const Poly& nonnegative) {
  if (!nonnegative.is_valid() || nonnegative.as_constant() || facts_.size() >= kMaxFacts) return;
  if (std::find(facts_.begin(), facts_.end(), nonnegative) != facts_.end()) return;
  budget_ -= 1 + static_cast<int>(facts_.size() / 8);  // what the rounds below cost
  if (budget_ <= 0) return;
  facts_.push_back(nonnegative);
  for (int round = 0; round < 2; ++round) {
    for (const Poly& fact : facts_) narrow_by(fact);
  }
}

// c*m + rest >= 0 bounds the atom m by the largest value of rest; a product that must be positive
// has positive factors if none of them can be negative.
void Prover::narrow_by(const Poly& fact) {
  for (const PolyTerm& term : fact.terms()) {
    if (term.monomial.degree == 0) continue;
    const auto rest = range(fact - Poly::term(term.monomial, term.coefficient));
    if (!rest || rest->hi == INT64_MIN) continue;
    const Value first = term.monomial.atoms[0];
    if (term.monomial.degree == 1) {
      const int64_t c = term.coefficient;
      if (c > 0) narrow(first, {-floor_quotient(rest->hi, c), INT64_MAX});
      if (c < 0 && c != INT64_MIN) narrow(first, {INT64_MIN, floor_quotient(rest->hi, -c)});
      continue;
    }
    const auto factors = term.monomial.factors();
    const bool none_negative =
        std::all_of(factors.begin(), factors.end(), [&](Value v) { return range(v).lo >= 0; });
    if (term.coefficient < 0 || rest->hi >= 0 || !none_negative) continue;
    for (Value factor : factors) narrow(factor, {1, INT64_MAX});
  }
}

void Prover::assume_points(uint64_t axes) {
  for (; axes != 0; axes &= axes - 1) {
    const Value axis = index_.axis(static_cast<uint32_t>(__builtin_ctzll(axes)));
    assume(index_.poly(index_.kernel().insts[axis].src[0]) - Poly::constant(1));
  }
}

// Walks the conjunction with a list instead of recursion: a stranger's kernel may nest conditions
// deeply, or share them.
void Prover::assume_truth(Value condition, bool truth) {
  const Kernel& kernel = index_.kernel();
  std::vector<std::pair<Value, bool>> known{{condition, truth}};
  for (size_t i = 0; i < known.size() && i < kMaxConditions; ++i) {
    const auto [v, holds] = known[i];
    const Inst& inst = kernel.insts[v];
    const Op op = kernel.op(v);
    if (op == Op::eq || op == Op::ne || op == Op::lt || op == Op::le) assume_comparison(v, holds);
    if (kernel.dtype(v) != DType::boolean) continue;
    if (op == Op::bit_not) known.emplace_back(inst.src[0], !holds);
    // Both of a true conjunction are true, both of a false disjunction are false; the rest says
    // nothing definite.
    const bool both =
        holds ? op == Op::bit_and || op == Op::min : op == Op::bit_or || op == Op::max;
    if (!both) continue;
    known.emplace_back(inst.src[0], holds);
    if (inst.src[1] != inst.src[0]) known.emplace_back(inst.src[1], holds);
  }
}

void Prover::assume_comparison(Value condition, bool truth) {
  const Inst& inst = index_.kernel().insts[condition];
  const Op op = index_.kernel().op(condition);
  if (index_.kernel().dtype(inst.src[0]) != DType::i64) return;
  const Poly a = exact(inst.src[0]);
  const Poly b = exact(inst.src[1]);
  const Poly one = Poly::constant(1);
  if (op == Op::lt) return assume(truth ? b - a - one : a - b);
  if (op == Op::le) return assume(truth ? b - a : a - b - one);
  if ((op == Op::eq) != truth) return;
  assume(b - a);
  assume(a - b);
}

// The polynomial of a record; one that might wrap in general may be exact within the ranges known
// here.
Poly Prover::exact(Value v, int depth) const {
  const Poly& known = index_.poly(v);
  const Op op = index_.kernel().op(v);
  if (depth == 0 || known.as_atom() != v || (op != Op::add && op != Op::sub && op != Op::mul))
    return known;
  const Inst& inst = index_.kernel().insts[v];
  Poly wider = index_.combine(op, exact(inst.src[0], depth - 1), exact(inst.src[1], depth - 1));
  return range(wider) ? wider : known;
}

bool Prover::is_positive(const Poly& p) const {
  const auto r = range(p);
  return r && r->lo >= 1;
}

bool Prover::nonnegative(const Poly& p) {
  for (int limit : {4, 8, 16}) {  // iterative deepening: short proofs first
    seen_.clear();
    depth_left_ = limit;
    if (search(p)) return true;
    if (budget_ <= 0) break;
  }
  return false;
}

bool Prover::search(const Poly& p) {
  if (!p.is_valid() || depth_left_ <= 0 || budget_-- <= 0) return false;
  if (const auto r = range(p)) {
    if (r->lo >= 0) return true;
    if (r->hi < 0) return false;
  }
  int& seen_with = seen_[hash_of(p)];  // how deep it was searched: 0 not yet
  if (seen_with >= depth_left_) return false;
  seen_with = depth_left_--;
  const bool found = reduce(p);
  ++depth_left_;
  return found;
}

bool Prover::reduce(const Poly& p) {
  // A common factor that cannot be negative decides nothing.
  Monomial common = p.terms()[0].monomial;
  for (const PolyTerm& term : p.terms()) common = common_factor(common, term.monomial);
  const auto factors = common.factors();
  if (!factors.empty() &&
      std::all_of(factors.begin(), factors.end(), [&](Value v) { return range(v).lo >= 0; })) {
    return search(*divide_exactly(p, Poly::term(common, 1)));
  }
  // Nor does a common divisor of the coefficients; the constant is rounded down.
  int64_t divisor = 0;
  for (const PolyTerm& term : p.terms()) {
    if (term.coefficient == INT64_MIN) return false;
    if (term.monomial.degree > 0) divisor = std::gcd(divisor, term.coefficient);
  }
  if (divisor > 1) return search(split(p, Poly::constant(divisor)).whole);
  for (Value atom : atoms_of(p)) {
    if (cancel(p, atom)) return true;
  }
  if (cases_ > 0) {
    for (Value atom : atoms_of(p)) {
      if (by_cases(p, atom)) return true;
    }
  }
  return false;
}

bool Prover::cancel(const Poly& p, Value atom) {
  const auto parts = linear_in(p, atom);
  if (!parts) return false;
  if (const Poly wider = exact(atom); wider.as_atom() != atom)
    return search(parts->slope * wider + parts->rest);
  std::vector<Poly> facts;
  for (const Poly& fact : facts_) {
    if (fact.contains(atom)) facts.push_back(fact);
  }
  facts_about(atom, facts);
  return std::any_of(facts.begin(), facts.end(),
                     [&](const Poly& fact) { return cancel_by(p, parts->slope, atom, fact); });
}

// fact = f*atom + g >= 0 and p = slope*atom + rest: with k = slope/f >= 0, p - k*fact has no atom
// any more. If f does not divide the slope, |f|*p + |f| - 1 >= 0 is proved instead, which for
// integers says the same.
bool Prover::cancel_by(const Poly& p, const Poly& slope, Value atom, const Poly& fact) {
  const auto parts = linear_in(fact, atom);
  if (!parts || parts->slope.is_zero()) return false;
  if (const auto k = divide_exactly(slope, parts->slope)) {
    const auto r = range(*k);
    return r && r->lo >= 0 && search(p - *k * fact);
  }
  const bool negative = !is_positive(parts->slope);
  const Poly magnitude = negative ? Poly() - parts->slope : parts->slope;
  if (!is_positive(magnitude)) return false;
  const Poly k = negative ? Poly() - slope : slope;
  const auto r = range(k);
  return r && r->lo >= 0 && search(magnitude * p + magnitude - Poly::constant(1) - k * fact);
}

bool Prover::by_cases(const Poly& p, Value atom) {
  const Inst& inst = index_.kernel().insts[atom];
  const Op op = index_.kernel().op(atom);
  if (op == Op::where) {
    return case_holds(p, inst.src[0], true, atom, inst.src[1]) &&
           case_holds(p, inst.src[0], false, atom, inst.src[2]);
  }
  if (op != Op::min && op != Op::max) return false;
  return case_holds(p, kNone, true, atom, inst.src[0]) &&
         case_holds(p, kNone, true, atom, inst.src[1]);
}

// p with the atom replaced, given the condition (min and max: that the replacement is the smaller
// or larger operand).
bool Prover::case_holds(const Poly& p, Value condition, bool truth, Value atom, Value replacement) {
  Prover inner = *this;
  --inner.cases_;
  inner.seen_.clear();
  if (condition != kNone) {
    inner.assume_truth(condition, truth);
  } else {
    const Inst& inst = index_.kernel().insts[atom];
    const Value other = inst.src[0] == replacement ? inst.src[1] : inst.src[0];
    const Poly difference = index_.poly(other) - index_.poly(replacement);
    inner.assume(index_.kernel().op(atom) == Op::min ? difference : Poly() - difference);
  }
  const Poly value = inner.exact(replacement);
  inner.assume(Poly::atom(atom) - value);
  inner.assume(value - Poly::atom(atom));
  const auto parts = linear_in(p, atom);
  const bool holds = parts && inner.search(parts->slope * value + parts->rest);
  budget_ = inner.budget_;
  return holds;
}

}  // namespace ost::kir
