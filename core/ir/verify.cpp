// The executable specification of the graph: every node is what inference makes of its operands and
// attributes.
#include "core/ir/infer.hpp"

namespace ost::ir {
namespace {

Result<> verify_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (const NodeId input : node.inputs)
    if (input >= id)
      return fail(OST_INTERNAL, "{}: operand %{} is not an earlier node", name_of(node.op), input);
  Node again = node;
  OST_TRY(infer(graph, again));
  if (again.dtype != node.dtype || again.shape != node.shape)
    return fail(OST_INTERNAL, "{}: is {}, but its operands make it {}", name_of(node.op),
                type_string(node.dtype, node.shape), type_string(again.dtype, again.shape));
  if (again.order != node.order)
    return fail(OST_INTERNAL, "{}: a float sum without an order tag", name_of(node.op));
  return {};
}

}  // namespace

Result<> verify(const Graph& graph) {
  std::vector<uint32_t> used(graph.inputs().size());
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    if (auto ok = verify_node(graph, id); !ok)
      return std::unexpected(ok.error().in(fmt::format("node %{}", id)));
    if (graph.node(id).op == Op::input) ++used[graph.node(id).bits];
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i] != 1) return fail(OST_INTERNAL, "input {} has {} nodes, wanted 1", i, used[i]);
  for (const Graph::Output& output : graph.outputs())
    if (output.node >= graph.nodes().size())
      return fail(OST_INTERNAL, "output '{}' names node %{}, the graph has {}", output.name,
                  output.node, graph.nodes().size());
  OST_TRY(graph.vars());
  return {};
}

}  // namespace ost::ir
