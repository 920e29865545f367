#include "core/kir/scope.hpp"

namespace ost::kir {
namespace {

// The operand that is the reduced axis, or -1.
int reduced_axis_operand(Op op) {
  switch (op) {
    case Op::reduce:
    case Op::argreduce:
      return 1;
    case Op::contract:
      return 2;
    case Op::attn:
      return 3;
    default:
      return -1;
  }
}

}  // namespace

void Scope::extend(const Kernel& kernel) {
  for (auto v = static_cast<Value>(depends.size()); v < kernel.insts.size(); ++v) {
    const Op op = kernel.op(v);
    const int reduced = reduced_axis_operand(op);
    uint64_t set = 0;
    uint64_t removed = 0;
    bool is_uniform = op != Op::axis && op != Op::load && op != Op::store && op != Op::param &&
                      reduced < 0 && !is_float(kernel.dtype(v));
    for (uint32_t k = 0; k < kernel.insts[v].nsrc; ++k) {
      const Value source = kernel.insts[v].src[k];
      set |= depends[source];
      is_uniform = is_uniform && uniform[source];
      if (static_cast<int>(k) == reduced) removed = depends[source];
    }
    if (op == Op::axis) {
      set = axes.size() < kMaxAxes ? uint64_t{1} << axes.size() : 0;
      axes.push_back(v);
    }
    depends.push_back(set & ~removed);
    uniform.push_back(is_uniform);
  }
}

}  // namespace ost::kir
