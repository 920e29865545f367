#include "core/kir/prune.hpp"

namespace ost::kir {

Kernel prune(const Kernel& kernel) {
  const auto count = static_cast<Value>(kernel.insts.size());
  std::vector<char> live(count, 0);
  for (Value v = count; v-- > 0;) {
    const Op op = kernel.op(v);
    if (op == Op::store || op == Op::param || op == Op::var) live[v] = 1;
    if (!live[v]) continue;
    for (Value source : kernel.operands(v)) live[source] = 1;
  }
  Kernel out;
  out.numerics = kernel.numerics;
  std::vector<Value> moved(count, kNone);
  uint64_t axes = 0;
  for (Value v = 0; v < count; ++v) {
    if (!live[v]) continue;
    Inst inst = kernel.insts[v];
    for (uint32_t k = 0; k < inst.nsrc; ++k) inst.src[k] = moved[inst.src[k]];
    if (kernel.op(v) == Op::axis) inst.imm = axes++;
    moved[v] = static_cast<Value>(out.insts.size());
    out.insts.push_back(inst);
  }
  return out;
}

}  // namespace ost::kir
