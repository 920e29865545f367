// Random kernels of well-typed records, for the forms (text, binary) and for mutations. Scoping and
// slots may be wrong.
#pragma once

#include <random>

#include "core/kir/ops.hpp"
#include "core/kir/pool.hpp"
#include "core/kir/typing.hpp"

namespace ost::kir::testing {

class KernelMaker {
 public:
  explicit KernelMaker(uint32_t seed, uint8_t level = 1) : rng_(seed), level_(level) {}

  Kernel make(size_t records) {
    Kernel k;
    k.numerics = pick(4) == 0 ? Numerics::fast : Numerics::strict;
    k.insts.push_back(make_inst(Op::constant, DType::i64, {}, 0, 5));
    k.insts.push_back(make_inst(Op::constant, DType::f32, {}, 0, 0x3f800000));
    k.insts.push_back(make_inst(Op::constant, DType::boolean, {}, 0, 1));
    k.insts.push_back(make_inst(Op::axis, DType::i64, {0}, OST_KIR_AXIS_REDUCE, axes_++));
    if (level_ == 2) {  // needs operands that are found too rarely
      k.insts.push_back(make_inst(Op::loop, DType::i64, {0, 0, 0}));
      k.insts.push_back(make_inst(Op::if_true, DType::boolean, {2}));
    }
    while (k.insts.size() < records) {
      for (int tries = 0; tries < 200; ++tries) {
        const Inst inst = propose(k);
        if (!check_encoding(inst, static_cast<uint32_t>(k.insts.size())) || !check_types(k, inst))
          continue;
        slots_[0] += static_cast<Op>(inst.op) == Op::param;
        slots_[1] += static_cast<Op>(inst.op) == Op::var;
        axes_ += static_cast<Op>(inst.op) == Op::axis;
        k.insts.push_back(inst);
        break;
      }
    }
    k.level = level_;
    k.lanes = level_ == 2 ? static_cast<uint32_t>(1 + pick(256)) : 0;
    return k;
  }

 private:
  uint64_t pick(uint64_t below) { return rng_() % below; }

  Inst propose(const Kernel& k) {
    const OpInfo* chosen = nullptr;
    do {
      chosen = &all_ops()[pick(all_ops().size())];
    } while (!(chosen->levels & level_));
    const OpInfo& op = *chosen;
    Inst inst = make_inst(op.op, kAllDTypes[pick(std::size(kAllDTypes))], {});
    inst.nsrc = static_cast<uint8_t>(op.min_src + pick(op.max_src - op.min_src + 1u));
    for (uint32_t s = 0; s < inst.nsrc; ++s) inst.src[s] = static_cast<Value>(pick(k.insts.size()));
    if (op.op == Op::attn) inst.src[0] = inst.src[2] = 1, inst.src[3] = 3;
    // Half of the time an operand gives the type, so that well-typed records are found soon.
    if (inst.nsrc > 0 && pick(2)) inst.dtype = k.insts[inst.src[pick(inst.nsrc)]].dtype;
    switch (op.attr) {
      case Attr::none:
        break;
      case Attr::bits:
        inst.imm = constant_bits(static_cast<DType>(inst.dtype));
        break;
      case Attr::access:
        inst.aux = static_cast<uint32_t>(1 + pick(3));
        inst.imm = slots_[0];
        break;
      case Attr::slot:
        inst.imm = slots_[1];
        break;
      case Attr::role:
        inst.aux = static_cast<uint32_t>(pick(3));
        inst.imm = pick(8) ? axes_ : pick(100);
        break;
      case Attr::rare:
        inst.aux = static_cast<uint32_t>(pick(2));
        break;
      case Attr::rounding:
        inst.aux = static_cast<uint32_t>(pick(3));
        break;
      case Attr::extreme:
        inst.aux = static_cast<uint32_t>(3 + pick(2));
        break;
      case Attr::dimension:
        inst.imm = pick(3);
        break;
      case Attr::count:
        inst.imm = 1 + pick(64);
        break;
      case Attr::unroll:
        inst.aux = static_cast<uint32_t>(pick(2));
        break;
      case Attr::reduction:
        inst.aux = op.op == Op::attn ? 0x300 : static_cast<uint32_t>((1 + pick(7)) | pick(3) << 8);
        break;
    }
    return inst;
  }

  uint64_t constant_bits(DType type) {
    const uint32_t width = type == DType::boolean ? 1 : bits_of(type);
    const uint64_t bits = pick(3) ? rng_() : pick(16);
    return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
  }

  std::mt19937_64 rng_;
  uint64_t slots_[2] = {0, 0};
  uint64_t axes_ = 0;
  uint8_t level_;
};

}  // namespace ost::kir::testing
