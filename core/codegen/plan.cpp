#include "core/codegen/plan.hpp"

#include <algorithm>
#include <bit>

#include "core/kir/range.hpp"

namespace ost::codegen {

using kir::kNone;
using kir::Op;
using kir::Value;

namespace {

constexpr uint32_t kRowLanes = 64;  // those of the order `tree`
constexpr uint32_t kPointLanes = 128;
constexpr uint32_t kMostSlices = 16;
constexpr uint32_t kScratchOfLane = 64;  // bytes of local memory: two arrays of a few types
constexpr int64_t kChunk = 4096;         // of the order `tree`
constexpr uint32_t kTileLanes = 8;       // fewer do not share operands
constexpr int64_t kLongRow = 64;         // shorter ones are left to one lane

bool is_reduction(Op op) { return op >= Op::reduce && op <= Op::attn; }

class Planner {
 public:
  Planner(const kir::Kernel& kernel, const kir::Scope& scope, const Target& target)
      : k_(kernel), scope_(scope), target_(target), ranges_(kir::ranges_of(kernel)) {
    for (size_t i = 0; i < scope_.axes.size(); ++i) {
      const auto role = static_cast<kir::Role>(k_.insts[scope_.axes[i]].aux);
      if (role == kir::Role::carry) carry_ |= AxisSet{1} << i;
      if (role == kir::Role::reduce) reduce_ |= AxisSet{1} << i;
    }
  }

  Plan run() {
    Plan plan;
    std::vector<Statement> statements = find_statements();
    if (carry_ != 0) {
      plan.lanes = std::min(target_.max_lanes, kRowLanes);
      plan.statements = std::move(statements);
      return plan;
    }
    plan.nests = group(std::move(statements));
    for (Nest& nest : plan.nests) choose_mode(nest);
    plan.lanes = choose_lanes(plan.nests);
    return plan;
  }

 private:
  // One size of groups for all nests: what rows need, else what the first tile would like.
  uint32_t choose_lanes(std::vector<Nest>& nests) const {
    const auto floor = [&](uint32_t lanes) {
      return std::bit_floor(std::min(target_.max_lanes, lanes));
    };
    uint32_t lanes = 0;
    for (const Nest& nest : nests)
      if (nest.mode == Nest::Mode::rows)
        lanes = std::max(lanes, floor(kRowLanes * slices_of(nest)));
    for (Nest& nest : nests)
      if (nest.mode == Nest::Mode::rows) nest.row_lanes = lanes_of_row(nest, lanes);
    const auto choose = [&](Nest& nest, auto& plan, const auto& shape, auto lanes_of) {
      if (!shape) return plan.reset();
      nest.mode = Nest::Mode::tiles;
      plan->shape = *shape;
      lanes = static_cast<uint32_t>(lanes_of(*shape));
    };
    for (Nest& nest : nests) {
      if (nest.tile) nest.tile->skinny = choose_skinny(nest.tile->problem, target_, lanes);
      if (nest.tile && nest.tile->skinny) {
        nest.mode = Nest::Mode::tiles;
        lanes = static_cast<uint32_t>(nest.tile->skinny->lanes());
      } else if (nest.tile) {
        choose(nest, nest.tile, choose_tile(nest.tile->problem, target_, lanes),
               [](const TileShape& s) { return s.lanes(); });
      }
      if (nest.attention)
        choose(nest, nest.attention, choose_attention(nest.attention->problem, target_, lanes),
               [](const AttentionShape& s) { return s.scores.lanes(); });
    }
    return lanes != 0 ? lanes : floor(kPointLanes);
  }

  std::vector<Value> shared_reductions(const Nest& nest) const {
    std::vector<Value> stores;
    for (const Statement& s : nest.parts)
      stores.insert(stores.end(), s.stores.begin(), s.stores.end());
    std::vector<Value> out = reductions_of(stores);
    std::erase_if(out, [&](Value r) { return (scope_.depends[r] & reduce_) != 0; });
    return out;
  }
  const kir::Range& reduced_extent(Value r) const {
    return ranges_[k_.insts[k_.insts[r].src[k_.insts[r].nsrc - 1]].src[0]];
  }
  int64_t typical_points(AxisSet set) const {
    int64_t n = 1;
    for (size_t i = 0; i < scope_.axes.size(); ++i)
      if (set & (AxisSet{1} << i))
        n = std::min<int64_t>(n * typical(ranges_[k_.insts[scope_.axes[i]].src[0]]), 1 << 24);
    return n;
  }

  // 64 lanes for each chunk of a long row, as many as it has, until the device is busy.
  uint32_t slices_of(const Nest& nest) const {
    int64_t longest = 0;
    for (const Value r : shared_reductions(nest)) longest = std::max(longest, reduced_extent(r).hi);
    const int64_t rows = typical_points(nest.levels.front());
    uint32_t slices = 1;
    const uint32_t fits = target_.local_bytes / kScratchOfLane / kRowLanes;
    while (slices < std::min(kMostSlices, fits) && int64_t{slices} * kChunk < longest &&
           rows * kRowLanes * slices < target_.busy_lanes)
      slices *= 2;
    return slices;
  }

  // Short rows share a group.
  int64_t lanes_of_row(const Nest& nest, int64_t lanes) const {
    int64_t longest = 1;
    for (const Value r : shared_reductions(nest)) longest = std::max(longest, reduced_extent(r).hi);
    AxisSet inner = nest.domain & ~nest.levels.front();
    for (const Statement& s : nest.parts) inner |= s.parallel & ~nest.levels.front();
    int64_t points = 1;
    for (size_t i = 0; i < scope_.axes.size(); ++i)
      if (inner & (AxisSet{1} << i))
        points = std::min<int64_t>(
            points * std::clamp<int64_t>(ranges_[k_.insts[scope_.axes[i]].src[0]].hi, 1, 4096),
            4096);
    longest = std::max(longest, points);
    if (longest > kRowLanes / 2) return slices_of(nest) > 1 ? lanes : std::min<int64_t>(lanes, 64);
    return std::min<int64_t>(
        lanes,
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(longest, 2)))));
  }

  std::vector<Statement> find_statements() const {
    std::vector<Statement> all;
    for (Value v = 0; v < k_.insts.size(); ++v) {
      if (k_.op(v) != Op::store) continue;
      const AxisSet axes = scope_.depends[v], carry = axes & carry_;
      const auto same = [&](const Statement& s) { return (s.parallel | s.carry) == axes; };
      // Under carry axes only neighbours are one statement: later ones see what earlier ones store.
      const auto it = carry_ == 0                        ? std::ranges::find_if(all, same)
                      : !all.empty() && same(all.back()) ? all.end() - 1
                                                         : all.end();
      if (it != all.end())
        it->stores.push_back(v);
      else
        all.push_back({axes & ~carry_, carry, {v}});
    }
    return all;
  }

  std::vector<Value> reductions_of(const std::vector<Value>& stores) const {
    std::vector<Value> out;
    for (const Value v : closure(k_, stores, false))
      if (is_reduction(k_.op(v))) out.push_back(v);
    return out;
  }

  // Largest first; a smaller statement joins a nest whose axes contain its own if they share a
  // reduction.
  std::vector<Nest> group(std::vector<Statement> statements) const {
    std::ranges::stable_sort(statements, [](const Statement& a, const Statement& b) {
      return std::popcount(a.parallel) > std::popcount(b.parallel);
    });
    std::vector<Nest> nests;
    for (Statement& s : statements) {
      const std::vector<Value> mine = reductions_of(s.stores);
      const auto fits = [&](const Nest& nest) {
        if ((s.parallel & ~nest.parts.back().parallel) != 0) return false;
        const std::vector<Value> theirs = reductions_of(nest.parts.front().stores);
        return std::ranges::any_of(mine,
                                   [&](Value v) { return std::ranges::binary_search(theirs, v); });
      };
      const auto it = std::ranges::find_if(nests, fits);
      if (it == nests.end()) {
        nests.emplace_back().domain = s.parallel;
        nests.back().parts.push_back(std::move(s));
      } else {
        it->parts.push_back(std::move(s));
      }
    }
    for (Nest& nest : nests) std::ranges::reverse(nest.parts);  // fewest axes first
    return nests;
  }

  // Worth the lanes of a group: an order that has lanes of its own, and enough elements.
  bool is_row(Value r) const {
    const Value axis = k_.insts[r].src[k_.insts[r].nsrc - 1];
    if (ranges_[k_.insts[axis].src[0]].hi < kLongRow) return false;
    if (k_.op(r) == Op::argreduce) return true;
    const auto order = static_cast<kir::Order>(k_.insts[r].aux >> 8);
    return order == kir::Order::tree || order == kir::Order::any;
  }

  void choose_mode(Nest& nest) const {
    std::vector<AxisSet> levels;
    bool rows = target_.max_lanes == 1;
    std::vector<Value> stores;
    for (const Statement& s : nest.parts) {
      stores.insert(stores.end(), s.stores.begin(), s.stores.end());
      if (s.parallel != nest.domain) levels.push_back(s.parallel), rows = true;
    }
    bool any_reduction = false;
    for (const Value r : reductions_of(stores)) {
      const AxisSet axes = scope_.depends[r];
      if ((axes & reduce_) != 0) continue;  // within another one
      any_reduction = true;
      if (axes != nest.domain || is_row(r)) rows = true;
      levels.push_back(axes);
    }
    if (!rows && target_.max_lanes >= kTileLanes && nest.parts.size() == 1) {
      nest.tile = find_tiles(k_, scope_, ranges_, nest.parts.front());
      if (!nest.tile) nest.attention = find_attention(k_, scope_, ranges_, nest.parts.front());
    }
    if (!rows || (target_.max_lanes == 1 && !any_reduction && levels.empty())) return;
    std::ranges::stable_sort(levels, {}, [](AxisSet s) { return std::popcount(s); });
    nest.mode = Nest::Mode::rows;
    for (const AxisSet s : levels) {
      const AxisSet last = nest.levels.empty() ? AxisSet{0} : nest.levels.back();
      const bool chains = nest.levels.empty() || (last & ~s) == 0;
      if (chains && (nest.levels.empty() || s != last)) nest.levels.push_back(s);
    }
  }

  const kir::Kernel& k_;
  const kir::Scope& scope_;
  const Target& target_;
  AxisSet carry_ = 0, reduce_ = 0;
  std::vector<kir::Range> ranges_;
};

}  // namespace

Plan make_plan(const kir::Kernel& kernel, const kir::Scope& scope, const Target& target) {
  return Planner(kernel, scope, target).run();
}

std::vector<Value> closure(const kir::Kernel& kernel, const std::vector<Value>& roots,
                           bool lazily) {
  std::vector<char> needed(kernel.insts.size(), 0);
  for (const Value v : roots) needed[v] = 1;
  std::vector<Value> out;
  for (Value v = static_cast<Value>(kernel.insts.size()); v-- > 0;) {
    if (!needed[v]) continue;
    out.push_back(v);
    const kir::Inst& inst = kernel.insts[v];
    const bool rare = lazily && kernel.op(v) == Op::where && inst.aux != 0;
    for (uint32_t i = 0; i < inst.nsrc; ++i)
      if (!(rare && i == 1)) needed[inst.src[i]] = 1;
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace ost::codegen
