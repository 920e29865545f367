// Choosing the loops of a nest: which axis becomes the lanes, in which order the others run, what
// is a task.
#include <algorithm>
#include <bit>
#include <limits>

#include "plugins/cpu/compiler/nest.hpp"

namespace ost_cpu {

using kir::AxisSet;
using kir::Stride;

namespace {

constexpr int64_t kPointwiseChunk = 8192;

class Planner {
 public:
  Planner(const Facts& facts, FeatureSet isa, std::vector<Statement> parts)
      : f_(facts),
        a_(facts.a),
        k_(facts.k),
        avx512_(has(isa, "avx512bw") && has(isa, "avx512vl")),
        avx_(has(isa, "avx2")) {
    nest_.parts = std::move(parts);
    std::stable_sort(nest_.parts.begin(), nest_.parts.end(),
                     [](const Statement& x, const Statement& y) {
                       return std::popcount(x.parallel) < std::popcount(y.parallel);
                     });
    domain_ = nest_.parts.back().parallel;
    std::vector<Id> roots;
    for (const Statement& s : nest_.parts)
      roots.insert(roots.end(), s.stores.begin(), s.stores.end());
    needed_ = f_.closure(roots);
    for (const Id v : needed_)
      if (kir::is_reduction(k_.op(v))) reductions_.push_back(v);
  }

  Nest run() {
    nest_.vector = best_vector_axis();
    order_outer();
    choose_tasks();
    choose_width();
    if (nest_.vector == kNone) return std::move(nest_);
    nest_.cache = find_row_cache(f_, nest_.vector, needed_);
    if (nest_.chunk) nest_.stream = find_stream(f_, nest_.vector, needed_);
    if (nest_.stream)
      nest_.chunk = a_.max_extent(nest_.vector) <= 2048 ? Stream::kColumns / 2 : Stream::kColumns;
    return std::move(nest_);
  }

 private:
  bool in_domain(Id axis) const { return (domain_ & a_.bit(axis)) != 0; }

  // --- the vector axis
  Id best_vector_axis() const {
    Id best = kNone;
    int64_t best_score = 0;
    for (const Id axis : a_.axes()) {
      if (!in_domain(axis) || in_smaller_part(axis) || !may_be_vector(axis)) continue;
      const int64_t score = score_of(axis);
      if (best == kNone || score > best_score) best = axis, best_score = score;
    }
    return best;
  }

  bool in_smaller_part(Id axis) const {
    for (size_t i = 0; i + 1 < nest_.parts.size(); ++i)
      if (nest_.parts[i].parallel != domain_ && (nest_.parts[i].parallel & a_.bit(axis)))
        return true;
    return false;
  }

  bool may_be_vector(Id axis) const {
    for (const Id r : reductions_) {
      if (!f_.depends(r, axis)) {
        continue;
      }
      if (k_.op(r) == OST_KIR_OP_ATTN &&
          (f_.depends(k_.src(r, 0), axis) || f_.depends(k_.src(r, 1), axis)))
        return false;
      // A reduction that can use lanes of its own and reads contiguously along its own axis, but
      // not along this one.
      if (runs_across(r) && unit_loads(r, k_.reduced_axis(r)) > unit_loads(r, axis)) return false;
    }
    return true;
  }

  bool runs_across(Id r) const {
    return f_.order(r) == OST_KIR_ORDER_ANY || f_.order(r) == OST_KIR_ORDER_TREE;
  }

  int64_t unit_loads(Id r, Id axis) const {
    int64_t count = 0;
    for (const Id v : f_.closure({r}))
      if (k_.op(v) == OST_KIR_OP_LOAD && a_.stride(k_.src(v, 1), axis).is(1)) ++count;
    return count;
  }

  int64_t score_of(Id axis) const {
    int64_t score = 0;
    const AxisSet reduce_axes = a_.axes_of_role(OST_KIR_AXIS_REDUCE);
    for (const Id v : needed_) {
      const uint16_t op = k_.op(v);
      if ((op != OST_KIR_OP_LOAD && op != OST_KIR_OP_STORE) || !f_.depends(v, axis)) continue;
      const Stride s = a_.stride(k_.src(v, 1), axis);
      // What runs for each step of a reduction counts most.
      const int64_t weight = (a_.deps(v) & reduce_axes) ? 8 : op == OST_KIR_OP_STORE ? 3 : 2;
      score += s.is(1) ? weight : s.kind == Stride::constant && s.value == 0 ? 0 : -weight;
    }
    const auto extent = a_.const_extent(axis);
    if (extent && *extent < 8) score -= 32 * (8 - *extent);
    return score;
  }

  // --- the other axes
  // Axes of smaller parts and of reductions first, then the larger stride in the store outside.
  void order_outer() {
    struct Key {
      Id axis;
      int shared;
      int64_t stride;
    };
    std::vector<Key> keys;
    for (const Id axis : a_.axes()) {
      if (!in_domain(axis) || axis == nest_.vector) continue;
      Key key{axis, 0, 0};
      for (const Statement& s : nest_.parts) key.shared += (s.parallel & a_.bit(axis)) ? 1000 : 0;
      for (const Id r : reductions_)
        if (!is_vector_level(r) && f_.depends(r, axis)) ++key.shared;
      const Stride s = a_.stride(k_.src(nest_.parts.back().stores.front(), 1), axis);
      key.stride =
          s.kind == Stride::constant ? std::abs(s.value) : std::numeric_limits<int64_t>::max();
      keys.push_back(key);
    }
    std::stable_sort(keys.begin(), keys.end(), [](const Key& x, const Key& y) {
      return x.shared != y.shared ? x.shared > y.shared : x.stride > y.stride;
    });
    for (const Key& key : keys) nest_.outer.push_back(key.axis);
  }

  bool is_vector_level(Id r) const { return nest_.vector != kNone && f_.depends(r, nest_.vector); }

  // How many outer axes must be bound before the value can be computed.
  unsigned level_of(AxisSet deps) const {
    unsigned level = 0;
    for (unsigned i = 0; i < nest_.outer.size(); ++i)
      if (deps & a_.bit(nest_.outer[i])) level = i + 1;
    return level;
  }

  // A task covers as few outer axes as keep every reduction from being computed by two tasks.
  void choose_tasks() {
    auto prefix = static_cast<unsigned>(nest_.outer.size());
    bool shared = false;
    for (const Id r : reductions_) {
      if (is_vector_level(r) || (a_.deps(r) & a_.axes_of_role(OST_KIR_AXIS_REDUCE))) continue;
      prefix = std::min(prefix, level_of(a_.deps(r)));
      shared = true;
    }
    for (size_t i = 0; i + 1 < nest_.parts.size(); ++i) {
      if (nest_.parts[i].parallel == domain_) continue;
      prefix = std::min(prefix, level_of(nest_.parts[i].parallel));
      shared = true;
    }
    nest_.prefix = prefix;
    if (!shared && nest_.vector != kNone) nest_.chunk = kPointwiseChunk;
  }

  // --- width
  // Enough bytes for two or so registers per value, so that independent work hides latency; four
  // where a reduction runs along the lanes.
  void choose_width() {
    if (nest_.vector == kNone) return;
    unsigned widest = 1;
    bool narrow_memory = false, along = false;
    for (const Id v : needed_) {
      const uint16_t op = k_.op(v);
      if (!f_.depends(v, nest_.vector) || op == OST_KIR_OP_AXIS) continue;
      if (k_.dtype(v) != OST_DTYPE_I64) widest = std::max(widest, kir::size_of(k_.dtype(v)));
      if ((op == OST_KIR_OP_LOAD || op == OST_KIR_OP_STORE) && kir::size_of(k_.dtype(v)) < 4)
        narrow_memory = true;
      if (op == OST_KIR_OP_LOAD && !a_.stride(k_.src(v, 1), nest_.vector).is(1))
        narrow_memory = true;
      if (kir::is_reduction(op)) along = true;
    }
    const unsigned bytes = avx512_ ? (along ? 256 : 128) : avx_ ? (along ? 128 : 64) : 64;
    nest_.width = std::clamp(bytes / widest, 16u, 64u);
    const auto extent = a_.const_extent(nest_.vector);
    while (extent && nest_.width > 16 && *extent <= nest_.width / 2) nest_.width /= 2;
    nest_.masked_tail = avx512_ || (avx_ && !narrow_memory);
    if (along && nest_.chunk) nest_.chunk = nest_.width;
  }

  const Facts& f_;
  const kir::Analysis& a_;
  const kir::Kernel& k_;
  bool avx512_, avx_;
  AxisSet domain_ = 0;
  std::vector<Id> needed_, reductions_;
  Nest nest_;
};

}  // namespace

std::vector<Id> operands_of(const kir::Kernel& k, const std::vector<Id>& stores) {
  std::vector<Id> ids;
  for (const Id s : stores)
    for (unsigned i = 1; i < k[s].nsrc; ++i) ids.push_back(k.src(s, i));
  return ids;
}

std::vector<Statement> statements_of(const Facts& f) {
  const AxisSet carry_axes = f.a.axes_of_role(OST_KIR_AXIS_CARRY);
  std::vector<Statement> all;
  for (const Id s : f.a.stores()) {
    const AxisSet axes = f.a.deps(s), carry = axes & carry_axes;
    // Inside of carry loops only neighbours may be gathered: later ones see what earlier ones
    // stored.
    const auto same = [&](const Statement& t) { return (t.parallel | t.carry) == axes; };
    const auto it = carry ? (!all.empty() && same(all.back()) ? all.end() - 1 : all.end())
                          : std::find_if(all.begin(), all.end(), same);
    if (it != all.end())
      it->stores.push_back(s);
    else
      all.push_back({axes & ~carry_axes, carry, {s}});
  }
  return all;
}

Nest plan_nest(const Facts& facts, FeatureSet isa, std::vector<Statement> parts) {
  return Planner(facts, isa, std::move(parts)).run();
}

namespace {

bool share_reduction(const Facts& f, const Statement& x, const Statement& y) {
  const auto of_y = f.closure(y.stores);
  for (const Id v : f.closure(x.stores))
    if (kir::is_reduction(f.k.op(v)) && std::binary_search(of_y.begin(), of_y.end(), v))
      return true;
  return false;
}

}  // namespace

// Largest statements first; a smaller one joins a nest whose axes contain its own if they share a
// reduction and the parts of the nest stay a chain.
std::vector<Nest> plan_nests(const Facts& f, FeatureSet isa, std::vector<Statement> statements) {
  std::stable_sort(statements.begin(), statements.end(),
                   [](const Statement& x, const Statement& y) {
                     return std::popcount(x.parallel) > std::popcount(y.parallel);
                   });
  std::vector<std::vector<Statement>> groups;
  for (Statement& s : statements) {
    const auto fits = [&](const std::vector<Statement>& group) {
      return (s.parallel & ~group.back().parallel) == 0 && share_reduction(f, s, group.front());
    };
    const auto it = std::find_if(groups.begin(), groups.end(), fits);
    if (it != groups.end())
      it->push_back(std::move(s));
    else
      groups.push_back({std::move(s)});
  }
  std::vector<Nest> nests;
  for (auto& group : groups) nests.push_back(plan_nest(f, isa, std::move(group)));
  return nests;
}

}  // namespace ost_cpu
