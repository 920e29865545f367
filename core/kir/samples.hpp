// The values of all integer records at a few points, to see cheaply that something is *not* always
// so. A claim that one of the points refutes need not be searched a proof for.
#pragma once

#include <array>
#include <vector>

#include "core/kir/kernel.hpp"
#include "core/kir/poly.hpp"

namespace ost::kir {

class Samples {
 public:
  // Evaluates the records that were appended since the last call.
  void extend(const Kernel& kernel);
  // True if p is negative at one of the points, where all axes that p depends on have points.
  bool refutes_nonnegative(const Poly& p) const;
  void clear() { points_.clear(); }

 private:
  static constexpr uint32_t kPoints = 8;
  struct Row {
    std::array<uint64_t, kPoints> bits{};  // as in a const record
    uint32_t known = 0;                    // which of them mean something
  };

  Row evaluate(const Kernel& kernel, Value v) const;
  uint64_t choose(Op op, const Inst& inst, uint32_t point, uint32_t& known) const;

  std::vector<Row> points_;
};

}  // namespace ost::kir
