#include "core/schedule/fuse_facts.hpp"

#include "core/schedule/op_class.hpp"

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

void force_below_movement(const ir::Graph& g, NodeId n, FuseFacts& facts) {
  while (ir::is_movement(g.node(n).op) && g.node(n).op != Op::pad) n = g.node(n).inputs[0];
  facts.forced[n] = true;
}

void find_reachable(const ir::Graph& g, FuseFacts& facts) {
  for (const auto& out : g.outputs()) facts.reachable[out.node] = facts.forced[out.node] = true;
  for (auto n = static_cast<NodeId>(g.nodes().size()); n-- > 0;) {
    if (!facts.reachable[n]) continue;
    const Node& node = g.node(n);
    for (const NodeId in : node.inputs) facts.reachable[in] = true;
    if (is_writer(node.op)) facts.forced[n] = true;
    if (node.op == Op::assign) facts.has_assigns = true;
    if (node.op == Op::copy) facts.forced[node.inputs[0]] = true;
    // A store happens once for each point of the axes that it depends on: an index that is loaded
    // depends on its own.
    if (node.op == Op::scatter || node.op == Op::scatter_add) facts.forced[node.inputs[1]] = true;
    if (node.op == Op::attention)
      for (size_t k = 0; k < 3; ++k) force_below_movement(g, node.inputs[k], facts);
  }
}

void find_followers(const ir::Graph& g, FuseFacts& facts) {
  for (NodeId n = 0; n < g.nodes().size(); ++n) {
    const Node& node = g.node(n);
    if (!ir::is_elementwise(node.op) && !ir::is_movement(node.op)) continue;
    bool product = false;
    for (const NodeId in : node.inputs) {
      if (facts.forced[in]) continue;
      if (facts.follows_row[in] || is_row_reduction(g.node(in))) facts.follows_row[n] = true;
      if (facts.follows_product[in] || is_tiled(g.node(in))) product = true;
    }
    const bool keeps_elements =
        ir::is_elementwise(node.op) || node.op == Op::reshape || node.op == Op::permute;
    facts.follows_product[n] = product && keeps_elements && !facts.follows_row[n];
  }
}

}  // namespace

FuseFacts facts_of(const ir::Graph& g, std::span<const NodeId> store_first) {
  FuseFacts facts;
  for (auto* list :
       {&facts.reachable, &facts.forced, &facts.alone, &facts.follows_row, &facts.follows_product})
    list->assign(g.nodes().size(), false);
  find_reachable(g, facts);
  for (const NodeId n : store_first) facts.forced[n] = facts.alone[n] = true;
  find_followers(g, facts);
  return facts;
}

}  // namespace ost
