#include "core/capture/session.hpp"

namespace ost::capture {

Result<ir::Graph> extract(const ir::Graph& graph, std::span<const ir::NodeId> roots,
                          std::vector<uint32_t>& inputs, std::vector<ir::NodeId>& map) {
  const size_t count = graph.nodes().size();
  std::vector<bool> needed(count, false);
  for (ir::NodeId r : roots) needed[r] = true;
  for (size_t n = count; n-- > 0;) {
    if (!needed[n]) continue;
    for (ir::NodeId in : graph.nodes()[n].inputs) needed[in] = true;
  }
  ir::Graph out;
  map.assign(count, UINT32_MAX);
  inputs.clear();
  for (ir::NodeId n = 0; n < count; ++n) {
    if (!needed[n]) continue;
    ir::Node node = graph.node(n);
    if (node.op == ir::Op::input) {
      inputs.push_back(static_cast<uint32_t>(node.bits));
      OST_TRY_ASSIGN(map[n], out.add_input(graph.input(n)));
      continue;
    }
    for (ir::NodeId& in : node.inputs) in = map[in];
    OST_TRY_ASSIGN(map[n], out.add(std::move(node)));
  }
  return out;
}

}  // namespace ost::capture
