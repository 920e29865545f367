#include "core/schedule/slice.hpp"

#include "core/base/dtype.hpp"

namespace ost {

namespace {

using kir::Inst;
using kir::Kernel;
using kir::Op;
using kir::Value;

class Slicer {
 public:
  Slicer(const Kernel& kernel, SliceAxis axis, uint32_t slot) : old_(kernel), axis_(axis) {
    new_.numerics = kernel.numerics;
    for (Value v = 0; v < old_.insts.size(); ++v)
      if (old_.op(v) == Op::param && old_.insts[v].imm == slot) param_ = v;
  }

  std::optional<Kernel> run(int64_t first, int64_t count, int64_t first_element, int64_t elements) {
    if (param_ == kir::kNone) return std::nullopt;
    for (Value v = 0; v < old_.insts.size(); ++v) {
      Inst inst = old_.insts[v];
      for (uint32_t s = 0; s < inst.nsrc; ++s)
        if (inst.src[s] != kir::kNone) inst.src[s] = map_[inst.src[s]];
      if (v == axis_.axis) {
        inst.src[0] = constant(count);
        const Value part = add(inst);
        map_.push_back(binary(OST_KIR_OP_ADD, part, constant(first)));
        continue;
      }
      if (v == param_) inst.src[0] = constant(elements);
      const bool access = old_.op(v) == Op::load || old_.op(v) == Op::store;
      if (access && old_.insts[v].src[0] == param_)
        inst.src[1] = binary(OST_KIR_OP_SUB, inst.src[1], constant(first_element));
      map_.push_back(add(inst));
    }
    if (!kir::verify(new_) || !kir::prove_bounds(new_)) return std::nullopt;
    return std::move(new_);
  }

 private:
  Value add(const Inst& inst) {
    new_.insts.push_back(inst);
    return static_cast<Value>(new_.insts.size() - 1);
  }
  static Inst blank(uint16_t op) {
    Inst inst{};
    inst.op = op;
    inst.dtype = static_cast<uint8_t>(DType::i64);
    for (uint32_t& s : inst.src) s = kir::kNone;
    return inst;
  }
  Value constant(int64_t value) {
    Inst inst = blank(OST_KIR_OP_CONST);
    inst.imm = static_cast<uint64_t>(value);
    return add(inst);
  }
  Value binary(uint16_t op, Value a, Value b) {
    Inst inst = blank(op);
    inst.nsrc = 2;
    inst.src[0] = a;
    inst.src[1] = b;
    return add(inst);
  }

  const Kernel& old_;
  const SliceAxis axis_;
  Kernel new_;
  Value param_ = kir::kNone;
  std::vector<Value> map_;
};

}  // namespace

std::vector<SliceAxis> slice_axes(const Kernel& k) {
  std::vector<SliceAxis> out;
  for (Value v = 0; v < k.insts.size(); ++v) {
    if (k.op(v) != Op::axis || k.insts[v].aux != OST_KIR_AXIS_PARALLEL) continue;
    const Inst& extent = k.insts[k.insts[v].src[0]];
    if (extent.op == OST_KIR_OP_CONST) out.push_back({v, static_cast<int64_t>(extent.imm)});
  }
  return out;
}

std::optional<Kernel> slice_of(const Kernel& kernel, SliceAxis axis, int64_t parts, int64_t part,
                               uint32_t slot, int64_t elements) {
  if (axis.extent % parts != 0 || elements % parts != 0) return std::nullopt;
  return Slicer(kernel, axis, slot)
      .run(part * (axis.extent / parts), axis.extent / parts, part * (elements / parts),
           elements / parts);
}

}  // namespace ost
