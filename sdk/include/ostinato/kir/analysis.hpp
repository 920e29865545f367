// What a lowering asks of a kernel: which axes a value depends on, how an index moves along an
// axis, the range of an integer, who uses a value. All of it is computed once, in one pass over the
// records.
#ifndef OSTINATO_KIR_ANALYSIS_HPP_
#define OSTINATO_KIR_ANALYSIS_HPP_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "view.hpp"

namespace ostinato::kir {

// A set of axes; bit i is the i-th axis record of the kernel. A kernel with more than 64 axes is
// not analysed (analysed() is false).
using AxisSet = uint64_t;

struct Range {
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();
  bool within(int64_t a, int64_t b) const { return lo >= a && hi <= b; }
};

// How an integer moves when one axis advances by one: by a constant, by an amount that does not
// depend on that axis but is not known here, or in no regular way.
struct Stride {
  enum Kind : uint8_t { constant, uniform, irregular } kind = irregular;
  int64_t value = 0;  // kind constant
  bool is(int64_t v) const { return kind == constant && value == v; }
};

class Analysis {
 public:
  explicit Analysis(const Kernel& kernel)
      : k_(kernel), deps_(kernel.size()), ranges_(kernel.size()) {
    for (Id i = 0; i < k_.size(); ++i) {
      if (k_.op(i) == OST_KIR_OP_AXIS) axes_.push_back(i);
      if (k_.op(i) == OST_KIR_OP_STORE) stores_.push_back(i);
    }
    if (axes_.size() > 64) return;
    for (Id i = 0; i < k_.size(); ++i) {
      deps_[i] = dependences(i);
      if (k_.dtype(i) == OST_DTYPE_I64) ranges_[i] = range_of(i);
    }
  }

  bool analysed() const { return axes_.size() <= 64; }
  const Kernel& kernel() const { return k_; }
  const std::vector<Id>& axes() const { return axes_; }      // axis records in order
  const std::vector<Id>& stores() const { return stores_; }  // store records in order
  AxisSet deps(Id value) const { return deps_[value]; }
  Range range(Id value) const { return ranges_[value]; }
  AxisSet bit(Id axis) const {
    const auto it = std::lower_bound(axes_.begin(), axes_.end(), axis);
    return AxisSet{1} << (it - axes_.begin());
  }
  AxisSet axes_of_role(uint32_t role) const {
    AxisSet set = 0;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (k_[axes_[i]].aux == role) set |= AxisSet{1} << i;
    return set;
  }
  bool depends(Id value, Id axis) const { return (deps_[value] & bit(axis)) != 0; }

  // The extent of an axis if it is a constant.
  std::optional<int64_t> const_extent(Id axis) const {
    const Range r = ranges_[k_.src(axis, 0)];
    return r.lo == r.hi ? std::optional(r.lo) : std::nullopt;
  }
  int64_t max_extent(Id axis) const { return std::max<int64_t>(ranges_[k_.src(axis, 0)].hi, 0); }

  Stride stride(Id value, Id axis) const {
    std::vector<Stride>& all = strides_[axis];
    // For all records at once, in order: no recursion, however deep an expression is.
    while (all.size() <= value) all.push_back(stride_of(static_cast<Id>(all.size()), axis, all));
    return all[value];
  }

 private:
  AxisSet dependences(Id i) const {
    if (k_.op(i) == OST_KIR_OP_AXIS) return bit(i);
    if (k_.op(i) == OST_KIR_OP_PARAM) return 0;
    AxisSet set = 0;
    for (const Id s : k_.operands(i)) set |= deps_[s];
    if (is_reduction(k_.op(i))) set &= ~bit(k_.reduced_axis(i));
    return set;
  }

  __extension__ using Wide = __int128;
  static Range clipped(Wide lo, Wide hi) {
    constexpr Range all;
    if (lo < all.lo || hi > all.hi) return all;
    return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
  }
  static Range corners(Range a, Range b, Wide (*f)(Wide, Wide)) {
    const Wide v[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
    return clipped(*std::min_element(v, v + 4), *std::max_element(v, v + 4));
  }

  Stride stride_of(Id value, Id axis, const std::vector<Stride>& known) const {
    const uint16_t op = k_.op(value);
    if (!depends(value, axis)) return {Stride::constant, 0};
    if (value == axis) return {Stride::constant, 1};
    if (k_.dtype(value) != OST_DTYPE_I64) return {};
    if (op == OST_KIR_OP_ADD || op == OST_KIR_OP_SUB) {
      const Stride a = known[k_.src(value, 0)], b = known[k_.src(value, 1)];
      if (a.kind == Stride::irregular || b.kind == Stride::irregular) return {};
      int64_t v = 0;
      const bool constant = a.kind == Stride::constant && b.kind == Stride::constant &&
                            !(op == OST_KIR_OP_ADD ? __builtin_add_overflow(a.value, b.value, &v)
                                                   : __builtin_sub_overflow(a.value, b.value, &v));
      return constant ? Stride{Stride::constant, v} : Stride{Stride::uniform, 0};
    }
    if (op == OST_KIR_OP_MUL) {
      for (unsigned i = 0; i < 2; ++i) {
        const Id x = k_.src(value, i), y = k_.src(value, 1 - i);
        if (depends(y, axis)) continue;
        const Stride s = known[x];
        if (s.kind == Stride::irregular) return {};
        const Range r = ranges_[y];
        int64_t product;
        if (s.kind == Stride::constant && r.lo == r.hi &&
            !__builtin_mul_overflow(s.value, r.lo, &product))
          return {Stride::constant, product};
        return {Stride::uniform, 0};
      }
    }
    return {};
  }

  Range range_of(Id i) const {
    const auto r = [&](unsigned k) { return ranges_[k_.src(i, k)]; };
    switch (k_.op(i)) {
      case OST_KIR_OP_CONST:
        return {k_.const_int(i), k_.const_int(i)};
      case OST_KIR_OP_VAR:
        return {k_.const_int(k_.src(i, 0)), k_.const_int(k_.src(i, 1))};
      case OST_KIR_OP_AXIS:
        return {0, std::max<int64_t>(r(0).hi, 1) - 1};
      case OST_KIR_OP_ADD:
        return clipped(Wide{r(0).lo} + r(1).lo, Wide{r(0).hi} + r(1).hi);
      case OST_KIR_OP_SUB:
        return clipped(Wide{r(0).lo} - r(1).hi, Wide{r(0).hi} - r(1).lo);
      case OST_KIR_OP_MUL:
        return corners(r(0), r(1), [](Wide a, Wide b) { return a * b; });
      case OST_KIR_OP_DIV:
        if (r(1).lo > 0) return corners(r(0), r(1), [](Wide a, Wide b) { return a / b; });
        return {};
      case OST_KIR_OP_REM:
        if (r(1).lo > 0)
          return {r(0).lo >= 0 ? 0 : 1 - r(1).hi, r(0).hi < 0 ? 0 : std::min(r(0).hi, r(1).hi - 1)};
        return {};
      case OST_KIR_OP_MIN:
        return {std::min(r(0).lo, r(1).lo), std::min(r(0).hi, r(1).hi)};
      case OST_KIR_OP_MAX:
        return {std::max(r(0).lo, r(1).lo), std::max(r(0).hi, r(1).hi)};
      case OST_KIR_OP_WHERE:
        return {std::min(r(1).lo, r(2).lo), std::max(r(1).hi, r(2).hi)};
      case OST_KIR_OP_ARGREDUCE:
        return {0, std::max<int64_t>(ranges_[k_.reduced_axis(i)].hi, 0)};
      case OST_KIR_OP_CAST:
        return cast_range(k_.src(i, 0));
      default:
        return {};
    }
  }
  Range cast_range(Id from) const {
    const uint32_t t = k_.dtype(from);
    if (t == OST_DTYPE_BOOL) return {0, 1};
    if (t == OST_DTYPE_I64) return ranges_[from];
    if (!is_int(t) || t == OST_DTYPE_U64) return {};
    const int64_t end = int64_t{1} << (bits_of(t) - (is_signed(t) ? 1 : 0));
    return {is_signed(t) ? -end : 0, end - 1};
  }

  const Kernel& k_;
  std::vector<Id> axes_, stores_;
  std::vector<AxisSet> deps_;
  std::vector<Range> ranges_;
  mutable std::unordered_map<Id, std::vector<Stride>> strides_;  // by axis: of the records so far
};

}  // namespace ostinato::kir

#endif  // OSTINATO_KIR_ANALYSIS_HPP_
