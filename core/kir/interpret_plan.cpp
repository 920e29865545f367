// Making the plan: statements and their loops. Where each record goes is decided in
// interpret_place.cpp.
#include "core/kir/interpret_plan.hpp"

#include <algorithm>

#include "core/kir/interpret_place.hpp"

namespace ost::kir::interp {
namespace {

class Planner {
 public:
  explicit Planner(Plan& plan) : plan_(plan), kernel_(plan.kernel), scope_(plan.scope) {}

  Result<> run() {
    OST_TRY(preamble());
    for (Value axis : scope_.axes)
      if (kernel_.insts[axis].aux == OST_KIR_AXIS_CARRY) carry_axes_ |= bit_of(axis);
    for (Value v = 0; v < kernel_.insts.size(); ++v)
      if (kernel_.op(v) == Op::store) add_store(v);
    for (Pending& p : pending_) {
      Region* outer = nullptr;
      std::vector<Item>& items = *enclosing(p.axes & carry_axes_, outer);
      OST_TRY(statement(p, items, outer));
    }
    for (Region& r : plan_.regions) allocate(plan_, r);
    return {};
  }

 private:
  struct Pending {
    uint64_t axes;
    std::vector<Value> stores;
  };

  uint64_t bit_of(Value axis) const { return uint64_t{1} << kernel_.insts[axis].imm; }

  // Stores over the same axes are one statement. Without carry axes their order among other
  // statements is free (the verifier sees to it that none reads what another writes), so they are
  // gathered; inside of a carry loop only neighbours are.
  void add_store(Value v) {
    const uint64_t axes = scope_.depends[v];
    for (size_t i = pending_.size(); i-- > 0;) {
      if (pending_[i].axes == axes) return pending_[i].stores.push_back(v);
      if ((axes & carry_axes_) != 0) break;
    }
    pending_.push_back({axes, {v}});
  }

  Result<> preamble() {
    plan_.preamble = new_root(plan_, nullptr);
    Placer placer(plan_);
    for (Value v = 0; v < kernel_.insts.size(); ++v)
      if (kernel_.op(v) == Op::axis || kernel_.op(v) == Op::param)
        placer.need(kernel_.insts[v].src[0], *plan_.preamble);
    return placer.place();
  }

  // The list that a statement under these carry axes goes to. Loops that the last statement was in
  // are continued.
  std::vector<Item>* enclosing(uint64_t carry, Region*& outer) {
    std::vector<Item>* items = &plan_.items;
    for (Value axis : scope_.axes) {  // outermost first
      if (!(carry & bit_of(axis))) continue;
      if (items->empty() || !items->back().carry || items->back().carry->axis != axis) {
        Region& r = plan_.regions.emplace_back();
        r.parent = outer, r.axis = axis, r.capacity = 1;
        items->emplace_back().carry = &r;
      }
      outer = items->back().carry;
      items = &items->back().body;
    }
    return items;
  }

  Result<> statement(const Pending& p, std::vector<Item>& items, Region* outer) {
    Statement& s = items.emplace_back().statement;
    s.root = s.innermost = new_root(plan_, outer);
    for (Value axis : scope_.axes) {
      if (!(p.axes & bit_of(axis) & ~carry_axes_)) continue;
      Region& r = plan_.regions.emplace_back();
      r.parent = s.innermost, r.axis = axis;
      s.innermost = s.innermost->child = &r;
    }
    Placer placer(plan_);
    for (Value store : p.stores)
      for (uint32_t k = 1; k < kernel_.insts[store].nsrc; ++k)
        placer.need(kernel_.insts[store].src[k], *s.innermost);
    OST_TRY(placer.place());
    for (Value store : p.stores) {
      const Inst& inst = kernel_.insts[store];
      const auto slot = [&](uint32_t k) { return s.innermost->slot_of.at(inst.src[k]); };
      const bool masked = inst.nsrc > 3;
      s.stores.push_back({store, slot(1), slot(2), masked ? slot(3) : 0, masked});
    }
    return {};
  }

  Plan& plan_;
  const Kernel& kernel_;
  const Scope& scope_;
  uint64_t carry_axes_ = 0;
  std::vector<Pending> pending_;
};

}  // namespace

Result<std::unique_ptr<Plan>> make_plan(const Kernel& kernel) {
  auto plan = std::make_unique<Plan>();
  plan->kernel = kernel;
  plan->scope.extend(kernel);
  OST_TRY(Planner(*plan).run());
  return plan;
}

}  // namespace ost::kir::interp
