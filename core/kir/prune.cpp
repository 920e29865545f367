#include "core/kir/prune.hpp"

#include <algorithm>
#include <utility>

namespace ost::kir {
namespace {

class Mover {
 public:
  explicit Mover(const Kernel& kernel) : from_(kernel), moved_(kernel.insts.size(), kNone) {
    to_.numerics = kernel.numerics;
  }

  // Appends what v needs and then v, unless it is there already. A list instead of recursion:
  // expressions may be deep.
  void move(Value v) {
    pending_.push_back(v);
    while (!pending_.empty()) {
      const Value top = pending_.back();
      const auto operands = from_.operands(top);
      const auto missing = std::find_if(operands.begin(), operands.end(),
                                        [&](Value s) { return moved_[s] == kNone; });
      if (moved_[top] == kNone && missing != operands.end()) {
        pending_.push_back(*missing);
        continue;
      }
      pending_.pop_back();
      if (moved_[top] == kNone) append(top);
    }
  }

  Kernel finish() { return std::move(to_); }

 private:
  void append(Value v) {
    Inst inst = from_.insts[v];
    for (uint32_t k = 0; k < inst.nsrc; ++k) inst.src[k] = moved_[inst.src[k]];
    if (from_.op(v) == Op::axis) inst.imm = axes_++;
    moved_[v] = static_cast<Value>(to_.insts.size());
    to_.insts.push_back(inst);
  }

  const Kernel& from_;
  Kernel to_;
  std::vector<Value> moved_;
  std::vector<Value> pending_;
  uint64_t axes_ = 0;
};

std::vector<Value> of_kind(const Kernel& kernel, Op op) {
  std::vector<Value> found;
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    if (kernel.op(v) == op) found.push_back(v);
  }
  if (op == Op::axis || op == Op::store) return found;
  const auto place = [&](Value v) { return std::pair(kernel.insts[v].imm, v); };
  std::sort(found.begin(), found.end(), [&](Value a, Value b) { return place(a) < place(b); });
  return found;
}

// Axes that a store needs, directly or not.
std::vector<char> live_records(const Kernel& kernel) {
  std::vector<char> live(kernel.insts.size(), 0);
  for (auto v = static_cast<Value>(kernel.insts.size()); v-- > 0;) {
    if (kernel.op(v) == Op::store) live[v] = 1;
    if (!live[v]) continue;
    for (Value source : kernel.operands(v)) live[source] = 1;
  }
  return live;
}

}  // namespace

Kernel prune(const Kernel& kernel) {
  const std::vector<char> live = live_records(kernel);
  Mover mover(kernel);
  for (Value v : of_kind(kernel, Op::var)) mover.move(v);
  for (Value v : of_kind(kernel, Op::param)) mover.move(v);
  for (Value v : of_kind(kernel, Op::axis)) {
    if (live[v]) mover.move(v);
  }
  for (Value v : of_kind(kernel, Op::store)) mover.move(v);
  return mover.finish();
}

}  // namespace ost::kir
