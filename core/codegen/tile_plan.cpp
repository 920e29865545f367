#include "core/codegen/tile_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ost::codegen {

using kir::kNone;
using kir::Op;

namespace {

constexpr int64_t kChain = 256;
constexpr int64_t kShortContraction = 8;  // not worth the staging
constexpr int64_t kFewRows = 4;
constexpr int64_t kTypicalExtent = 512;  // of a variable that may be larger

// What things cost a lane, in multiply-adds. Only ratios matter.
constexpr double kLocalRead = 1.5;  // up to four neighbours
constexpr double kStaged = 3;       // an element from memory to local memory
constexpr double kBarrier = 24;
constexpr int64_t kAccumulators = 64;  // registers of four bytes for the results of a lane

// Estimated time of a step of the contraction over the whole result.
double cost_of(const TileShape& s, const TileProblem& p, double busy_lanes) {
  const auto ceil_div = [](int64_t x, int64_t by) { return (x + by - 1) / by; };
  const auto groups = static_cast<double>(ceil_div(p.m, s.bm()) * ceil_div(p.n, s.bn())) *
                      static_cast<double>(p.batch);
  const auto words = static_cast<double>(p.element_bytes) / 4;
  const double reads = static_cast<double>(ceil_div(s.tm, 4) + ceil_div(s.tn, 4)) * words;
  const double lane =
      static_cast<double>(s.tm * s.tn) * words + kLocalRead * reads +
      kStaged * static_cast<double>(s.bm() + s.bn()) / static_cast<double>(s.lanes()) +
      kBarrier * static_cast<double>(s.buffers == 1 ? 2 : 1) / static_cast<double>(s.bk);
  const double turns = std::max(1.0, groups * static_cast<double>(s.lanes()) / busy_lanes);
  return turns * lane * static_cast<double>(p.contracts);
}

// Completes a shape so that it fits; false if it does not.
bool complete(TileShape& s, const TileProblem& p, const Target& target) {
  if (s.tm * s.tn * p.contracts * p.element_bytes / 4 > kAccumulators) return false;
  const int64_t slab = s.lanes_m * s.bn() * p.contracts;
  const int64_t fits = target.local_bytes / p.element_bytes;
  for (const int64_t buffers : {2, 1}) {
    for (const int64_t bk : {16, 8, 4}) {
      if (s.tm * s.tn > 16 && bk > 8) continue;
      if (s.bm() * bk % s.lanes() != 0 || s.bn() * bk % s.lanes() != 0) continue;
      s.bk = bk;
      s.buffers = buffers;
      if (std::max(buffers * s.stage(), slab) <= fits) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<TileShape> choose_tile(const TileProblem& problem, const Target& target,
                                     uint32_t lanes) {
  const int64_t most = std::bit_floor(std::min(target.max_lanes, 256u));
  std::optional<TileShape> best;
  double best_cost = HUGE_VAL;
  const auto consider = [&](int64_t all, int64_t lanes_m, int64_t tm, int64_t tn) {
    TileShape s{lanes_m, all / lanes_m, tm, tn};
    if (!complete(s, problem, target)) return;
    const double cost = cost_of(s, problem, target.busy_lanes);
    if (cost < best_cost * 0.999) best = s, best_cost = cost;
  };
  for (int64_t all = lanes != 0 ? lanes : most; all >= std::min<int64_t>(most, 64); all /= 2) {
    for (int64_t lanes_m = 1; lanes_m * lanes_m <= all; lanes_m *= 2)
      for (const int64_t tm : {8, 4, 2, 1})
        for (const int64_t tn : {8, 4, 2, 1}) consider(all, lanes_m, tm, tn);
    if (lanes != 0) break;
  }
  return best;
}

// As many chains at once as the contraction has, until the device is busy.
std::optional<SkinnyShape> choose_skinny(const TileProblem& problem, const Target& target,
                                         uint32_t lanes) {
  if (problem.most_rows > kFewRows || !problem.columns_in_memory || !problem.many_chains)
    return std::nullopt;
  const int64_t most = lanes != 0 ? lanes : std::bit_floor(std::min(target.max_lanes, 512u));
  SkinnyShape s;
  s.rows = problem.most_rows;
  s.columns = std::min<int64_t>(64, std::max<int64_t>(most / 4, 1));
  const int64_t groups = (problem.n + s.columns - 1) / s.columns * problem.batch;
  const auto fits = [&](int64_t chains) {
    return s.columns * chains <= most &&
           chains * s.columns * s.rows * problem.contracts * problem.element_bytes <=
               target.local_bytes;
  };
  while (fits(2 * s.chains_at_once) && 2 * s.chains_at_once * kChain <= problem.k &&
         (lanes != 0 || groups * s.lanes() < target.busy_lanes))
    s.chains_at_once *= 2;
  if (s.chains_at_once == 1 || (lanes != 0 && s.lanes() != lanes)) return std::nullopt;
  return s;
}

int64_t typical(const kir::Range& range) {
  if (range.lo == range.hi) return std::max<int64_t>(range.hi, 1);
  return std::clamp<int64_t>(range.hi, 1, kTypicalExtent);
}

std::optional<int64_t> Strides::of(Value index, Value axis) const {
  if (index == axis) return 1;
  if (!depends(index, axis)) return 0;
  const kir::Inst& inst = k_.insts[index];
  const auto constant = [&](Value v) -> std::optional<int64_t> {
    if (k_.op(v) != Op::constant) return std::nullopt;
    return static_cast<int64_t>(k_.insts[v].imm);
  };
  switch (k_.op(index)) {
    case Op::add:
    case Op::sub: {
      const auto a = of(inst.src[0], axis), b = of(inst.src[1], axis);
      if (!a || !b) return std::nullopt;
      return k_.op(index) == Op::add ? *a + *b : *a - *b;
    }
    case Op::mul:
      for (const int side : {0, 1}) {
        const auto factor = constant(inst.src[side]), of_rest = of(inst.src[1 - side], axis);
        if (factor && of_rest && std::abs(*factor) < (1 << 30) && std::abs(*of_rest) < (1 << 30))
          return *factor * *of_rest;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool Strides::unit(Value expression, Value axis) const {
  for (const Value v : closure(k_, {expression}, false))
    if (k_.op(v) == Op::load && depends(v, axis) && of(k_.insts[v].src[1], axis) != 1) return false;
  return true;
}

namespace {

class Finder {
 public:
  Finder(const kir::Kernel& kernel, const kir::Scope& scope, const std::vector<kir::Range>& ranges,
         const Statement& statement)
      : k_(kernel), s_(scope), ranges_(ranges), statement_(statement) {}

  std::optional<TilePlan> run() {
    if (!find_contracts() || !choose_axes()) return std::nullopt;
    describe();
    return std::move(plan_);
  }

 private:
  bool is_reduction(Value v) const { return k_.op(v) >= Op::reduce && k_.op(v) <= Op::attn; }
  const kir::Range& extent(Value axis) const { return ranges_[k_.insts[axis].src[0]]; }

  // All reductions are contractions at each point of the statement; none feeds another one, and
  // none is left to a branch that is rarely taken.
  bool find_contracts() {
    for (const Value v : closure(k_, statement_.stores, false)) {
      if (!is_reduction(v)) continue;
      const kir::Inst& inst = k_.insts[v];
      const auto order = static_cast<kir::Order>(inst.aux >> 8);
      if (k_.op(v) != Op::contract || s_.depends[v] != statement_.parallel) return false;
      if (order == kir::Order::tree || extent(inst.src[2]).hi < kShortContraction) return false;
      if (k_.dtype(v) != (plan_.contracts.empty() ? k_.dtype(v) : first_type())) return false;
      for (const Value operand : closure(k_, {inst.src[0], inst.src[1]}, false))
        if (is_reduction(operand)) return false;
      plan_.contracts.push_back({v, inst.src[0], inst.src[1]});
    }
    const std::vector<Value> always = closure(k_, statement_.stores, true);
    return !plan_.contracts.empty() &&
           std::ranges::all_of(plan_.contracts, [&](const TileContract& c) {
             return std::ranges::binary_search(always, c.record);
           });
  }
  DType first_type() const { return k_.dtype(plan_.contracts.front().record); }

  std::vector<Value> axes_of(AxisSet set) const {
    std::vector<Value> out;
    for (size_t i = 0; i < s_.axes.size(); ++i)
      if (set & (AxisSet{1} << i)) out.push_back(s_.axes[i]);
    return out;
  }

  // Columns are the operand whose last axis is that of the result in memory.
  bool choose_axes() {
    TileContract& first = plan_.contracts.front();
    AxisSet a = s_.depends[first.a] & statement_.parallel;
    AxisSet b = s_.depends[first.b] & statement_.parallel;
    const AxisSet both = a & b;
    a &= ~both, b &= ~both;
    const Strides strides(k_, s_);
    const Value index = k_.insts[statement_.stores.front()].src[1];
    const bool along_a =
        std::ranges::any_of(axes_of(a), [&](Value axis) { return strides.of(index, axis) == 1; });
    if (b == 0 || (along_a && a != 0)) {
      std::swap(a, b);
      for (TileContract& c : plan_.contracts) std::swap(c.a, c.b);
    }
    if (b == 0) return false;
    for (TileContract& c : plan_.contracts) {
      const auto fits = [&](Value x, Value y) {
        return (s_.depends[x] & b) == 0 && (s_.depends[y] & a) == 0;
      };
      if (!fits(c.a, c.b)) std::swap(c.a, c.b);
      if (!fits(c.a, c.b)) return false;
    }
    plan_.batch = axes_of(both);
    plan_.m = axes_of(a);
    plan_.n = axes_of(b);
    return true;
  }

  int64_t product(const std::vector<Value>& axes) const {
    int64_t n = 1;
    for (const Value axis : axes) n = std::min<int64_t>(n * typical(extent(axis)), 1 << 24);
    return n;
  }

  void describe() {
    TileProblem& p = plan_.problem;
    p.batch = product(plan_.batch);
    p.m = product(plan_.m);
    p.n = product(plan_.n);
    p.contracts = static_cast<int64_t>(plan_.contracts.size());
    p.element_bytes = size_of(first_type());
    p.most_rows = 1;
    for (const Value axis : plan_.m)
      p.most_rows =
          extent(axis).hi > 64 ? INT64_MAX : std::min<int64_t>(p.most_rows, 64) * extent(axis).hi;
    const Strides strides(k_, s_);
    p.columns_in_memory = std::ranges::all_of(
        plan_.contracts, [&](const TileContract& c) { return strides.unit(c.b, plan_.n.back()); });
    for (const TileContract& c : plan_.contracts) {
      const kir::Range& k = extent(k_.insts[c.record].src[2]);
      p.k = std::max(p.k, typical(k));
      p.many_chains = p.many_chains || (is_float(first_type()) && k.hi > kChain);
    }
  }

  const kir::Kernel& k_;
  const kir::Scope& s_;
  const std::vector<kir::Range>& ranges_;
  const Statement& statement_;
  TilePlan plan_;
};

}  // namespace

std::optional<TilePlan> find_tiles(const kir::Kernel& kernel, const kir::Scope& scope,
                                   const std::vector<kir::Range>& ranges,
                                   const Statement& statement) {
  return Finder(kernel, scope, ranges, statement).run();
}

}  // namespace ost::codegen
