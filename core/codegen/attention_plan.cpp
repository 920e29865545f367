#include "core/codegen/attention_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ost::codegen {

using kir::kNone;
using kir::Op;

int64_t AttentionShape::shared_floats() const {
  return std::max(
      {scores.buffers * scores.stage(), staged_keys * values_pitch(), scores.lanes_m * channels()});
}

// Weights; four numbers a row; two a lane and a flag a lane.
int64_t AttentionShape::local_bytes() const {
  return 4 * (shared_floats() + rows() * weights_pitch() + 4 * rows() + 2 * scores.lanes()) +
         scores.lanes() + 64;
}

namespace {

constexpr int64_t kAccumulators = 64;  // registers for the results of a lane
constexpr double kExp = 30;            // and what is around it, in multiply-adds
constexpr double kBarriers = 600;      // of a block of keys

double cost_of(const AttentionShape& s, const AttentionProblem& p, double busy_lanes) {
  const auto up = [](int64_t x, int64_t by) { return (x + by - 1) / by; };
  const auto scores = static_cast<double>(s.scores.tm * s.scores.tn);
  const auto outputs = static_cast<double>(s.scores.tm * s.channels_of_lane);
  const auto reads = static_cast<double>(s.scores.tm + s.scores.tn);
  const double lane = static_cast<double>(p.depth) * (scores + 0.5 * reads) + kExp * scores +
                      static_cast<double>(kAttentionBlock) *
                          (outputs + 0.5 * static_cast<double>(s.scores.tm + s.channels_of_lane)) +
                      kBarriers;
  const auto groups = static_cast<double>(up(p.rows, s.rows()) * up(p.channels, s.channels())) *
                      static_cast<double>(p.batch);
  return lane * std::max(1.0, groups * static_cast<double>(s.scores.lanes()) / busy_lanes);
}

// The largest stages that fit; false if none do.
bool complete(AttentionShape& s, const Target& target) {
  const int64_t lanes = s.scores.lanes();
  for (const int64_t bk : {16, 8, 4}) {
    for (const int64_t buffers : {2, 1}) {
      s.scores.bk = bk;
      s.scores.buffers = buffers;
      if (s.rows() * bk % lanes != 0 || kAttentionBlock * bk % lanes != 0) continue;
      s.staged_keys = 16;
      while (s.staged_keys > 8 && s.staged_keys * s.values_pitch() > buffers * s.scores.stage())
        s.staged_keys /= 2;
      if (s.staged_keys * s.channels() % lanes != 0) continue;
      if (s.local_bytes() <= target.local_bytes) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<AttentionShape> choose_attention(const AttentionProblem& problem,
                                               const Target& target, uint32_t lanes) {
  const int64_t most = std::bit_floor(std::min(target.max_lanes, 256u));
  std::optional<AttentionShape> best;
  double best_cost = HUGE_VAL;
  const auto consider = [&](int64_t all, int64_t tm, int64_t channels) {
    AttentionShape s;
    s.scores.lanes_n = all >= 64 ? 16 : 4;
    s.scores.lanes_m = all / s.scores.lanes_n;
    s.scores.tm = tm;
    s.scores.tn = kAttentionBlock / s.scores.lanes_n;
    s.channels_of_lane = channels;
    if (tm * channels * (problem.many_chunks ? 2 : 1) > kAccumulators) return;
    if (!complete(s, target)) return;
    const double cost = cost_of(s, problem, target.busy_lanes);
    if (cost < best_cost * 0.999) best = s, best_cost = cost;
  };
  for (int64_t all = lanes != 0 ? lanes : most; all >= std::min<int64_t>(most, 64); all /= 2) {
    for (const int64_t tm : {4, 2, 1})
      for (const int64_t channels : {16, 8, 4, 2, 1}) consider(all, tm, channels);
    if (lanes != 0) break;
  }
  return best;
}

namespace {

class Finder {
 public:
  Finder(const kir::Kernel& kernel, const kir::Scope& scope, const std::vector<kir::Range>& ranges,
         const Statement& statement)
      : k_(kernel), s_(scope), ranges_(ranges), statement_(statement) {}

  std::optional<AttentionPlan> run() {
    if (!find_reductions() || !choose_axes()) return std::nullopt;
    describe();
    return std::move(plan_);
  }

 private:
  // One attention at the points of the statement, and in its score one contraction.
  bool find_reductions() {
    for (const Value v : closure(k_, statement_.stores, false)) {
      const Op op = k_.op(v);
      if (op < Op::reduce || op > Op::attn) continue;
      const kir::Inst& inst = k_.insts[v];
      if (op == Op::attn && plan_.record == kNone && s_.depends[v] == statement_.parallel) {
        plan_.record = v;
        plan_.score = inst.src[0], plan_.mask = inst.src[1];
        plan_.values = inst.src[2], plan_.keys = inst.src[3];
      } else if (op == Op::contract && plan_.product.record == kNone &&
                 static_cast<kir::Order>(inst.aux >> 8) == kir::Order::blk256 &&
                 k_.dtype(v) == DType::f32) {
        plan_.product = {v, inst.src[0], inst.src[1]};
      } else {
        return false;
      }
    }
    if (plan_.record == kNone || plan_.product.record == kNone) return false;
    const std::vector<Value> always = closure(k_, statement_.stores, true);
    return std::ranges::binary_search(always, plan_.product.record) && needs(plan_.score) &&
           !needs(plan_.mask) && !needs(plan_.values);
  }
  bool needs(Value v) const {
    return std::ranges::binary_search(closure(k_, {v}, false), plan_.product.record);
  }

  std::vector<Value> axes_of(AxisSet set) const {
    std::vector<Value> out;
    for (size_t i = 0; i < s_.axes.size(); ++i)
      if (set & (AxisSet{1} << i)) out.push_back(s_.axes[i]);
    return out;
  }

  // Channels: the values alone have them. Rows: of what the keys are multiplied with alone.
  bool choose_axes() {
    TileContract& c = plan_.product;
    const AxisSet key = s_.depends[plan_.keys];
    if (s_.depends[c.a] & key) std::swap(c.a, c.b);
    if ((s_.depends[c.a] & key) != 0 || (s_.depends[c.b] & key) == 0) return false;
    const AxisSet scores = s_.depends[plan_.score] | s_.depends[plan_.mask];
    const AxisSet all = statement_.parallel, values = s_.depends[plan_.values];
    const AxisSet channels = all & values & ~scores;
    const AxisSet rows = all & s_.depends[c.a] & ~s_.depends[c.b] & ~values;
    if (channels == 0) return false;
    plan_.channels = axes_of(channels);
    plan_.rows = axes_of(rows);
    plan_.outer = axes_of(all & ~channels & ~rows);
    return true;
  }

  int64_t product(const std::vector<Value>& axes) const {
    int64_t n = 1;
    for (const Value axis : axes) n = std::min<int64_t>(n * typical(extent(axis)), 1 << 24);
    return n;
  }
  const kir::Range& extent(Value axis) const { return ranges_[k_.insts[axis].src[0]]; }

  void describe() {
    AttentionProblem& p = plan_.problem;
    p.rows = product(plan_.rows);
    p.channels = product(plan_.channels);
    p.batch = product(plan_.outer);
    p.keys = typical(extent(plan_.keys));
    p.depth = typical(extent(k_.insts[plan_.product.record].src[2]));
    p.many_chunks = extent(plan_.keys).hi > kAttentionChunk;
  }

  const kir::Kernel& k_;
  const kir::Scope& s_;
  const std::vector<kir::Range>& ranges_;
  const Statement& statement_;
  AttentionPlan plan_{};
};

}  // namespace

std::optional<AttentionPlan> find_attention(const kir::Kernel& kernel, const kir::Scope& scope,
                                            const std::vector<kir::Range>& ranges,
                                            const Statement& statement) {
  return Finder(kernel, scope, ranges, statement).run();
}

}  // namespace ost::codegen
