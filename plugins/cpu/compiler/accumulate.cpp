#include "plugins/cpu/compiler/accumulate.hpp"

#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

Accumulators::Accumulators(Eval& eval, Id axis, std::vector<Id> group)
    : ev_(eval), e_(eval.e), k_(eval.k), axis_(axis), group_(std::move(group)) {}

std::vector<Id> Accumulators::operands() const {
  std::vector<Id> ids;
  for (const Id r : group_) {
    ids.push_back(k_.src(r, 0));
    if (k_.op(r) == OST_KIR_OP_CONTRACT) ids.push_back(k_.src(r, 1));
  }
  return ids;
}

Values Accumulators::initial(unsigned width) const {
  Values v;
  for (const Id r : group_) {
    v.push_back(emit_identity(e_, combine(r), type(r), width));
    if (is_arg(r)) v.push_back(Emit::zero(Emit::widen(e_.b.getInt64Ty(), width)));
  }
  return v;
}

Values Accumulators::step(const Values& acc, unsigned width, Value* mask) {
  ev_.ensure(operands(), ev_.f.owner[group_[0]]);
  ev_.write_kept(axis_);
  // A lane that is switched off leaves its accumulator as it is (adding a zero could turn -0 into
  // +0).
  const auto keep = [&](Value* next, Value* before) {
    return mask ? e_.b.CreateSelect(mask, next, before) : next;
  };
  Values next;
  size_t at = 0;
  for (const Id r : group_) {
    Value* x = operand(k_.src(r, 0), width);
    if (is_arg(r)) {
      Value* beats = beyond(r, x, acc[at]);
      next.push_back(keep(e_.b.CreateSelect(beats, x, acc[at]), acc[at]));
      next.push_back(
          keep(e_.b.CreateSelect(beats, operand(axis_, width), acc[at + 1]), acc[at + 1]));
    } else if (k_.op(r) == OST_KIR_OP_CONTRACT) {
      Value* y = operand(k_.src(r, 1), width);
      Value* sum = kir::is_float(type(r)) ? emit_fma(e_, x, y, acc[at])
                                          : e_.b.CreateAdd(acc[at], e_.b.CreateMul(x, y));
      next.push_back(keep(sum, acc[at]));
    } else {
      next.push_back(keep(emit_combine(e_, combine(r), type(r), acc[at], x), acc[at]));
    }
    at += count(r);
  }
  return next;
}

Value* Accumulators::merge(Id r, Value* x, Value* y) {
  return emit_combine(e_, combine(r), type(r), x, y);
}

Value* Accumulators::beyond(Id r, Value* x, Value* best) {
  const bool max = combine(r) == OST_KIR_COMBINE_MAX;
  Value* better = max ? emit_op(e_, OST_KIR_OP_LT, type(r), {best, x})
                      : emit_op(e_, OST_KIR_OP_LT, type(r), {x, best});
  if (!kir::is_float(type(r))) return better;
  Value* first_nan = e_.b.CreateAnd(e_.b.CreateFCmpUNO(x, x), e_.b.CreateFCmpORD(best, best));
  return e_.b.CreateOr(better, first_nan);
}

}  // namespace ost_cpu
