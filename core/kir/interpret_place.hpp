// Deciding for a set of wanted values which records are computed in which region, and in which
// order.
#pragma once

#include "core/kir/interpret_plan.hpp"

namespace ost::kir::interp {

class Placer {
 public:
  explicit Placer(Plan& plan) : plan_(plan), needs_(plan.kernel.insts.size()) {}
  // The value will have a slot in the region.
  void need(Value v, Region& in) { need(v, in, kAlways); }
  Result<> place();

 private:
  // What is needed only by the first operand of a `where` that is marked rare is guarded by its
  // condition.
  static constexpr int kAlways = -1;
  struct Need {
    Region* region;
    int guard;
  };
  struct Node {
    Value record;
    Region* home;
    int guard;      // under which it is computed
    int own_guard;  // a rare where: the guard of its first operand
    Step step;      // inner regions, filled in while needs are collected
  };
  struct Guard {
    int parent;
    int depth;
    std::vector<size_t> members;  // positions in nodes_, later records first
  };

  void need(Value v, Region& in, int guard);
  int merge(int a, int b) const;
  Region* home_of(Value v, Region& from) const;
  void resolve(Value v);
  void make_node(Value v, Region& home, int guard);
  void need_operands(Node& node);
  Region* inner_region(Region& outer, Value axis);
  Result<> emit(size_t node);
  Result<> emit_guarded(const Node& node);
  Result<Step> make_step(const Node& node);
  bool is_fixed(const Node& node) const;

  Plan& plan_;
  std::vector<std::vector<Need>> needs_;  // by record
  std::vector<Node> nodes_;               // later records first
  std::vector<Guard> guards_;
  std::unordered_map<const Region*, std::unordered_map<Value, bool>> fixed_;
};

Region* new_root(Plan& plan, Region* parent);
// Gives every slot of a region its buffer and fills in the constants.
void allocate(const Plan& plan, Region& region);

}  // namespace ost::kir::interp
