#include "core/schedule/schedule.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/passes/attention.hpp"
#include "core/passes/simplify.hpp"
#include "core/schedule/assemble.hpp"
#include "core/schedule/fit_arena.hpp"
#include "core/schedule/fuse.hpp"
#include "core/schedule/lower.hpp"

namespace ost {

namespace {

using ir::Graph;
using ir::NodeId;
using ir::Op;

// The graph with every reader of `target`, except assigns to it, reading a copy made before.
Result<Graph> with_snapshot(const Graph& g, NodeId target) {
  Graph out;
  std::vector<NodeId> map(g.nodes().size());
  NodeId copy = 0;
  OST_TRY_ASSIGN(const auto devices, devices_of(g));
  for (NodeId n = 0; n < g.nodes().size(); ++n) {
    ir::Node node = g.node(n);
    if (node.op == Op::input) {
      OST_TRY_ASSIGN(map[n], out.add_input(g.input(n)));
    } else {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool assigns = node.op == Op::assign && i == 0;
        node.inputs[i] = node.inputs[i] == target && !assigns ? copy : map[node.inputs[i]];
      }
      OST_TRY_ASSIGN(map[n], out.add(std::move(node)));
    }
    if (n == target) {
      ir::Node snap;
      snap.op = Op::copy;
      snap.dtype = g.node(n).dtype;
      snap.shape = g.node(n).shape;
      snap.inputs = {map[n]};
      snap.bits = devices[n];
      OST_TRY_ASSIGN(copy, out.add(std::move(snap)));
    }
  }
  for (const auto& o : g.outputs()) out.add_output(o.name, o.node == target ? copy : map[o.node]);
  return out;
}

class Scheduler {
 public:
  Scheduler(const Graph& g, const FusePlan& plan, std::vector<uint32_t> order,
            const ScheduleOptions& options)
      : g_(g), plan_(plan), order_(std::move(order)), options_(options) {}

  // `smallest`: what the largest arena needs at best. If that is above the limit, the program has
  // no arenas and is not to be used.
  Result<Program> run(uint64_t& smallest) {
    p_.numerics = options_.numerics;
    OST_TRY_ASSIGN(p_.vars, g_.vars());
    OST_TRY_ASSIGN(devices_, devices_of(g_));
    buffer_of_.assign(g_.nodes().size(), kNoIndex);
    for (uint32_t d : devices_)
      p_.device_count = std::max(p_.device_count, d == kNoIndex ? 1 : d + 1);
    bind_inputs();
    bind_stored();
    bind_outputs();
    for (uint32_t k : order_) OST_TRY(add_steps(plan_.kernels[k]));
    mark_written_inputs();
    drop_unused_buffers();
    OST_TRY(check_sizes(p_));
    connect_steps(p_, access_);
    if (options_.arena_limit != UINT64_MAX) {
      smallest = fit_arena(p_, access_, options_);
      if (smallest > options_.arena_limit) return std::move(p_);
      connect_steps(p_, access_);
    }
    place_temps(p_, options_);
    return std::move(p_);
  }

 private:
  uint32_t buffer_of(NodeId n) const { return buffer_of_[n]; }
  uint32_t device_of(NodeId n) const { return devices_[n] == kNoIndex ? 0 : devices_[n]; }

  uint32_t add_buffer(BufferKind kind, uint32_t slot, NodeId n) {
    const auto& node = g_.node(n);
    p_.buffers.push_back({kind, slot, device_of(n), node.dtype, numel(node.shape), kNoIndex, 0});
    return static_cast<uint32_t>(p_.buffers.size() - 1);
  }

  // Arguments keep their position even if nothing reads them; constants and states only exist where
  // used.
  void bind_inputs() {
    std::vector<NodeId> node_of(g_.inputs().size(), 0);
    for (NodeId n = 0; n < g_.nodes().size(); ++n) {
      if (g_.node(n).op == Op::input) node_of[g_.node(n).bits] = n;
    }
    for (size_t i = 0; i < g_.inputs().size(); ++i) {
      const ir::Input& in = g_.inputs()[i];
      const NodeId n = node_of[i];
      uint32_t slot = 0;
      BufferKind kind = BufferKind::input;
      switch (in.kind) {
        case ir::InputKind::argument:
          slot = static_cast<uint32_t>(p_.inputs.size());
          p_.inputs.push_back({in.name, in.dtype, in.shape, in.device, false});
          break;
        case ir::InputKind::constant:
          kind = BufferKind::constant;
          slot = static_cast<uint32_t>(p_.constants.size());
          p_.constants.push_back({in.name, in.data, {}, {}});
          break;
        case ir::InputKind::state:
          kind = BufferKind::state;
          slot = static_cast<uint32_t>(p_.states.size());
          p_.states.push_back({in.name, in.dtype, in.shape, in.device, in.data});
          break;
      }
      buffer_of_[n] = add_buffer(kind, slot, n);
    }
  }

  void bind_stored() {
    for (NodeId n = 0; n < g_.nodes().size(); ++n) {
      if (!plan_.is_stored(n)) continue;
      buffer_of_[n] = g_.node(n).op == Op::assign ? buffer_of(storage_of(g_, n))
                                                  : add_buffer(BufferKind::temp, 0, n);
    }
  }

  void bind_outputs() {
    for (const auto& out : g_.outputs()) {
      const auto& node = g_.node(out.node);
      const uint32_t b = buffer_of(out.node);
      if (p_.buffers[b].kind == BufferKind::temp) {
        p_.buffers[b].kind = BufferKind::output;
        p_.buffers[b].slot = static_cast<uint32_t>(p_.outputs.size());
      }
      p_.outputs.push_back({out.name, node.dtype, node.shape, p_.buffers[b].device, b});
    }
  }

  Result<> add_steps(const KernelPlan& k) {
    const auto& root = g_.node(k.root);
    if (root.op == Op::copy) {
      add_copy(k);
      return {};
    }
    const LowerContext context{g_,
                               plan_,
                               [this](NodeId n) { return buffer_of(n); },
                               [this](BufferId b) { return p_.buffers[b].elements; },
                               options_.numerics,
                               options_.tile_size};
    OST_TRY_ASSIGN(auto kernels, lower(context, k));
    for (LoweredKernel& kernel : kernels) {
      if (stores_something(kernel.kir)) add_launch(k, std::move(kernel));
    }
    return {};
  }

  // False for a kernel over a space that is known to be empty.
  static bool stores_something(const kir::Kernel& kernel) {
    for (kir::Value v = 0; v < kernel.insts.size(); ++v) {
      if (kernel.op(v) != kir::Op::axis || kernel.insts[v].aux == OST_KIR_AXIS_REDUCE) continue;
      const kir::Inst& extent = kernel.insts[kernel.insts[v].src[0]];
      if (extent.op == OST_KIR_OP_CONST && extent.imm == 0) return false;
    }
    return true;
  }

  void add_copy(const KernelPlan& k) {
    Step step;
    step.kind = StepKind::copy;
    step.device = device_of(k.root);
    step.args = {buffer_of(k.root), buffer_of(g_.node(k.root).inputs[0])};
    p_.steps.push_back(std::move(step));
    access_.push_back({OST_KIR_WRITE, OST_KIR_READ});
  }

  void add_launch(const KernelPlan& k, LoweredKernel kernel) {
    Step step;
    step.device = device_of(k.root);
    step.args = kernel.params;
    for (const Var& v : kernel.vars) {
      const auto at = std::lower_bound(p_.vars.begin(), p_.vars.end(), v,
                                       [](const Var& a, const Var& b) { return a.name < b.name; });
      step.vars.push_back(static_cast<uint32_t>(at - p_.vars.begin()));
    }
    std::vector<uint32_t> access(kernel.params.size(), 0);
    for (const auto& inst : kernel.kir.insts) {
      if (inst.op == OST_KIR_OP_PARAM) access[inst.imm] = inst.aux;
    }
    access_.push_back(std::move(access));
    step.kernel = intern(kernel_name(g_, k), std::move(kernel.kir));
    add_group(k, step.kernel, std::move(kernel.tiles));
    p_.steps.push_back(std::move(step));
  }

  uint32_t intern(std::string name, kir::Kernel kernel) {
    std::string hash = kir::hash_of(kernel);
    if (auto it = kernel_by_hash_.find(hash); it != kernel_by_hash_.end()) return it->second;
    const int count = ++names_[name];
    if (count > 1) name += fmt::format("_{}", count);
    p_.kernels.push_back({std::move(name), std::move(kernel), {}});
    const auto id = static_cast<uint32_t>(p_.kernels.size() - 1);
    kernel_by_hash_.emplace(std::move(hash), id);
    return id;
  }

  void add_group(const KernelPlan& k, uint32_t kernel, std::vector<std::string> tiles) {
    Group group = group_of(g_, k);
    group.tiles = std::move(tiles);
    group.kernel = kernel;
    group.step = static_cast<uint32_t>(p_.steps.size());
    p_.groups.push_back(std::move(group));
  }

  void mark_written_inputs() {
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      for (size_t i = 0; i < p_.steps[s].args.size(); ++i) {
        const BufferDesc& b = p_.buffers[p_.steps[s].args[i]];
        if ((access_[s][i] & OST_KIR_WRITE) && b.kind == BufferKind::input)
          p_.inputs[b.slot].written = true;
      }
    }
  }

  // Constants, states and temps that no step and no output names go away; arguments stay.
  void drop_unused_buffers() {
    std::vector<bool> used(p_.buffers.size(), false);
    for (const Step& s : p_.steps) {
      for (uint32_t b : s.args) used[b] = true;
    }
    for (const OutputDesc& o : p_.outputs) used[o.buffer] = true;
    std::vector<uint32_t> map(p_.buffers.size(), kNoIndex);
    std::vector<BufferDesc> buffers;
    std::vector<ConstantDesc> constants;
    std::vector<StateDesc> states;
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      BufferDesc desc = p_.buffers[b];
      if (!used[b] && desc.kind != BufferKind::input) continue;
      if (desc.kind == BufferKind::constant) {
        constants.push_back(p_.constants[desc.slot]);
        desc.slot = static_cast<uint32_t>(constants.size() - 1);
      }
      if (desc.kind == BufferKind::state) {
        states.push_back(p_.states[desc.slot]);
        desc.slot = static_cast<uint32_t>(states.size() - 1);
      }
      map[b] = static_cast<uint32_t>(buffers.size());
      buffers.push_back(std::move(desc));
    }
    for (Step& s : p_.steps) {
      for (uint32_t& b : s.args) b = map[b];
    }
    for (OutputDesc& o : p_.outputs) o.buffer = map[o.buffer];
    p_.buffers = std::move(buffers);
    p_.constants = std::move(constants);
    p_.states = std::move(states);
  }

  const Graph& g_;
  const FusePlan& plan_;
  const std::vector<uint32_t> order_;
  const ScheduleOptions& options_;
  Program p_;
  std::vector<uint32_t> devices_;
  std::vector<uint32_t> buffer_of_;  // per node that has one
  std::vector<std::vector<uint32_t>> access_;  // per step and argument
  std::map<std::string, uint32_t> kernel_by_hash_;
  std::map<std::string, int> names_;
};

// An output that names contents which an assign overwrites later: it needs a copy made before.
NodeId overwritten_output(const Graph& g) {
  std::set<NodeId> overwritten;
  for (const ir::Node& node : g.nodes()) {
    if (node.op == Op::assign) overwritten.insert(node.inputs[0]);
  }
  for (const auto& out : g.outputs()) {
    if (overwritten.contains(out.node)) return out.node;
  }
  return UINT32_MAX;
}

Result<Program> schedule_once(const Graph& graph, const ScheduleOptions& options, bool join,
                              uint64_t& needed) {
  Graph copied;  // with snapshots; empty as long as none was needed
  for (const Graph* g = &graph;; g = &copied) {
    const FusePlan plan = fuse(*g, {options.fuse, options.memory_budget, join});
    NodeId snapshot = UINT32_MAX;
    std::vector<uint32_t> order = order_kernels(*g, plan, snapshot);
    if (order.size() == plan.kernels.size())
      return Scheduler(*g, plan, std::move(order), options).run(needed);
    if (snapshot == UINT32_MAX)
      return fail(OST_INTERNAL, "the kernels of this graph form a cycle; please report the graph");
    OST_TRY_ASSIGN(copied, with_snapshot(*g, snapshot));
  }
}

}  // namespace

Result<Program> schedule(const Graph& graph, const ScheduleOptions& options) {
  Graph g;
  if (options.simplify) {
    OST_TRY_ASSIGN(g, simplify(graph));
  } else {
    g = graph;
  }
  if (options.simplify && options.recognise_attention) {
    OST_TRY_ASSIGN(const auto recognised, recognise_attention(g));
    if (recognised) {
      OST_TRY_ASSIGN(g, simplify(*recognised));  // drops the parts
    }
  }
  for (NodeId n = overwritten_output(g); n != UINT32_MAX; n = overwritten_output(g)) {
    OST_TRY_ASSIGN(g, with_snapshot(g, n));
  }
#ifndef NDEBUG
  OST_TRY(ir::verify(g));
#endif
  uint64_t smallest = UINT64_MAX;
  for (const bool join : {true, false}) {  // fewer results of one kernel live shorter
    uint64_t needed = 0;
    OST_TRY_ASSIGN(Program p, schedule_once(g, options, join, needed));
    if (needed <= options.arena_limit) return p;
    smallest = std::min(smallest, needed);
  }
  return fail(OST_OUT_OF_MEMORY,
              "the arena of the program does not fit the limit of {} bytes in any order that was "
              "tried, with values computed again or in parts; the smallest limit that works is {}",
              options.arena_limit, smallest);
}

}  // namespace ost
