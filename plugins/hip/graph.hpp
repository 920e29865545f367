// Command lists as graphs of HIP: what a list does is captured from a stream once, and replayed with
// other arguments of its kernels.
#pragma once

#include <array>
#include <atomic>
#include <functional>

#include "program.hpp"

namespace hip {

// A bound list that was captured. Invariant: its nodes are those commands of the list that do
// something, in their order.
class ListGraph {
 public:
  // `give` gives one command to the stream.
  ListGraph(Device& device, Stream stream, const std::vector<Command>& commands,
            const std::function<void(const Command&)>& give);
  ListGraph(const ListGraph&) = delete;
  ListGraph& operator=(const ListGraph&) = delete;
  ~ListGraph();

  // Whether the same nodes with other arguments do what these commands say.
  bool fits(const std::vector<Command>& commands) const;
  void update(const std::vector<Command>& commands);  // they fit
  void launch(Stream stream);

 private:
  // What a command does, by addresses: its buffers may be gone when the graph is used again.
  struct Node {
    explicit Node(const Command& command);
    bool operator==(const Node&) const = default;
    uint32_t kind;
    std::vector<std::byte*> places;
    uint64_t bytes;  // of a copy or fill
    std::array<uint64_t, 3> grid;
    std::vector<int64_t> vars;
    bool does_something() const;
    GraphNode node = nullptr;  // null: it does nothing
  };

  void capture(Stream stream, const std::vector<Command>& commands,
               const std::function<void(const Command&)>& give);
  GraphNode last_node(Stream stream) const;
  void set(const Node& node, const Command& command);

  Device& device_;
  const Api& api_;
  std::vector<Node> nodes_;  // of each command
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
};

// A list, with the graphs that no submit uses now: several submits of a list may be on their way.
class List : public ost::plugin::CommandList<Buffer, Executable> {
 public:
  List(DevicePtr device, const ost_command_t* commands, uint32_t count, uint32_t slots,
       uint32_t vars)
      : CommandList(commands, count, slots, vars, kAlign), device_(std::move(device)) {}

  // One that fits these commands, null if there is none.
  std::unique_ptr<ListGraph> take(const std::vector<Command>& commands);
  void put_back(std::unique_ptr<ListGraph> graph);
  bool as_graph() const { return as_graph_; }
  void never_as_graph() { as_graph_ = false; }

 private:
  DevicePtr device_;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<ListGraph>> idle_;
  std::atomic<bool> as_graph_{true};
};

}  // namespace hip
