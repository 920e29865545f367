// Recognising attention that can be done in tiles. No LLVM here.
#include <algorithm>

#include "plugins/cpu/compiler/attention_tiles.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kMostChannels = 512;

class Planner {
 public:
  Planner(const Facts& facts, FeatureSet isa, const Statement& statement)
      : f_(facts), a_(facts.a), k_(facts.k), isa_(isa), statement_(statement) {}

  std::optional<AttentionPlan> run() {
    if (statement_.carry || !has(isa_, "avx2") || !has(isa_, "fma") || !find_reductions() ||
        !find_channel() || !find_rows())
      return std::nullopt;
    plan_.scores.stores = statement_.stores;
    plan_.scores.outer = plan_.outer;
    choose_tile();
    return loads_fit() ? std::optional(std::move(plan_)) : std::nullopt;
  }

 private:
  // One attention, and in its score one contraction over a short axis.
  bool find_reductions() {
    Id contract = kNone;
    for (const Id v : f_.closure(statement_.stores)) {
      if (!kir::is_reduction(k_.op(v))) continue;
      if (f_.owner[v] != kNone) return false;
      if (k_.op(v) == OST_KIR_OP_ATTN && plan_.attention == kNone &&
          a_.deps(v) == statement_.parallel)
        plan_.attention = v;
      else if (k_.op(v) == OST_KIR_OP_CONTRACT && contract == kNone &&
               f_.order(v) == OST_KIR_ORDER_BLK256)
        contract = v;
      else
        return false;
    }
    if (plan_.attention == kNone || contract == kNone ||
        f_.needs(k_.src(plan_.attention, 2), contract))
      return false;
    if (!f_.needs(k_.src(plan_.attention, 0), contract) || k_.dtype(contract) != OST_DTYPE_F32)
      return false;
    plan_.scores.contracts = {{contract, k_.reduced_axis(contract), {}, {}}};
    plan_.scores.n = k_.reduced_axis(plan_.attention);
    return a_.max_extent(plan_.scores.contracts[0].k) <= plan_.scores.kc;
  }

  // The one axis that only the values have, contiguous in them and in the result.
  bool find_channel() {
    const Id v = plan_.attention;
    for (const Id axis : a_.axes()) {
      if (!(statement_.parallel & a_.bit(axis))) continue;
      if (f_.depends(k_.src(v, 0), axis) || f_.depends(k_.src(v, 1), axis)) continue;
      if (plan_.channel != kNone || !f_.depends(k_.src(v, 2), axis)) return false;
      plan_.channel = axis;
    }
    if (plan_.channel == kNone) return false;
    const auto n = a_.const_extent(plan_.channel);
    plan_.channels = n.value_or(0);
    return n && *n >= 8 && *n <= kMostChannels;
  }

  // Which operand of the contraction has the keys, and the axis of the queries, which only the
  // other one has.
  bool find_rows() {
    GemmContract& c = plan_.scores.contracts[0];
    const Id x = k_.src(c.id, 0), y = k_.src(c.id, 1), keys = plan_.scores.n;
    if (f_.depends(x, keys) == f_.depends(y, keys)) return false;
    c.a.value = f_.depends(x, keys) ? y : x;
    c.b.value = f_.depends(x, keys) ? x : y;
    for (const Id axis : a_.axes()) {
      if (!(statement_.parallel & a_.bit(axis)) || axis == plan_.channel) continue;
      const bool row = f_.depends(c.a.value, axis) && !f_.depends(c.b.value, axis) &&
                       !f_.depends(k_.src(plan_.attention, 2), axis);
      if (row && (plan_.scores.m == kNone || a_.max_extent(axis) > a_.max_extent(plan_.scores.m)))
        plan_.scores.m = axis;
    }
    for (const Id axis : a_.axes()) {
      if (!(statement_.parallel & a_.bit(axis)) || axis == plan_.channel || axis == plan_.scores.m)
        continue;
      plan_.outer.push_back(axis);
      if (f_.depends(c.a.value, axis)) c.a.outer.push_back(axis);
      if (f_.depends(c.b.value, axis)) c.b.outer.push_back(axis);
    }
    return plan_.scores.m != kNone;
  }

  void choose_tile() {
    const bool avx512 = has(isa_, "avx512bw") && has(isa_, "avx512vl") && has(isa_, "avx512dq");
    GemmPlan& g = plan_.scores;
    g.mr = 6;
    g.nr = avx512 ? 64 : 16;
    while (g.nr > 16 && plan_.channels <= g.nr / 2) g.nr /= 2;
    g.mc = g.mr;
    g.masked_tail = true;
    plan_.channels = (plan_.channels + g.nr - 1) / g.nr * g.nr;
    GemmContract& c = g.contracts[0];
    c.b.packed = true;
    c.b.along_k = unit(c.b.value, c.k);
    c.a.packed = !(k_.op(c.a.value) == OST_KIR_OP_LOAD && k_.mask(c.a.value) == kNone);
    c.a.along_k = unit(c.a.value, c.k);
  }

  bool unit(Id value, Id axis) const {
    for (const Id v : f_.closure({value}))
      if (k_.op(v) == OST_KIR_OP_LOAD && f_.depends(v, axis) &&
          !a_.stride(k_.src(v, 1), axis).is(1))
        return false;
    return true;
  }

  // Masked vectors are used at the ends of keys and channels: without AVX-512 only of four bytes
  // and contiguous.
  bool loads_fit() const {
    for (const Id v : f_.closure(statement_.stores)) {
      const uint16_t op = k_.op(v);
      if (op != OST_KIR_OP_LOAD && op != OST_KIR_OP_STORE) continue;
      if (f_.depends(v, plan_.channel) && !a_.stride(k_.src(v, 1), plan_.channel).is(1))
        return false;
    }
    return true;
  }

  const Facts& f_;
  const kir::Analysis& a_;
  const kir::Kernel& k_;
  FeatureSet isa_;
  const Statement& statement_;
  AttentionPlan plan_;
};

}  // namespace

std::optional<AttentionPlan> plan_attention(const Facts& facts, FeatureSet isa,
                                            const Statement& statement) {
  return Planner(facts, isa, statement).run();
}

}  // namespace ost_cpu
