// Recognising matrix products, and choosing tile sizes and what to pack. No LLVM here.
#include <algorithm>
#include <cmath>
#include <span>

#include "plugins/cpu/compiler/gemm.hpp"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kSmallRows = 128;  // fewer: B is read in place if it can be
constexpr int64_t kRowsOfTask = 96;

class Planner {
 public:
  Planner(const Facts& facts, FeatureSet isa, const Statement& statement)
      : f_(facts), a_(facts.a), k_(facts.k), isa_(isa), statement_(statement) {}

  std::optional<GemmPlan> run() {
    plan_.stores = statement_.stores;
    if (statement_.carry || !find_contracts() || !choose_axes()) return std::nullopt;
    for (GemmContract& c : plan_.contracts)
      if (!assign_operands(c)) return std::nullopt;
    choose_tile();
    for (GemmContract& c : plan_.contracts) choose_packing(c);
    if (is_stream()) return std::nullopt;
    return std::move(plan_);
  }

 private:
  // Every reduction of the statement is a contraction over the statement's axes, and they do not
  // feed each other.
  bool find_contracts() {
    for (const Id v : f_.closure(plan_.stores)) {
      if (!kir::is_reduction(k_.op(v))) continue;
      if (k_.op(v) != OST_KIR_OP_CONTRACT || a_.deps(v) != statement_.parallel ||
          f_.owner[v] != kNone)
        return false;
      if (kir::is_float(k_.dtype(v)) && k_.order(v) != OST_KIR_ORDER_BLK256) return false;
      GemmContract c;
      c.id = v;
      c.k = k_.reduced_axis(v);
      plan_.contracts.push_back(c);
    }
    if (plan_.contracts.empty()) return false;
    for (const GemmContract& c : plan_.contracts) {
      if (k_.dtype(c.id) != k_.dtype(plan_.contracts[0].id)) return false;
      for (const GemmContract& d : plan_.contracts)
        if (c.id != d.id && f_.needs(c.id, d.id)) return false;
    }
    return true;
  }

  bool in_both(Id axis, Id contract) const {
    return f_.depends(k_.src(contract, 0), axis) && f_.depends(k_.src(contract, 1), axis);
  }

  // n: the contiguous axis of the result, of one operand only. m: the largest axis of the other one
  // only.
  bool choose_axes() {
    const Id first = plan_.contracts[0].id;
    for (const Id axis : a_.axes()) {
      if (!(statement_.parallel & a_.bit(axis)) || in_both(axis, first)) continue;
      if (a_.stride(k_.src(plan_.stores[0], 1), axis).is(1) &&
          (plan_.n == kNone || a_.max_extent(axis) > a_.max_extent(plan_.n)))
        plan_.n = axis;
    }
    if (plan_.n == kNone) return false;
    const unsigned b = f_.depends(k_.src(first, 1), plan_.n) ? 1 : 0;
    for (const Id axis : a_.axes()) {
      if (!(statement_.parallel & a_.bit(axis)) || f_.depends(k_.src(first, b), axis)) continue;
      if (plan_.m == kNone || a_.max_extent(axis) > a_.max_extent(plan_.m)) plan_.m = axis;
    }
    for (const Id axis : a_.axes())
      if ((statement_.parallel & a_.bit(axis)) && axis != plan_.m && axis != plan_.n)
        plan_.outer.push_back(axis);
    return true;
  }

  bool assign_operands(GemmContract& c) const {
    const Id x = k_.src(c.id, 0), y = k_.src(c.id, 1);
    if (f_.depends(x, plan_.n) == f_.depends(y, plan_.n)) return false;
    const bool swap = f_.depends(x, plan_.n);
    c.a.value = swap ? y : x;
    c.b.value = swap ? x : y;
    if (plan_.m != kNone && f_.depends(c.b.value, plan_.m)) return false;
    for (const Id axis : plan_.outer) {
      if (f_.depends(c.a.value, axis)) c.a.outer.push_back(axis);
      if (f_.depends(c.b.value, axis)) c.b.outer.push_back(axis);
    }
    return true;
  }

  // One row times a large matrix that lies in rows: the nest reads it in the order of memory.
  bool is_stream() const {
    if (plan_.m != kNone || plan_.contracts[0].b.packed ||
        !kir::is_float(k_.dtype(plan_.contracts[0].id)))
      return false;
    return find_stream(f_, plan_.n, f_.closure(plan_.stores)).has_value();
  }

  // --- the tile
  void choose_tile() {
    const bool avx512 = has(isa_, "avx512bw") && has(isa_, "avx512vl") && has(isa_, "avx512dq");
    const unsigned vector_bytes = avx512 ? 64 : has(isa_, "avx2") ? 32 : 16;
    const unsigned lanes = vector_bytes / kir::size_of(k_.dtype(plan_.contracts[0].id));
    // Rows and vectors (a power of two) of a tile that leave registers for operands: 32 of them
    // with AVX-512, 16 without.
    struct Tile {
      unsigned mr, nv;
    };
    static constexpr Tile kMany[] = {{6, 4}, {5, 4}, {4, 4}, {8, 2},  {6, 2}, {4, 2},
                                     {3, 4}, {2, 4}, {1, 4}, {12, 1}, {8, 1}, {4, 1},
                                     {2, 2}, {2, 1}, {1, 2}, {1, 1}};
    static constexpr Tile kFew[] = {{6, 2}, {4, 2}, {3, 2}, {2, 2}, {8, 1}, {6, 1},
                                    {4, 1}, {2, 1}, {1, 4}, {1, 2}, {1, 1}};
    static constexpr Tile kSoft[] = {{2, 2}, {1, 2}, {1, 1}};  // an fma is a dozen instructions
    const bool soft = !has(isa_, "fma") && kir::is_float(k_.dtype(plan_.contracts[0].id));
    const auto tiles = soft     ? std::span<const Tile>(kSoft)
                       : avx512 ? std::span<const Tile>(kMany)
                                : std::span<const Tile>(kFew);
    double best = HUGE_VAL;
    for (const Tile& t : tiles) {
      const double cost = cost_of(t.mr, t.nv, lanes);
      if (cost >= best * 0.999) continue;
      best = cost;
      plan_.mr = t.mr;
      plan_.nr = t.nv * lanes;
    }
    const int64_t rows = rows_of_interest();
    const int64_t blocks = std::max<int64_t>(1, (rows + kRowsOfTask / 2) / kRowsOfTask);
    const int64_t per_block = rows <= kSmallRows ? rows : (rows + blocks - 1) / blocks;
    plan_.mc = std::max<int64_t>(1, (per_block + plan_.mr - 1) / plan_.mr) * plan_.mr;
    plan_.masked_tail = avx512 || (has(isa_, "avx2") && !narrow_memory());
  }

  // What to choose sizes for: a constant extent, else the largest value up to some hundred.
  int64_t rows_of_interest() const {
    if (plan_.m == kNone) return 1;
    const auto exact = a_.const_extent(plan_.m);
    return exact ? *exact : std::min<int64_t>(a_.max_extent(plan_.m), 384);
  }

  // Cycles for one k over the whole result: two fma, or two loads, at a time; chains of four
  // cycles.
  double cost_of(unsigned mr, unsigned nv, unsigned lanes) const {
    const auto ceil_div = [](double x, double y) { return std::ceil(x / y); };
    const auto exact = a_.const_extent(plan_.n);
    const double columns =
        static_cast<double>(exact ? *exact : std::min<int64_t>(a_.max_extent(plan_.n), 1024));
    const double tiles =
        ceil_div(static_cast<double>(rows_of_interest()), mr) * ceil_div(columns, nv * lanes);
    const double cycles = std::max({mr * nv / 2.0, (mr + nv) / 2.0 + 0.5, 4.0});
    return tiles * (cycles + 0.25);
  }

  bool narrow_memory() const {
    for (const Id v : f_.closure(plan_.stores)) {
      const uint16_t op = k_.op(v);
      if ((op == OST_KIR_OP_LOAD || op == OST_KIR_OP_STORE) && f_.depends(v, plan_.n) &&
          (kir::size_of(k_.dtype(v)) < 4 || !a_.stride(k_.src(v, 1), plan_.n).is(1)))
        return true;
    }
    return false;
  }

  // --- packing
  // A load of the element type itself, without a mask: as cheap in place as from a copy.
  bool plain(Id value) const { return k_.op(value) == OST_KIR_OP_LOAD && k_.mask(value) == kNone; }
  bool unit(Id value, Id axis) const {
    for (const Id v : f_.closure({value}))
      if (k_.op(v) == OST_KIR_OP_LOAD && f_.depends(v, axis) &&
          !a_.stride(k_.src(v, 1), axis).is(1))
        return false;
    return true;
  }
  unsigned work(Id value, Id axis) const {
    unsigned cost = 0;
    for (const Id v : f_.closure({value}))
      if (f_.depends(v, axis) && k_.op(v) != OST_KIR_OP_LOAD && k_.dtype(v) != OST_DTYPE_I64)
        cost += op_cost(k_.op(v));
    return cost;
  }

  void choose_packing(GemmContract& c) const {
    const int64_t rows = rows_of_interest();
    const auto columns = a_.const_extent(plan_.n);
    const int64_t row_tiles = (rows + plan_.mr - 1) / plan_.mr;
    const int64_t column_tiles = columns ? (*columns + plan_.nr - 1) / plan_.nr : 8;
    c.b.along_k = !unit(c.b.value, plan_.n) && unit(c.b.value, c.k);
    const bool in_place =
        unit(c.b.value, plan_.n) && (plan_.masked_tail || (columns && *columns % plan_.nr == 0));
    c.b.packed = !in_place || rows > kSmallRows ||
                 work(c.b.value, c.k) * static_cast<unsigned>(row_tiles) > 16;
    c.a.along_k = unit(c.a.value, c.k);
    c.a.packed =
        !plain(c.a.value) &&
        work(c.a.value, c.k) * static_cast<unsigned>(std::min<int64_t>(column_tiles, 1000)) > 2;
    if (!plain(c.a.value) && k_.op(c.a.value) == OST_KIR_OP_LOAD && column_tiles > 1)
      c.a.packed = true;
  }

  const Facts& f_;
  const kir::Analysis& a_;
  const kir::Kernel& k_;
  FeatureSet isa_;
  const Statement& statement_;
  GemmPlan plan_;
};

}  // namespace

std::optional<GemmPlan> plan_gemm(const Facts& facts, FeatureSet isa, const Statement& statement) {
  return Planner(facts, isa, statement).run();
}

}  // namespace ost_cpu
