// Intervals of integer values over all axes and variables.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/kir/kernel.hpp"
#include "core/kir/poly.hpp"

namespace ost::kir {

using Range = Builder::Range;
using RangeLookup = std::function<Range(Value)>;

// All values of a type; u64 has the range of i64 here, which stands for "unknown" (no rule relies
// on a u64's range).
Range full_range(DType type);
inline bool is_within(const Range& inner, const Range& outer) {
  return inner.lo >= outer.lo && inner.hi <= outer.hi;
}

// Nothing where an end overflows.
std::optional<Range> add(const Range& a, const Range& b);
std::optional<Range> multiply(const Range& a, const Range& b);
std::optional<Range> range_of(const Poly& p, const RangeLookup& atoms);

// The range of a record from those of its operands, by interval arithmetic.
Range transfer(const Kernel& kernel, Value v, const RangeLookup& operands);

// By record: the range of its value over all variables, axes and memory.
std::vector<Range> ranges_of(const Kernel& kernel);

}  // namespace ost::kir
