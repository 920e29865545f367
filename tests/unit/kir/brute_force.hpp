// Looks for an access out of bounds by trying: small values of the variables, every point of the
// axes, and a few values for what memory may hold.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/kir/scalar_eval.hpp"

namespace ost::kir::testing {

class OutsideFinder {
 public:
  explicit OutsideFinder(const Kernel& kernel) : kernel_(kernel) {}

  // The access and the point, or nothing.
  std::optional<std::string> find() {
    for (Value v = 0; v < kernel_.insts.size() && !found_; ++v) {
      if (kernel_.op(v) != Op::load && kernel_.op(v) != Op::store) continue;
      access_ = v;
      collect();
      Point point;
      visit(0, point);
    }
    return found_;
  }

 private:
  const Inst& inst(Value v) const { return kernel_.insts[v]; }
  Value mask() const {
    return kernel_.op(access_) == Op::load ? inst(access_).src[2] : inst(access_).src[3];
  }
  Value count() const { return inst(inst(access_).src[0]).src[0]; }

  static bool is_free(Op op) {
    return op == Op::var || op == Op::axis || op == Op::load || op == Op::argreduce;
  }

  // The free records that the access is a function of, in order: an axis comes after the variables
  // of its extent.
  void collect() {
    std::vector<char> needed(kernel_.insts.size(), 0);
    needed[inst(access_).src[1]] = needed[count()] = 1;
    if (mask() != kNone) needed[mask()] = 1;
    for (Value v = access_; v-- > 0;) {
      if (!needed[v] || kernel_.op(v) == Op::load) continue;  // what a load reads is free
      if (kernel_.op(v) == Op::argreduce) {
        needed[inst(inst(v).src[1]).src[0]] = 1;
        continue;
      }
      for (Value source : kernel_.operands(v)) needed[source] = 1;
    }
    free_.clear();
    for (Value v = 0; v < access_; ++v) {
      if (needed[v] && is_free(kernel_.op(v))) free_.push_back(v);
    }
  }

  std::vector<int64_t> candidates(Value v, const Point& point) const {
    std::vector<int64_t> values;
    const auto below = [&](int64_t extent) {
      for (int64_t i = 0; i < extent; ++i) values.push_back(i);
    };
    switch (kernel_.op(v)) {
      case Op::var:
        for (auto i = static_cast<int64_t>(inst(inst(v).src[0]).imm);
             i <= static_cast<int64_t>(inst(inst(v).src[1]).imm) && values.size() < 5; ++i)
          values.push_back(i);
        break;
      case Op::axis:
        below(eval(kernel_, inst(v).src[0], point));
        break;
      case Op::argreduce:
        below(std::max<int64_t>(1, eval(kernel_, inst(inst(v).src[1]).src[0], point)));
        break;
      default:
        values = {-5, -1, 0, 1, 3, 1000};
        break;
    }
    return values;
  }

  void visit(size_t i, Point& point) {
    if (found_) return;
    if (i == free_.size()) return check(point);
    for (int64_t value : candidates(free_[i], point)) {
      point[free_[i]] = value;
      visit(i + 1, point);
    }
    point.erase(free_[i]);
  }

  void check(const Point& point) {
    if (mask() != kNone && eval(kernel_, mask(), point) == 0) return;
    const int64_t index = eval(kernel_, inst(access_).src[1], point);
    const int64_t limit = eval(kernel_, count(), point);
    if (index >= 0 && index < limit) return;
    found_ = fmt::format("%{} reads {} of {} at", access_, index, limit);
    for (const auto& [record, value] : point) *found_ += fmt::format(" %{}={}", record, value);
  }

  const Kernel& kernel_;
  Value access_ = kNone;
  std::vector<Value> free_;
  std::optional<std::string> found_;
};

inline std::optional<std::string> outside_somewhere(const Kernel& kernel) {
  return OutsideFinder(kernel).find();
}

}  // namespace ost::kir::testing
