// The second half of Placer: from placed records to steps.
#include "core/kir/interpret_place.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir::interp {

// Made of the axis of its region, constants and variables alone: the same at each entry of the
// region.
bool Placer::is_fixed(const Node& node) const {
  const Region& home = *node.home;
  if (home.axis == kNone || node.step.kind != Step::Kind::map) return false;
  if (node.guard != kAlways || node.own_guard != kAlways) return false;
  const uint64_t own_axis = uint64_t{1} << plan_.kernel.insts[home.axis].imm;
  for (Value source : plan_.kernel.operands(node.record)) {
    const uint64_t axes = plan_.scope.depends[source];
    if (axes == 0 ? plan_.scope.uniform[source] : source == home.axis) continue;
    if (axes != own_axis) return false;
    const auto region = fixed_.find(&home);
    if (region == fixed_.end() || !region->second.contains(source)) return false;
  }
  return true;
}

Result<> Placer::emit(size_t index) {
  Node& node = nodes_[index];
  OST_TRY_ASSIGN(node.step, make_step(node));
  if (node.own_guard != kAlways) OST_TRY(emit_guarded(node));
  if (is_fixed(node)) {
    fixed_[node.home].emplace(node.record, true);
    node.home->fixed.push_back(node.step);
  } else {
    node.home->steps.push_back(node.step);
  }
  return {};
}

Result<> Placer::emit_guarded(const Node& node) {
  const auto members = guards_[static_cast<size_t>(node.own_guard)].members;
  if (members.empty()) return {};
  std::vector<Step>& steps = node.home->steps;
  const size_t position = steps.size();
  Step skip;
  skip.kind = Step::Kind::skip;
  skip.in[0] = node.step.in[0];
  steps.push_back(skip);
  for (size_t i = members.size(); i-- > 0;) OST_TRY(emit(members[i]));
  steps[position].skipped = static_cast<uint32_t>(steps.size() - position - 1);
  return {};
}

Result<Step> Placer::make_step(const Node& node) {
  const Kernel& kernel = plan_.kernel;
  const Inst& inst = kernel.insts[node.record];
  const Op op = kernel.op(node.record);
  Step step = node.step;
  const auto slot = [&](uint32_t k) { return node.home->slot_of.at(inst.src[k]); };
  const auto inner = [&](uint32_t k) { return step.inner->slot_of.at(inst.src[k]); };
  switch (op) {
    case Op::load:
      step.kind = Step::Kind::load;
      step.in[0] = slot(1);
      step.masked = inst.nsrc > 2;
      if (step.masked) step.in[1] = slot(2);
      return step;
    case Op::reduce:
    case Op::argreduce:
    case Op::contract: {
      step.kind = Step::Kind::reduce;
      step.inner_in[0] = inner(0);
      if (op == Op::contract) step.inner_in[1] = inner(1);
      auto reducer = make_reducer(inst, kernel.dtype(inst.src[0]));
      if (!reducer) break;
      step.reducer = static_cast<uint32_t>(plan_.reducers.size());
      plan_.reducers.push_back(std::move(reducer));
      return step;
    }
    case Op::attn:
      step.kind = Step::Kind::attn;
      step.inner_in[0] = inner(0);
      step.inner_in[1] = inner(1);
      step.values_in = step.values->slot_of.at(inst.src[2]);
      step.reducer = static_cast<uint32_t>(plan_.rows.size());
      plan_.rows.emplace_back().owner = step.inner->parent;
      return step;
    default: {
      for (uint32_t k = 0; k < inst.nsrc; ++k) step.in[k] = slot(k);
      const DType operand = kernel.dtype(inst.src[0]);
      step.fn = block_fn(op, kernel.dtype(node.record), operand);
      if (step.fn) return step;
    }
  }
  return fail(
      OST_INVALID_ARGUMENT,
      "kir record {}: the interpreter has no meaning for {} of {}; was the kernel verified?",
      node.record, info(op).name, name_of(kernel.dtype(node.record)));
}

}  // namespace ost::kir::interp
