// What is known about each integer value of a kernel: an interval, for i64 also an exact
// polynomial, and the axes that it depends on. Shared by the builder (which extends it record by
// record) and the bounds prover.
#pragma once

#include <vector>

#include "core/kir/kernel.hpp"
#include "core/kir/poly.hpp"
#include "core/kir/range.hpp"
#include "core/kir/scope.hpp"

namespace ost::kir {

class IndexAnalysis {
 public:
  // Products of sums are expanded up to max_terms terms; larger ones are atoms.
  IndexAnalysis(const Kernel& kernel, size_t max_terms) : kernel_(kernel), max_terms_(max_terms) {}

  // Analyses the records that were appended since the last call.
  void extend();

  const Kernel& kernel() const { return kernel_; }
  // The exact value of an i64 record, as an integer that never wraps. An atom where it might wrap.
  // Invalid for other types.
  const Poly& poly(Value v) const { return polys_[v]; }
  Range range(Value v) const { return ranges_[v]; }
  std::optional<Range> range(const Poly& p) const;
  uint64_t depends(Value v) const { return scope_.depends[v]; }
  uint64_t depends(const Poly& p) const;
  bool is_uniform(Value v) const { return scope_.uniform[v]; }
  Value axis(uint32_t ordinal) const { return scope_.axes[ordinal]; }

  // The polynomial of an arithmetic operation if it stays small, else invalid. It may exceed 64
  // bits.
  Poly combine(Op op, const Poly& a, const Poly& b) const;
  // States a polynomial that is known otherwise.
  void set_poly(Value v, const Poly& p) { polys_[v] = p; }

  void clear();

 private:
  void analyse(Value v);

  const Kernel& kernel_;
  size_t max_terms_;
  Scope scope_;
  size_t total_terms_ = 0;
  uint64_t maybe_empty_ = 0;  // axes whose extent may be 0
  std::vector<Range> ranges_;
  std::vector<Poly> polys_;
};

}  // namespace ost::kir
