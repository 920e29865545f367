#include "core/schedule/kernel_sizes.hpp"

#include <map>

namespace ost {
namespace {

// KIR integers wrap and its division truncates; Sym does neither. They agree where nothing
// overflows and, for division, where the dividend is not negative and the divisor positive:
// anything else is refused.
class Counts {
 public:
  Counts(const kir::Kernel& kernel, std::span<const Var> vars) : kernel_(kernel), vars_(vars) {}

  Result<Sym> of(kir::Value v) {
    if (const auto it = known_.find(v); it != known_.end()) return it->second;
    OST_TRY_ASSIGN(Sym sym, translate(v));
    if (!sym.is_valid() || sym.lower() == INT64_MIN || sym.upper() == INT64_MAX)
      return fail(OST_INVALID_ARGUMENT, "record {}: the size '{}' may overflow", v,
                  sym.is_valid() ? sym.str() : "?");
    return known_.emplace(v, std::move(sym)).first->second;
  }

 private:
  Result<Sym> translate(kir::Value v) {
    const kir::Inst& inst = kernel_.insts[v];
    const auto refuse = [&] {
      return fail(OST_INVALID_ARGUMENT,
                  "record {}: a size is no expression of constants and variables", v);
    };
    if (kernel_.dtype(v) != DType::i64) return refuse();
    if (kernel_.op(v) == kir::Op::constant) return Sym(static_cast<int64_t>(inst.imm));
    if (kernel_.op(v) == kir::Op::var) return variable(v);
    if (inst.nsrc != 2 || kernel_.op(v) < kir::Op::add || kernel_.op(v) > kir::Op::max)
      return refuse();
    // Operands stand before their users, so the recursion is as deep as an expression is; sizes are
    // shallow.
    if (++depth_ > 256)
      return fail(OST_INVALID_ARGUMENT, "record {}: a size is nested too deeply", v);
    OST_TRY_ASSIGN(const Sym a, of(inst.src[0]));
    OST_TRY_ASSIGN(const Sym b, of(inst.src[1]));
    --depth_;
    switch (kernel_.op(v)) {
      case kir::Op::add:
        return a + b;
      case kir::Op::sub:
        return a - b;
      case kir::Op::mul:
        return a * b;
      case kir::Op::min:
        return min(a, b);
      case kir::Op::max:
        return max(a, b);
      case kir::Op::div:
      case kir::Op::rem:
        if (a.lower() < 0 || b.lower() <= 0) return refuse();
        return kernel_.op(v) == kir::Op::div ? floordiv(a, b) : mod(a, b);
      default:
        return refuse();
    }
  }

  Result<Sym> variable(kir::Value v) const {
    const kir::Inst& inst = kernel_.insts[v];
    if (inst.imm >= vars_.size())
      return fail(OST_INVALID_ARGUMENT, "record {}: variable slot {}, {} are bound", v, inst.imm,
                  vars_.size());
    const Var& var = vars_[inst.imm];
    const auto low = static_cast<int64_t>(kernel_.insts[inst.src[0]].imm);
    const auto high = static_cast<int64_t>(kernel_.insts[inst.src[1]].imm);
    if (var.min < low || var.max > high)
      return fail(OST_INVALID_ARGUMENT, "variable slot {} takes [{}, {}], '{}' has [{}, {}]",
                  inst.imm, low, high, var.name, var.min, var.max);
    return Sym::var(var);
  }

  const kir::Kernel& kernel_;
  std::span<const Var> vars_;
  std::map<kir::Value, Sym> known_;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<KernelParam>> kernel_params(const kir::Kernel& kernel,
                                               std::span<const Var> vars) {
  std::vector<KernelParam> params(kernel.param_count());
  Counts counts(kernel, vars);
  for (kir::Value v = 0; v < kernel.insts.size(); ++v) {
    const kir::Inst& inst = kernel.insts[v];
    // Every variable, used by a size or not: its bounds are what the proofs about the kernel stand
    // on.
    if (kernel.op(v) == kir::Op::var) OST_TRY(counts.of(v));
    if (kernel.op(v) != kir::Op::param) continue;
    if (inst.imm >= params.size())
      return fail(OST_INVALID_ARGUMENT, "record {}: parameter slot {}, the kernel has {}", v,
                  inst.imm, params.size());
    OST_TRY_ASSIGN(Sym count, counts.of(inst.src[0]));
    params[inst.imm] = {kernel.dtype(v), std::move(count), inst.aux, v};
  }
  return params;
}

Result<std::vector<KernelAxis>> kernel_axes(const kir::Kernel& kernel, std::span<const Var> vars) {
  std::vector<KernelAxis> axes;
  Counts counts(kernel, vars);
  for (kir::Value v = 0; v < kernel.insts.size(); ++v) {
    if (kernel.op(v) != kir::Op::axis) continue;
    OST_TRY_ASSIGN(Sym extent, counts.of(kernel.insts[v].src[0]));
    axes.push_back({static_cast<kir::Role>(kernel.insts[v].aux), std::move(extent)});
  }
  return axes;
}

}  // namespace ost
