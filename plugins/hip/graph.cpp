#include "graph.hpp"

#include <algorithm>
#include <cstring>

namespace hip {

ListGraph::Node::Node(const Command& c) : kind(c.kind), bytes(0), vars(c.vars) {
  for (const Command::Ref& r : c.refs) places.push_back(address_of(r));
  std::copy_n(c.grid, 3, grid.begin());
  if (kind != OST_CMD_DISPATCH) bytes = c.refs[0].size;
}

bool ListGraph::Node::does_something() const {
  return kind == OST_CMD_DISPATCH ? grid[0] > 0 && grid[1] > 0 && grid[2] > 0 : bytes > 0;
}

ListGraph::ListGraph(Device& device, Stream stream, const std::vector<Command>& commands,
                     const std::function<void(const Command&)>& give)
    : device_(device), api_(device.api()) {
  try {
    capture(stream, commands, give);
    device_.check(api_.hipGraphInstantiate(&exec_, graph_, nullptr, nullptr, 0),
                  "hipGraphInstantiate");
  } catch (...) {
    if (graph_ != nullptr) api_.hipGraphDestroy(graph_);
    throw;
  }
}

ListGraph::~ListGraph() {
  api_.hipSetDevice(device_.index());
  api_.hipGraphExecDestroy(exec_);
  api_.hipGraphDestroy(graph_);
}

void ListGraph::capture(Stream stream, const std::vector<Command>& commands,
                        const std::function<void(const Command&)>& give) {
  device_.check(api_.hipStreamBeginCapture(stream, kCaptureRelaxed), "hipStreamBeginCapture");
  try {
    for (const Command& c : commands) {
      Node& node = nodes_.emplace_back(c);
      if (!node.does_something()) continue;
      give(c);
      node.node = last_node(stream);
    }
  } catch (...) {
    api_.hipStreamEndCapture(stream, &graph_);  // the stream is of use again, whatever this gives
    throw;
  }
  device_.check(api_.hipStreamEndCapture(stream, &graph_), "hipStreamEndCapture");
}

// What the next call of the capturing stream would depend on.
GraphNode ListGraph::last_node(Stream stream) const {
  int status = 0;
  unsigned long long id = 0;
  Graph graph = nullptr;
  const GraphNode* nodes = nullptr;
  size_t count = 0;
  device_.check(api_.hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count),
                "hipStreamGetCaptureInfo_v2");
  if (count != 1 || nodes == nullptr)
    fail(OST_UNIMPLEMENTED, "a command was captured as ", count, " nodes, wanted 1");
  return nodes[0];
}

bool ListGraph::fits(const std::vector<Command>& commands) const {
  for (size_t i = 0; i < commands.size(); ++i) {
    const Node &mine = nodes_[i], other(commands[i]);
    if (mine.does_something() != other.does_something()) return false;
    const bool can_change =
        mine.kind == OST_CMD_DISPATCH ||
        (mine.kind == OST_CMD_COPY && api_.hipGraphExecMemcpyNodeSetParams1D != nullptr);
    if (!can_change && (mine.places != other.places || mine.bytes != other.bytes)) return false;
  }
  return true;
}

void ListGraph::update(const std::vector<Command>& commands) {
  for (size_t i = 0; i < commands.size(); ++i) {
    Node wanted(commands[i]);
    wanted.node = nodes_[i].node;
    if (wanted == nodes_[i] || wanted.node == nullptr) continue;
    set(wanted, commands[i]);
    nodes_[i] = std::move(wanted);
  }
}

void ListGraph::set(const Node& node, const Command& c) {
  if (c.kind == OST_CMD_DISPATCH) {
    KernelNodeParams params{};
    device_.check(api_.hipGraphKernelNodeGetParams(node.node, &params),
                  "hipGraphKernelNodeGetParams");
    Arguments arguments(c);
    params.grid = arguments.blocks();
    params.arguments = arguments.pointers();
    device_.check(api_.hipGraphExecKernelNodeSetParams(exec_, node.node, &params),
                  "hipGraphExecKernelNodeSetParams");
  } else {
    device_.check(api_.hipGraphExecMemcpyNodeSetParams1D(
                      exec_, node.node, node.places[0], node.places[1], node.bytes, kMemcpyDefault),
                  "hipGraphExecMemcpyNodeSetParams1D");
  }
}

void ListGraph::launch(Stream stream) {
  device_.check(api_.hipGraphLaunch(exec_, stream), "hipGraphLaunch");
}

// --- lists

std::unique_ptr<ListGraph> List::take(const std::vector<Command>& commands) {
  const std::scoped_lock lock(mutex_);
  const auto it = std::ranges::find_if(idle_, [&](const auto& g) { return g->fits(commands); });
  if (it == idle_.end()) return nullptr;
  std::unique_ptr<ListGraph> out = std::move(*it);
  idle_.erase(it);
  return out;
}

void List::put_back(std::unique_ptr<ListGraph> graph) {
  constexpr size_t kKept = 4;  // shapes of one list: with and without its empty commands
  const std::scoped_lock lock(mutex_);
  idle_.insert(idle_.begin(), std::move(graph));
  if (idle_.size() > kKept) idle_.pop_back();
}

}  // namespace hip
