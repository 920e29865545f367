// Kernels described for people and tools: what a group is around, and what it saves.
#include <algorithm>
#include <array>
#include <set>

#include "core/schedule/assemble.hpp"

namespace ost {

namespace {

using ir::NodeId;
using ir::Op;

constexpr std::array<std::string_view, kGroupKinds> kNames = {
    "other",     "gemm", "gemm_epilogue", "conv",     "conv_epilogue",
    "attention", "row",  "pointwise",     "movement", "scatter"};

std::vector<NodeId> nodes_of(const KernelPlan& k) {
  std::vector<NodeId> nodes(k.inlined);
  nodes.insert(nodes.end(), k.outputs.begin(), k.outputs.end());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

bool computes(Op op) { return !ir::is_movement(op) && op != Op::assign; }

// Something is computed from a contraction of the kernel.
bool has_epilogue(const ir::Graph& g, const KernelPlan& k, const std::vector<NodeId>& nodes) {
  std::set<NodeId> after(k.tiled.begin(), k.tiled.end());
  for (const NodeId n : nodes) {
    const ir::Node& node = g.node(n);
    if (after.contains(n) || std::none_of(node.inputs.begin(), node.inputs.end(),
                                          [&](NodeId in) { return after.contains(in); }))
      continue;
    if (computes(node.op)) return true;
    after.insert(n);
  }
  return false;
}

bool slides(const ir::Graph& g, NodeId n) {
  for (NodeId in : g.node(n).inputs) {
    while (ir::is_movement(g.node(in).op) && g.node(in).op != Op::window) in = g.node(in).inputs[0];
    if (g.node(in).op == Op::window) return true;
  }
  return false;
}

GroupKind kind_of(const ir::Graph& g, const KernelPlan& k, const std::vector<NodeId>& nodes) {
  const Op root = g.node(k.root).op;
  if (root == Op::scatter || root == Op::scatter_add) return GroupKind::scatter;
  if (!k.tiled.empty()) {
    if (g.node(k.tiled[0]).op == Op::attention) return GroupKind::attention;
    const bool epilogue = has_epilogue(g, k, nodes);
    if (std::any_of(k.tiled.begin(), k.tiled.end(), [&](NodeId n) { return slides(g, n); }))
      return epilogue ? GroupKind::conv_epilogue : GroupKind::conv;
    return epilogue ? GroupKind::gemm_epilogue : GroupKind::gemm;
  }
  if (k.has_reduction) return GroupKind::row;
  const bool moves =
      std::none_of(nodes.begin(), nodes.end(), [&](NodeId n) { return computes(g.node(n).op); });
  return moves ? GroupKind::movement : GroupKind::pointwise;
}

std::string_view why_of(const KernelPlan& k, GroupKind kind, bool fused) {
  if (!fused && k.outputs.size() == 1) return "nothing to fuse with";
  if (k.tiled.size() > 1 && k.outputs.size() > 1)
    return "contractions of one operand, with what is computed element by element from them";
  switch (kind) {
    case GroupKind::gemm:
    case GroupKind::gemm_epilogue:
    case GroupKind::conv:
    case GroupKind::conv_epilogue:
    case GroupKind::attention:
    case GroupKind::scatter:
      return "a contraction with what is computed element by element before and after it";
    case GroupKind::row:
      return "a row kernel: reductions along the same rows and what depends on them";
    default:
      return "elementwise operations over one shape";
  }
}

}  // namespace

std::string_view name_of(GroupKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<GroupKind> group_kind_from_name(std::string_view name) {
  for (size_t i = 1; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<GroupKind>(i);
  return std::nullopt;
}

Group group_of(const ir::Graph& g, const KernelPlan& k) {
  Group group;
  const std::vector<NodeId> nodes = nodes_of(k);
  for (const NodeId n : nodes) group.ops.emplace_back(ir::name_of(g.node(n).op));
  bool fused = false;
  for (const NodeId n : k.inlined) {
    const ir::Node& node = g.node(n);
    if (ir::is_movement(node.op)) continue;
    fused = true;
    group.bytes_saved = group.bytes_saved + numel(node.shape) * Sym(size_of(node.dtype));
  }
  group.kind = kind_of(g, k, nodes);
  group.why = why_of(k, group.kind, fused);
  group.ended = k.ended.empty() ? "inputs" : k.ended;
  return group;
}

}  // namespace ost
