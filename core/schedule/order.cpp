#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "core/schedule/assemble.hpp"

namespace ost {

using ir::NodeId;
using ir::Op;

namespace {

// Stored nodes and inputs that a kernel reads.
std::set<NodeId> reads_of(const ir::Graph& g, const FusePlan& plan, const KernelPlan& k) {
  std::set<NodeId> reads, seen;
  const std::set<NodeId> own(k.outputs.begin(), k.outputs.end()),
      inlined(k.inlined.begin(), k.inlined.end());
  std::vector<NodeId> stack;
  const auto operands = [&](NodeId n) {
    const auto& node = g.node(n);
    for (size_t i = node.op == Op::assign ? 1 : 0; i < node.inputs.size(); ++i)
      stack.push_back(node.inputs[i]);
  };
  for (NodeId n : k.outputs) operands(n);
  while (!stack.empty()) {
    const NodeId n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second || own.contains(n)) continue;
    if (g.node(n).op == Op::input || (plan.is_stored(n) && !inlined.contains(n)))
      reads.insert(n);
    else
      operands(n);
  }
  return reads;
}

struct KernelGraph {
  std::vector<std::vector<uint32_t>> next;
  std::vector<uint32_t> waits;
  void edge(uint32_t from, uint32_t to) {
    if (from == to) return;
    next[from].push_back(to);
    ++waits[to];
  }
};

std::vector<uint32_t> topological(const FusePlan& plan, KernelGraph kg) {
  const auto later = [&](uint32_t a, uint32_t b) {
    return plan.kernels[a].root > plan.kernels[b].root;
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> ready(later);
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) {
    if (kg.waits[k] == 0) ready.push(k);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t k = ready.top();
    ready.pop();
    order.push_back(k);
    for (uint32_t n : kg.next[k]) {
      if (--kg.waits[n] == 0) ready.push(n);
    }
  }
  return order;
}

bool reaches(const KernelGraph& kg, uint32_t from, uint32_t to) {
  std::vector<bool> seen(kg.next.size(), false);
  std::vector<uint32_t> stack{from};
  while (!stack.empty()) {
    const uint32_t k = stack.back();
    stack.pop_back();
    if (k == to) return true;
    for (uint32_t next : kg.next[k]) {
      if (seen[next]) continue;
      seen[next] = true;
      stack.push_back(next);
    }
  }
  return false;
}

}  // namespace

std::vector<uint32_t> order_kernels(const ir::Graph& g, const FusePlan& plan, NodeId& snapshot) {
  const auto count = static_cast<uint32_t>(plan.kernels.size());
  KernelGraph data{std::vector<std::vector<uint32_t>>(count), std::vector<uint32_t>(count, 0)};
  std::map<NodeId, std::vector<uint32_t>> readers;
  for (uint32_t k = 0; k < count; ++k) {
    for (NodeId n : reads_of(g, plan, plan.kernels[k])) {
      readers[n].push_back(k);
      if (plan.is_stored(n)) data.edge(plan.kernel_of[n], k);
    }
    const auto& root = g.node(plan.kernels[k].root);
    if (root.op == Op::assign && plan.is_stored(root.inputs[0]))
      data.edge(plan.kernel_of[root.inputs[0]], k);
  }
  // An assign overwrites the version that it names: whoever reads that version runs before.
  KernelGraph all = data;
  for (uint32_t k = 0; k < count; ++k) {
    const auto& root = g.node(plan.kernels[k].root);
    if (root.op != Op::assign) continue;
    for (uint32_t reader : readers[root.inputs[0]]) all.edge(reader, k);
  }
  std::vector<uint32_t> order = topological(plan, all);
  if (order.size() == count) return order;
  // A version whose reader waits for the assign that overwrites it. Never for a reader that only
  // copies it: without those edges a copy cannot be on a cycle, since the assign waits for the same
  // producer, and a copy of the copy would change nothing.
  for (uint32_t k = 0; k < count; ++k) {
    const auto& root = g.node(plan.kernels[k].root);
    if (root.op != Op::assign) continue;
    for (uint32_t reader : readers[root.inputs[0]]) {
      if (reader == k || g.node(plan.kernels[reader].root).op == Op::copy) continue;
      if (!reaches(all, k, reader)) continue;
      snapshot = root.inputs[0];
      return {};
    }
  }
  return {};
}

std::string kernel_name(const ir::Graph& g, const KernelPlan& k) {
  std::vector<NodeId> nodes(k.inlined);
  nodes.insert(nodes.end(), k.outputs.begin(), k.outputs.end());
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::string> heavy, light;
  for (NodeId n : nodes) {
    const Op op = g.node(n).op;
    const bool is_heavy = ir::is_reduction(op) || op == Op::contract || op == Op::attention ||
                          op == Op::gather || op == Op::scatter || op == Op::scatter_add ||
                          op == Op::assign;
    auto& list = is_heavy ? heavy : light;
    if (ir::is_movement(op) && nodes.size() > 1) continue;
    std::string name(ir::name_of(op));
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(std::move(name));
  }
  std::string out;
  size_t room = 4;
  for (const auto* list : {&heavy, &light}) {
    for (const std::string& name : *list) {
      if (room == 0) break;
      --room;
      out += (out.empty() ? "" : "_") + name;
    }
  }
  return out.empty() ? std::string("copy") : out;
}

Result<std::vector<uint32_t>> devices_of(const ir::Graph& g) {
  std::vector<uint32_t> devices(g.nodes().size(), kNoIndex);
  for (NodeId n = 0; n < g.nodes().size(); ++n) {
    const auto& node = g.node(n);
    if (node.op == Op::input) devices[n] = g.input(n).device;
    if (node.op == Op::copy) devices[n] = static_cast<uint32_t>(node.bits);
    if (node.op == Op::input || node.op == Op::copy) continue;
    for (NodeId in : node.inputs) {
      if (devices[in] == kNoIndex) continue;
      if (devices[n] != kNoIndex && devices[n] != devices[in]) {
        return fail(OST_INVALID_ARGUMENT,
                    "node {} ({}): operands live on devices {} and {}; copy one to the other's "
                    "device first",
                    n, ir::name_of(node.op), devices[n], devices[in]);
      }
      devices[n] = devices[in];
    }
  }
  return devices;
}

}  // namespace ost
