#include "core/kir/index.hpp"

#include <algorithm>

namespace ost::kir {
namespace {

constexpr size_t kMaxTotalTerms = size_t{1} << 22;  // a stranger's kernel gets about 200 MB

}  // namespace

std::optional<Range> IndexAnalysis::range(const Poly& p) const {
  return range_of(p, [this](Value v) { return ranges_[v]; });
}

uint64_t IndexAnalysis::depends(const Poly& p) const {
  uint64_t set = 0;
  for (const PolyTerm& term : p.terms()) {
    for (Value atom : term.monomial.factors()) set |= scope_.depends[atom];
  }
  return set;
}

Poly IndexAnalysis::combine(Op op, const Poly& a, const Poly& b) const {
  const size_t product = a.terms().size() * b.terms().size();
  if (op == Op::mul && product > std::max<size_t>(a.terms().size(), b.terms().size()) &&
      product > max_terms_ / 4)
    return Poly::invalid();
  Poly out = op == Op::add ? a + b : op == Op::sub ? a - b : op == Op::mul ? a * b : Poly() - a;
  return out.terms().size() <= max_terms_ ? out : Poly::invalid();
}

void IndexAnalysis::extend() {
  scope_.extend(kernel_);
  for (auto v = static_cast<Value>(polys_.size()); v < kernel_.insts.size(); ++v) analyse(v);
}

void IndexAnalysis::analyse(Value v) {
  const Inst& inst = kernel_.insts[v];
  const Op op = kernel_.op(v);
  Range range = transfer(kernel_, v, [this](Value u) { return ranges_[u]; });
  Poly poly = Poly::invalid();
  if (kernel_.dtype(v) == DType::i64 && op != Op::param && op != Op::store) {
    poly = Poly::atom(v);
    if (op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg) {
      Poly exact = combine(op, polys_[inst.src[0]], inst.nsrc > 1 ? polys_[inst.src[1]] : Poly());
      const auto bounds = total_terms_ < kMaxTotalTerms ? this->range(exact) : std::nullopt;
      if (bounds) {  // it fits into 64 bits, so the record does not wrap
        range = {std::max(range.lo, bounds->lo), std::min(range.hi, bounds->hi)};
        poly = std::move(exact);
      }
    }
    // A value that can only be one number is that number; not if the axes it names may have no
    // points at all, because then a store that uses it would come to happen.
    if (range.lo == range.hi && (scope_.depends[v] & maybe_empty_) == 0)
      poly = Poly::constant(range.lo);
  }
  total_terms_ += poly.terms().size();
  ranges_.push_back(range);
  polys_.push_back(std::move(poly));
  if (op == Op::axis && ranges_[inst.src[0]].lo < 1) {
    maybe_empty_ |= scope_.depends[v];
    if (range.lo == range.hi) polys_[v] = Poly::atom(v);
  }
}

void IndexAnalysis::clear() {
  scope_ = {};
  maybe_empty_ = 0;
  total_terms_ = 0;
  ranges_.clear();
  polys_.clear();
}

}  // namespace ost::kir
