#include "core/schedule/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/schedule/fuse_facts.hpp"
#include "core/schedule/index_use.hpp"
#include "core/schedule/op_class.hpp"
#include "core/schedule/siblings.hpp"

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

constexpr uint32_t kStoredNowhere = UINT32_MAX;
constexpr size_t kMaxConsumers = 4;    // kernels that may recompute a node
constexpr int kContractionBudget = 6;  // cost of operations on the way into a contraction's operand
constexpr int64_t kSmallRow = 65536;   // a reduction this short may serialise its kernel
constexpr int64_t kMinRows = 8;

class Fuser {
 public:
  Fuser(const ir::Graph& graph, const FuseOptions& options) : g_(graph), options_(options) {}

  // Returns values that must be stored after all, for the next run to be told in `store_first`:
  // those that an assign must not compute in place, since they read what it overwrites, and rows
  // that ended up beside a contraction.
  std::vector<NodeId> run(const std::vector<NodeId>& store_first) {
    facts_ = facts_of(g_, store_first);
    uses_.resize(g_.nodes().size());
    plan_.kernel_of.assign(g_.nodes().size(), kStoredNowhere);
    for (NodeId n = static_cast<NodeId>(g_.nodes().size()); n-- > 0;) {
      if (!facts_.reachable[n]) continue;
      find_overwritten_reads(n);
      if (g_.node(n).op == Op::input || (is_source(g_.node(n).op) && !facts_.forced[n])) continue;
      decide(n);
      uses_[n].clear();  // not needed any more
    }
    for (const auto& [kernel, reduction] : rows_beside_contractions_)
      store_rows_apart(plan_.kernels[kernel], reduction);
    return std::move(store_after_all_);
  }

  FusePlan finish() {
    if (options_.fuse && options_.join) merge_siblings(g_, edges_, plan_);
    for (KernelPlan& k : plan_.kernels) std::sort(k.inlined.begin(), k.inlined.end());
    return std::move(plan_);
  }

 private:
  struct UseIn {
    uint32_t kernel;
    IndexUse use;
  };

  // The heart: stored or inlined, and where.
  void decide(NodeId n) {
    const Node& node = g_.node(n);
    auto& uses = uses_[n];
    if (is_writer(node.op))
      return start_kernel(n, std::string(ir::name_of(node.op)) + " writes memory");
    if (facts_.forced[n]) {
      if (!(uses.empty() ? try_join_sibling(n) : try_join(n)))
        start_kernel(n, "an output or a copied value");
      return;
    }
    if (!options_.fuse && !ir::is_movement(node.op)) return start_kernel(n, "fusion is off");
    std::string refusal;
    if (can_inline(n, refusal)) return inline_into_all(n);
    if (ir::is_elementwise(node.op) && !over_budget(node) && try_join(n)) return;
    for (const UseIn& u : uses)
      plan_.kernels[u.kernel].ended = fmt::format("{}: {}", ir::name_of(node.op), refusal);
    start_kernel(n, std::string(ir::name_of(node.op)));
  }

  bool can_inline(NodeId n, std::string& refusal) {
    const Node& node = g_.node(n);
    const auto& uses = uses_[n];
    const bool movement = ir::is_movement(node.op);
    if (!movement && over_budget(node)) {
      refusal = fmt::format("{} elements are more than the memory budget of {}",
                            numel(node.shape).str(), options_.memory_budget);
      return false;
    }
    if (uses.size() > kMaxConsumers && !movement) {
      refusal = fmt::format("needed by {} kernels", uses.size());
      return false;
    }
    for (const UseIn& u : uses) {
      if (plan_.kernels[u.kernel].inlined.size() >= kMaxInlined) {
        refusal = fmt::format("the kernel holds {} operations already", kMaxInlined);
        return false;
      }
    }
    if (movement) return true;
    if (is_tiled(node)) return uses.size() == 1 && can_be_epilogue_of(n, uses[0], refusal);
    if (is_row_reduction(node)) {
      if (uses.size() != 1) {
        refusal = fmt::format("a reduction needed by {} kernels", uses.size());
        return false;
      }
      return can_be_row_of(n, uses[0], refusal);
    }
    return can_recompute(n, uses, refusal);
  }

  bool over_budget(const Node& node) const {
    return options_.memory_budget >= 0 && numel(node.shape).upper() > options_.memory_budget;
  }

  bool can_recompute(NodeId n, const std::vector<UseIn>& uses, std::string& refusal) const {
    const Node& node = g_.node(n);
    const int cost = cost_of(node.op);
    for (const UseIn& u : uses) {
      if (facts_.follows_product[n] &&
          (u.use.contraction_operand || plan_.kernels[u.kernel].has_reduction)) {
        refusal = "the end of a product, which the kernel that reads it cannot hold";
        return false;
      }
      if (u.use.contraction_operand && facts_.follows_row[n]) {
        refusal = "the end of a row kernel, which a contraction reads again and again";
        return false;
      }
      if (u.use.budget < cost) {
        refusal = "too costly to compute again for each tile of a contraction";
        return false;
      }
    }
    if (uses.size() == 1) return true;
    const bool light = cost <= 1 && std::all_of(node.inputs.begin(), node.inputs.end(),
                                                [&](NodeId in) { return is_leaf(in); });
    if (!light)
      refusal =
          fmt::format("needed by {} kernels and not cheap enough to compute in each", uses.size());
    return light;
  }

  bool is_leaf(NodeId n) const {
    while (ir::is_movement(g_.node(n).op)) n = g_.node(n).inputs[0];
    return is_source(g_.node(n).op) || facts_.forced[n];
  }

  // A contraction whose result is used once per element of the kernel, outside any reduction.
  bool can_be_epilogue_of(NodeId n, const UseIn& u, std::string& refusal) {
    KernelPlan& k = plan_.kernels[u.kernel];
    const Node& root = g_.node(k.root);
    const bool attention = g_.node(n).op == Op::attention;
    if (k.has_reduction)
      refusal = "the kernel has a reduction";
    else if (!is_writer_space(root) && !(ir::is_elementwise(root.op) || ir::is_movement(root.op)))
      refusal = "its consumer is not elementwise";
    else if (u.use.contraction_operand)
      refusal = "its consumer is a contraction";
    else if (!is_computed_once(n, u.use, space_of(k), attention))
      refusal = "its consumer indexes it in another way";
    else if (k.has_contraction && (attention || !has_room_for(k, n)))
      refusal = "the kernel has a contraction already";
    else {
      k.tiled.push_back(n);
      k.contractions += attention ? kMaxContractions : 1;
      return k.has_contraction = true;
    }
    return false;
  }

  // Each element of the contraction belongs to one element of the kernel.
  bool is_computed_once(NodeId n, const IndexUse& use, const Shape& space, bool attention) const {
    const Shape& shape = g_.node(n).shape;
    if (use.is_identity() && shape == space) return true;
    if (attention || !(numel(shape) == numel(space))) return false;
    size_t last = space.size();
    while (last > 1 && space[last - 1] == Sym(1)) --last;
    return use.is_rearrangement(last == 0 ? 0 : last - 1);
  }

  // Another accumulator of the same type, none of them with the root of a row or a writer's loop.
  bool has_room_for(const KernelPlan& k, NodeId n) const {
    return !k.tiled.empty() && k.contractions < kMaxContractions &&
           g_.node(k.tiled[0]).op == Op::contract && g_.node(k.tiled[0]).dtype == g_.node(n).dtype;
  }

  // A reduction inside a row kernel: computed once per row, its consumers run along the row.
  bool can_be_row_of(NodeId n, const UseIn& u, std::string& refusal) {
    KernelPlan& k = plan_.kernels[u.kernel];
    const Node& node = g_.node(n);
    const uint64_t rows = u.use.depends_on();
    if (k.has_contraction) {
      refusal = "the kernel has a contraction";
      if (!is_tiled(g_.node(k.root)) && !is_writer(g_.node(k.root).op))
        rows_beside_contractions_.emplace_back(u.kernel, n);
    } else if (u.use.contraction_operand)
      refusal = "its consumer is a contraction";
    else if (rows & kReduceBit)
      refusal = "its consumer reduces it again";
    else if (!u.use.is_single())
      refusal = "it is needed at several places of a row";
    else if (!chains_with(row_sets_[u.kernel], rows))
      refusal = "the kernel has rows along other axes";
    else if (serialises(k, rows, node))
      refusal = "one long row would leave nothing to run in parallel";
    else {
      row_sets_[u.kernel].push_back(rows);
      return k.has_reduction = true;
    }
    return false;
  }

  static bool chains_with(const std::vector<uint64_t>& sets, uint64_t rows) {
    return std::all_of(sets.begin(), sets.end(),
                       [&](uint64_t s) { return (s & rows) == s || (s & rows) == rows; });
  }

  bool serialises(const KernelPlan& k, uint64_t rows, const Node& node) const {
    const auto& space = space_of(k);
    double count = 1, all = 1;
    for (size_t d = 0; d < space.size(); ++d) {
      const double extent = static_cast<double>(std::max<int64_t>(space[d].upper(), 1));
      all *= extent;
      if (rows >> std::min<size_t>(d, 62) & 1) count *= extent;
    }
    if (count >= static_cast<double>(kMinRows) || count == all) return false;
    double length = 1;
    const Node& operand = g_.node(node.inputs[0]);
    if (node.op == Op::contract)
      length = static_cast<double>(operand.shape.back().upper());
    else
      for (int64_t d : node.ints)
        length *= static_cast<double>(operand.shape[static_cast<size_t>(d)].upper());
    return std::max(length, all / count) > static_cast<double>(kSmallRow);
  }

  bool is_writer_space(const Node& n) const { return n.op == Op::assign; }

  // The iteration space of a kernel: its root's shape; that of the written value for an assign.
  const Shape& space_of(const KernelPlan& k) const {
    const Node& root = g_.node(k.root);
    if (root.op == Op::assign) return g_.node(root.inputs[1]).shape;
    if (root.op == Op::scatter || root.op == Op::scatter_add) return g_.node(root.inputs[2]).shape;
    return root.shape;
  }

  // An elementwise node of the shape of a kernel that uses it element by element becomes one more
  // output of that kernel.
  bool try_join(NodeId n) {
    if (!options_.fuse || !options_.join || facts_.alone[n] || !ir::is_elementwise(g_.node(n).op))
      return false;
    auto& uses = uses_[n];
    for (const UseIn& u : uses) {
      KernelPlan& k = plan_.kernels[u.kernel];
      const Op root = g_.node(k.root).op;
      if (is_writer(root) || !u.use.is_identity() || (u.use.depends_on() & kReduceBit) ||
          u.use.contraction_operand)
        continue;
      if (g_.node(n).shape != space_of(k) || k.inlined.size() >= kMaxInlined ||
          k.outputs.size() >= kMaxOutputs)
        continue;
      const bool cyclic = std::any_of(uses.begin(), uses.end(), [&](const UseIn& other) {
        return other.kernel != u.kernel && reaches(other.kernel, u.kernel);
      });
      if (cyclic || is_copied_for(n, u.kernel)) continue;
      k.outputs.push_back(n);
      plan_.kernel_of[n] = u.kernel;
      add_edges_to_copies(n, u.kernel);
      for (const UseIn& other : uses) {
        if (other.kernel != u.kernel) add_edge(u.kernel, other.kernel);
      }
      propagate(n, {u});
      return true;
    }
    return false;
  }

  // True if the kernel waits for a copy of n, and so must not compute n.
  bool is_copied_for(NodeId n, uint32_t kernel) {
    const auto it = copied_by_.find(n);
    return it != copied_by_.end() &&
           std::any_of(it->second.begin(), it->second.end(),
                       [&](uint32_t copy) { return reaches(copy, kernel); });
  }

  // An elementwise output that nothing else reads joins a kernel of its shape that reads one of its
  // operands at the same places: connected elementwise operations are one kernel with several
  // results. It depends on no kernel that exists by now, since those have later nodes only. Not
  // with constants as what they share, which live on no device, and not where versions of a buffer
  // matter.
  bool try_join_sibling(NodeId n) {
    if (!options_.fuse || !options_.join || facts_.alone[n] ||
        !ir::is_elementwise(g_.node(n).op) || copied_by_.contains(n))
      return false;
    for (const NodeId operand : g_.node(n).inputs) {
      if (is_constant(g_.node(operand).op) || facts_.has_assigns) continue;
      for (const UseIn& u : uses_[operand]) {
        KernelPlan& k = plan_.kernels[u.kernel];
        const Node& root = g_.node(k.root);
        if (!ir::is_elementwise(root.op) || !u.use.is_identity() || u.use.contraction_operand ||
            (u.use.depends_on() & kReduceBit) || root.shape != g_.node(n).shape ||
            k.inlined.size() >= kMaxInlined || k.outputs.size() >= kMaxOutputs)
          continue;
        k.outputs.push_back(n);
        plan_.kernel_of[n] = u.kernel;
        propagate(n, {{u.kernel, IndexUse::identity(root.shape)}});
        return true;
      }
    }
    return false;
  }

  void start_kernel(NodeId n, std::string why) {
    const auto k = static_cast<uint32_t>(plan_.kernels.size());
    KernelPlan started;
    started.root = n;
    started.outputs = {n};
    started.why = std::move(why);
    plan_.kernels.push_back(std::move(started));
    row_sets_.emplace_back();
    edges_.emplace_back();
    plan_.kernel_of[n] = k;
    for (const UseIn& u : uses_[n]) add_edge(k, u.kernel);
    add_edges_to_copies(n, k);
    const Node& node = g_.node(n);
    KernelPlan& kernel = plan_.kernels[k];
    if (is_tiled(node)) {
      kernel.has_contraction = true;
      kernel.tiled.push_back(n);
      kernel.contractions += node.op == Op::attention ? kMaxContractions : 1;
    }
    if (is_row_reduction(node)) kernel.has_reduction = true;
    start_uses(n, k);
  }

  // The uses of a root's operands. Writers have iteration spaces of their own.
  void start_uses(NodeId n, uint32_t k) {
    const Node& node = g_.node(n);
    switch (node.op) {
      case Op::copy:
        copied_by_[node.inputs[0]].push_back(k);
        return;
      case Op::assign:
        return add_use(node.inputs[1], {k, IndexUse::identity(g_.node(node.inputs[1]).shape)});
      case Op::scatter:
      case Op::scatter_add: {
        // Two kernels in one step of the plan: the base is computed into the result, then rows are
        // written in order.
        plan_.kernels[k].has_contraction = true;  // keeps reductions out of the ordered loop
        add_use(node.inputs[0], {k, IndexUse::identity(node.shape)});
        IndexUse whole = IndexUse::identity(g_.node(node.inputs[2]).shape);
        add_use(node.inputs[2], {k, whole});
        IndexUse index = IndexUse::identity(g_.node(node.inputs[1]).shape);
        add_use(node.inputs[1], {k, index});
        return;
      }
      default:
        propagate(n, {{k, IndexUse::identity(node.shape)}});
    }
  }

  void inline_into_all(NodeId n) {
    for (const UseIn& u : uses_[n]) plan_.kernels[u.kernel].inlined.push_back(n);
    propagate(n, uses_[n]);
  }

  void propagate(NodeId n, const std::vector<UseIn>& uses) {
    const Node& node = g_.node(n);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      for (const UseIn& u : uses) {
        UseIn next{u.kernel, use_of_operand(g_, n, k, u.use)};
        if (is_tiled(node)) {
          next.use.contraction_operand = true;
          next.use.budget = std::min(next.use.budget, kContractionBudget);
        } else {
          next.use.budget -= cost_of(node.op);
        }
        add_use(node.inputs[k], std::move(next));
      }
    }
  }

  void add_use(NodeId n, UseIn use) {
    for (UseIn& u : uses_[n]) {
      if (u.kernel == use.kernel) return u.use.merge(use.use);
    }
    uses_[n].push_back(std::move(use));
  }

  void add_edges_to_copies(NodeId n, uint32_t kernel) {
    const auto it = copied_by_.find(n);
    if (it == copied_by_.end()) return;
    for (const uint32_t copy : it->second) add_edge(kernel, copy);
  }

  void add_edge(uint32_t from, uint32_t to) {
    auto& e = edges_[from];
    if (std::find(e.begin(), e.end(), to) == e.end()) e.push_back(to);
  }

  // True if kernel `from` must run before `to` as far as is known now. Bounded: gives up (true) on
  // large cones.
  bool reaches(uint32_t from, uint32_t to) {
    constexpr size_t kLargeCone = 64;
    seen_.resize(plan_.kernels.size(), 0);
    ++search_;
    std::vector<uint32_t> stack{from};
    seen_[from] = search_;
    for (size_t count = 1; !stack.empty();) {
      const uint32_t k = stack.back();
      stack.pop_back();
      for (const uint32_t next : edges_[k]) {
        if (next == to) return true;
        if (seen_[next] == search_) continue;
        if (++count > kLargeCone) return true;
        seen_[next] = search_;
        stack.push_back(next);
      }
    }
    return false;
  }

  // A row sequence and a contraction met in one elementwise kernel (matmul(a, b) + softmax(c)),
  // which took the contraction first: what depends on the reduction alone becomes a row kernel of
  // its own instead of falling apart.
  void store_rows_apart(const KernelPlan& k, NodeId reduction) {
    std::vector<NodeId> nodes(k.inlined);
    nodes.insert(nodes.end(), k.outputs.begin(), k.outputs.end());
    std::sort(nodes.begin(), nodes.end());
    std::map<NodeId, bool> rows, product;  // depends on the reduction, on a contraction
    const auto find = [](std::map<NodeId, bool>& m, NodeId n) { return m.contains(n) && m[n]; };
    for (NodeId n : nodes) {
      const Node& node = g_.node(n);
      product[n] = is_tiled(node);
      for (NodeId in : node.inputs) {
        rows[n] = rows[n] || in == reduction || find(rows, in);
        product[n] = product[n] || find(product, in);
      }
    }
    for (NodeId n : nodes) {
      if (!product[n]) continue;
      for (NodeId in : g_.node(n).inputs) {
        if (find(rows, in) && !find(product, in) && !ir::is_movement(g_.node(in).op))
          store_after_all_.push_back(in);
      }
    }
  }

  // An assign may read its own target only at the element that it writes.
  void find_overwritten_reads(NodeId n) {
    const Op op = g_.node(n).op;
    if (op != Op::input && op != Op::assign) return;
    for (const UseIn& u : uses_[n]) {
      const Node& root = g_.node(plan_.kernels[u.kernel].root);
      if (root.op != Op::assign || storage_of(g_, root.inputs[0]) != storage_of(g_, n)) continue;
      const bool whole = root.shape == g_.node(root.inputs[1]).shape;
      if (!whole || !u.use.is_identity() || g_.node(n).shape != root.shape)
        store_after_all_.push_back(root.inputs[1]);
    }
  }

  const ir::Graph& g_;
  const FuseOptions options_;
  FusePlan plan_;
  std::vector<NodeId> store_after_all_;
  std::vector<std::pair<uint32_t, NodeId>> rows_beside_contractions_;  // kernel, refused reduction
  FuseFacts facts_;
  std::vector<std::vector<UseIn>> uses_;
  std::map<NodeId, std::vector<uint32_t>> copied_by_;  // kernels that copy a node, which is no use
  std::vector<std::vector<uint64_t>> row_sets_;        // per kernel: the row axes of its reductions
  std::vector<std::vector<uint32_t>> edges_;           // kernel -> kernels that read it
  std::vector<uint32_t> seen_;                         // per kernel: the last search that met it
  uint32_t search_ = 0;
};

}  // namespace

ir::NodeId storage_of(const ir::Graph& graph, ir::NodeId n) {
  while (graph.node(n).op == Op::assign) n = graph.node(n).inputs[0];
  return n;
}

FusePlan fuse(const ir::Graph& graph, const FuseOptions& options) {
  std::vector<NodeId> store_first;
  for (;;) {
    Fuser fuser(graph, options);
    std::vector<NodeId> more = fuser.run(store_first);
    std::erase_if(more, [&](NodeId n) {
      return std::find(store_first.begin(), store_first.end(), n) != store_first.end();
    });
    if (more.empty()) return fuser.finish();
    store_first.insert(store_first.end(), more.begin(), more.end());
  }
}

}  // namespace ost
