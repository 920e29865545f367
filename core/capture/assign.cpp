// Writes in place: at once in an eager program, as a node of the graph in a captured one.
#include <algorithm>

#include "core/capture/session.hpp"
#include "core/ir/ops.hpp"

namespace ost::capture {

Result<> Session::assign(const TensorPtr& target, const TensorPtr& value, std::vector<Sym> starts) {
  OST_TRY(target->check_fresh());
  OST_TRY(value->check_fresh());
  if (target->is_frozen()) {
    return fail(OST_JIT_ERROR, "tensor {} is frozen and cannot be assigned to; assign to a copy",
                target->id());
  }
  if (!capture_) return assign_eagerly(target, value, std::move(starts));
  if (!target->is_realized() && !target->is_traced_)
    return assign_functionally(target, value, std::move(starts));
  OST_TRY_ASSIGN(const ir::NodeId next, assign_node(target, value, std::move(starts)));
  // By the tensor that stands for this storage in the graph.
  uint64_t id = target->id();
  for (const TensorPtr& t : capture_->closed_over) {
    if (target->is_realized() && t->storage_.buffer == target->storage_.buffer &&
        t->storage_.offset == target->storage_.offset && t->shape() == target->shape() &&
        t->dtype() == target->dtype())
      id = t->id();
  }
  capture_->version[id] = next;
  return {};
}

Result<ir::NodeId> Session::assign_node(const TensorPtr& target, const TensorPtr& value,
                                        std::vector<Sym> starts) {
  OST_TRY_ASSIGN(const ir::NodeId old, node_of(target));
  OST_TRY_ASSIGN(const ir::NodeId with, node_of(value));
  ir::Node node;
  node.op = ir::Op::assign;
  node.inputs = {old, with};
  node.syms = starts.empty() ? std::vector<Sym>(target->shape().size(), Sym(0)) : std::move(starts);
  return graph_.add(std::move(node));
}

// The region of the new value, the rest of the old one.
Result<> Session::assign_functionally(const TensorPtr& target, const TensorPtr& value,
                                      std::vector<Sym> starts) {
  OST_TRY_ASSIGN(const ir::NodeId old, node_of(target));
  OST_TRY_ASSIGN(const ir::NodeId with, node_of(value));
  const Shape& whole = target->shape();
  const Shape& part = value->shape();
  if (starts.empty()) starts.assign(whole.size(), Sym(0));
  if (value->dtype() != target->dtype() || part.size() != whole.size() ||
      starts.size() != whole.size()) {
    return fail(OST_INVALID_ARGUMENT, "assign: {}{} at {} cannot be written into {}{}",
                name_of(value->dtype()), to_string(part), to_string(starts),
                name_of(target->dtype()), to_string(whole));
  }
  if (part == whole) {
    target->node_ = with;
    return {};
  }
  std::vector<std::pair<Sym, Sym>> widths;
  for (size_t d = 0; d < whole.size(); ++d)
    widths.emplace_back(starts[d], whole[d] - starts[d] - part[d]);
  OST_TRY_ASSIGN(const auto ones, ir::full_int(graph_, DType::boolean, part, 1));
  OST_TRY_ASSIGN(const auto region, ir::pad(graph_, ones, widths));
  OST_TRY_ASSIGN(const auto padded, ir::pad(graph_, with, widths));
  OST_TRY_ASSIGN(target->node_, ir::where(graph_, region, padded, old));
  return {};
}

// The rules of a captured call hold for the eager one too, so that call 2 does not differ from 1.
Result<> Session::check_guarded(const TensorPtr& target) const {
  const auto at = std::ranges::find(guarded_, target);
  for (size_t i = 0; i < guarded_.size(); ++i) {
    if (!overlap(guarded_[i]->storage(), target->storage())) continue;
    if (at == guarded_.end()) {
      return fail(OST_JIT_ERROR,
                  "input {} shares memory with tensor {}, which the function closes over, and the "
                  "program writes the closed-over tensor; give it a copy",
                  i, target->id());
    }
    const auto written = static_cast<size_t>(at - guarded_.begin());
    if (i == written) continue;
    return fail(OST_JIT_ERROR,
                "inputs {} and {} share memory, and the program writes input {}; give it a copy",
                std::min(i, written), std::max(i, written), written);
  }
  return {};
}

// Lazy tensors that read these bytes through another tensor are computed before they change.
Result<> Session::realize_aliases(const TensorPtr& target) {
  std::vector<TensorPtr> readers;
  for (const auto& [id, node] : input_of_) {
    const TensorPtr& other = bound_[graph_.node(node).bits];
    if (id == target->id() || !overlap(other->storage(), target->storage())) continue;
    for (TensorPtr& t : live_lazy()) {
      if (depends_on_input(t->node_, node)) readers.push_back(std::move(t));
    }
  }
  return realize(readers);
}

// Lazy tensors that read the old contents are computed in the same run: the scheduler puts them
// before the write.
Result<> Session::assign_eagerly(const TensorPtr& target, const TensorPtr& value,
                                 std::vector<Sym> starts) {
  OST_TRY(realize(std::span(&target, 1)));
  OST_TRY(check_guarded(target));
  OST_TRY(realize_aliases(target));
  if (value != target && value->is_realized() && overlap(value->storage(), target->storage())) {
    // The value as it is now: a move within one buffer.
    OST_TRY_ASSIGN(const auto copy, apply(std::span(&value, 1), [this](ir::Graph& g, auto n) {
                     return ir::copy_to(g, n[0], g.input(n[0]).device);
                   }));
    OST_TRY(realize(std::span(&copy, 1)));
    return assign_eagerly(target, copy, std::move(starts));
  }
  OST_TRY_ASSIGN(const ir::NodeId node, assign_node(target, value, std::move(starts)));
  const ir::NodeId input = input_of_.at(target->id());
  std::vector<TensorPtr> readers;
  for (TensorPtr& t : live_lazy()) {
    if (depends_on_input(t->node_, input)) readers.push_back(std::move(t));
  }
  OST_TRY(run_eagerly(readers, std::span(&node, 1)));
  input_of_.erase(target->id());  // later readers see the new contents through a new input
  return {};
}

bool Session::depends_on_input(ir::NodeId node, ir::NodeId input) const {
  std::vector<bool> reaches(node + 1, false);
  for (ir::NodeId n = input; n <= node; ++n) {
    reaches[n] = n == input;
    for (ir::NodeId in : graph_.node(n).inputs) reaches[n] = reaches[n] || reaches[in];
  }
  return node >= input && reaches[node];
}

Result<> Session::freeze(const TensorPtr& tensor) {
  OST_TRY(tensor->check_fresh());
  if (capture_)
    return fail(OST_JIT_ERROR, "tensor {} cannot be frozen while a function is captured",
                tensor->id());
  OST_TRY(realize(std::span(&tensor, 1)));
  if (tensor->generation_) {
    return fail(OST_JIT_ERROR,
                "tensor {} is an output whose storage its captured program reuses, so it cannot be "
                "frozen; create the jit with fresh outputs",
                tensor->id());
  }
  tensor->is_frozen_ = true;
  return {};
}

}  // namespace ost::capture
