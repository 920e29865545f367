#include <algorithm>

#include "core/kir/interpret_ops.hpp"
#include "core/kir/level2.hpp"

namespace ost::kir {

// The records that the counts of the grid are made of, in order, with their operands renumbered.
LaunchGrid::LaunchGrid(const Kernel& kernel) {
  std::vector<char> needed(kernel.insts.size(), 0);
  for (Value v = static_cast<Value>(kernel.insts.size()); v-- > 0;) {
    if (kernel.op(v) == Op::grid) needed[v] = 1;
    if (!needed[v]) continue;
    for (const Value s : kernel.operands(v)) needed[s] = 1;
  }
  std::vector<Value> moved(kernel.insts.size(), kNone);
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    if (!needed[v]) continue;
    Step step{kernel.insts[v]};
    const Op op = kernel.op(v);
    if (op >= Op::neg && op <= Op::bitcast)
      step.fn = interp::block_fn(op, kernel.dtype(v), kernel.dtype(step.inst.src[0]));
    for (uint32_t i = 0; i < step.inst.nsrc; ++i) step.inst.src[i] = moved[step.inst.src[i]];
    moved[v] = static_cast<Value>(steps_.size());
    vars_ += op == Op::var;
    steps_.push_back(step);
  }
  values_.resize(steps_.size());
}

std::array<uint64_t, 3> LaunchGrid::eval(std::span<const int64_t> vars) {
  std::array<uint64_t, 3> grid{1, 1, 1};
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Inst& inst = steps_[i].inst;
    const auto operand = [&](uint32_t k) {
      return k < inst.nsrc ? &values_[inst.src[k]] : nullptr;
    };
    switch (static_cast<Op>(inst.op)) {
      case Op::constant:
        values_[i] = static_cast<int64_t>(inst.imm);
        break;
      case Op::var:
        values_[i] = inst.imm < vars.size() ? vars[inst.imm] : 0;
        break;
      case Op::grid:
        grid[inst.imm] = static_cast<uint64_t>(std::max<int64_t>(*operand(0), 0));
        break;
      default:
        if (steps_[i].fn) steps_[i].fn(1, &values_[i], operand(0), operand(1), operand(2));
    }
  }
  return grid;
}

}  // namespace ost::kir
