#include "plugins/cpu/compiler/row_cache.hpp"

#include <map>

#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

using kir::Id;
using kir::kNone;

namespace {

constexpr unsigned kWorthKeeping = 8;     // operations saved for each element
constexpr int64_t kLongestRow = 1 << 16;  // elements of scratch memory
constexpr size_t kMostRecords = 10000;    // the comparison recurses

class Finder {
 public:
  Finder(const Facts& f, Id vector, const std::vector<Id>& needed)
      : f_(f), k_(f.k), vector_(vector), needed_(needed) {}

  std::optional<RowCache> run() {
    RowCache best;
    unsigned best_cost = kWorthKeeping - 1;
    for (const Id r : needed_) {
      if (!is_row_reduction(r)) continue;
      axis_ = k_.reduced_axis(r);
      same_.clear();
      for (const Id kept : f_.closure({k_.src(r, 0)})) {
        if (!f_.depends(kept, axis_) || !keepable(kept)) continue;
        for (const Id reused : needed_) {
          if (!f_.depends(reused, vector_) || !keepable(reused) || !same(kept, reused)) continue;
          if (const unsigned cost = work(reused); cost > best_cost)
            best = {kept, reused}, best_cost = cost;
        }
      }
    }
    return best.kept == kNone ? std::nullopt : std::optional(best);
  }

 private:
  // Over an axis as long as the vector axis, its result the same for the whole row, and its
  // elements made once.
  bool is_row_reduction(Id r) const {
    if (!kir::is_reduction(k_.op(r)) || k_.op(r) == OST_KIR_OP_ATTN || f_.owner[r] != kNone)
      return false;
    if (f_.depends(r, vector_) || (f_.a.deps(r) & f_.a.axes_of_role(OST_KIR_AXIS_REDUCE)))
      return false;
    const Id axis = k_.reduced_axis(r);
    return k_.src(axis, 0) == k_.src(vector_, 0) && f_.a.max_extent(axis) <= kLongestRow;
  }

  bool keepable(Id v) const {
    const uint16_t op = k_.op(v);
    return f_.owner[v] == kNone && k_.dtype(v) != OST_DTYPE_BOOL && k_.dtype(v) != OST_DTYPE_I64 &&
           op >= OST_KIR_OP_NEG && op <= OST_KIR_OP_BITCAST;
  }

  // Equal expressions, with axis_ in x where y has vector_.
  bool same(Id x, Id y) {
    if (x == y) return !f_.depends(x, axis_) && !f_.depends(x, vector_);
    const auto [it, is_new] = same_.try_emplace({x, y}, false);
    if (is_new) it->second = compare(x, y);
    return it->second;
  }
  bool compare(Id x, Id y) {
    if (x == axis_) return y == vector_;
    const auto &a = k_[x], &b = k_[y];
    if (a.op != b.op || a.dtype != b.dtype || a.aux != b.aux || a.imm != b.imm || a.nsrc != b.nsrc)
      return false;
    if (a.op == OST_KIR_OP_AXIS || kir::is_reduction(a.op) || f_.rereads[x]) return false;
    for (unsigned i = 0; i < a.nsrc; ++i)
      if (!same(a.src[i], b.src[i])) return false;
    return true;
  }

  // What the points of the row would compute again.
  unsigned work(Id v) const {
    unsigned cost = 0;
    for (const Id s : f_.closure({v}))
      if (f_.depends(s, vector_) && f_.owner[s] == kNone && k_.dtype(s) != OST_DTYPE_I64)
        cost += op_cost(k_.op(s));
    return cost;
  }

  const Facts& f_;
  const kir::Kernel& k_;
  Id vector_, axis_ = kNone;
  const std::vector<Id>& needed_;
  std::map<std::pair<Id, Id>, bool> same_;
};

}  // namespace

std::optional<RowCache> find_row_cache(const Facts& facts, Id vector,
                                       const std::vector<Id>& needed) {
  return Finder(facts, vector, needed).run();
}

}  // namespace ost_cpu
