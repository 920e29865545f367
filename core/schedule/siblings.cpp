#include "core/schedule/siblings.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

constexpr uint32_t kNobody = UINT32_MAX;

// Longest path from a kernel that reads inputs only.
std::vector<uint32_t> levels_of(const std::vector<std::vector<uint32_t>>& readers) {
  std::vector<uint32_t> waits(readers.size(), 0), levels(readers.size(), 0), ready;
  for (const auto& list : readers)
    for (const uint32_t k : list) ++waits[k];
  for (uint32_t k = 0; k < readers.size(); ++k)
    if (waits[k] == 0) ready.push_back(k);
  while (!ready.empty()) {
    const uint32_t k = ready.back();
    ready.pop_back();
    for (const uint32_t reader : readers[k]) {
      levels[reader] = std::max(levels[reader], levels[k] + 1);
      if (--waits[reader] == 0) ready.push_back(reader);
    }
  }
  return levels;
}

bool may_have_siblings(const ir::Graph& g, const KernelPlan& k) {
  if (k.tiled.empty() || k.has_reduction) return false;
  const Op root = g.node(k.root).op;
  if (!ir::is_elementwise(root) && !ir::is_movement(root) && root != Op::contract) return false;
  return std::all_of(k.tiled.begin(), k.tiled.end(),
                     [&](NodeId n) { return g.node(n).op == Op::contract; });
}

bool fits(const KernelPlan& a, const KernelPlan& b) {
  return a.contractions + b.contractions <= kMaxContractions &&
         a.outputs.size() + b.outputs.size() <= kMaxOutputs &&
         a.inlined.size() + b.inlined.size() <= kMaxInlined;
}

void append(std::vector<NodeId>& to, const std::vector<NodeId>& from) {
  for (const NodeId n : from)
    if (std::find(to.begin(), to.end(), n) == to.end()) to.push_back(n);
}

}  // namespace

void merge_siblings(const ir::Graph& g, const std::vector<std::vector<uint32_t>>& readers,
                    FusePlan& plan) {
  const auto nodes = g.nodes();
  if (std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == Op::assign; }))
    return;
  const std::vector<uint32_t> levels = levels_of(readers);
  std::vector<uint32_t> into(plan.kernels.size());
  std::map<std::tuple<uint32_t, NodeId>, std::vector<uint32_t>> open;  // by level and operand
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    KernelPlan& kernel = plan.kernels[k];
    into[k] = k;
    if (!may_have_siblings(g, kernel)) continue;
    auto& others = open[{levels[k], g.node(kernel.tiled[0]).inputs[0]}];
    const auto first = std::find_if(others.begin(), others.end(), [&](uint32_t o) {
      const KernelPlan& other = plan.kernels[o];
      return g.node(other.root).shape == g.node(kernel.root).shape &&
             g.node(other.tiled[0]).dtype == g.node(kernel.tiled[0]).dtype && fits(other, kernel);
    });
    if (first == others.end()) {
      others.push_back(k);
      continue;
    }
    into[k] = *first;
    KernelPlan& other = plan.kernels[*first];
    other.contractions += kernel.contractions;
    append(other.outputs, kernel.outputs);
    append(other.inlined, kernel.inlined);
    append(other.tiled, kernel.tiled);
    if (other.ended.empty()) other.ended = kernel.ended;
  }
  std::vector<uint32_t> place(plan.kernels.size(), kNobody);
  std::vector<KernelPlan> kept;
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    if (into[k] == k) {
      place[k] = static_cast<uint32_t>(kept.size());
      kept.push_back(std::move(plan.kernels[k]));
    }
  }
  for (uint32_t& k : plan.kernel_of)
    if (k != kNobody) k = place[into[k]];
  plan.kernels = std::move(kept);
}

}  // namespace ost
