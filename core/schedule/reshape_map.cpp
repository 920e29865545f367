#include "core/schedule/reshape_map.hpp"

namespace ost {

namespace {

bool is_one(const Sym& s) { return s == Sym(1); }

// True if growing the product `a` can still make it equal to `b`: a is not already the larger one.
bool should_grow(const Sym& a, const Sym& b) {
  auto ca = a.constant(), cb = b.constant();
  if (ca && cb) return *ca < *cb;
  return provably_le(a, b);
}

}  // namespace

std::vector<ReshapeRun> reshape_runs(std::span<const Sym> from, std::span<const Sym> to) {
  std::vector<ReshapeRun> runs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeRun run{i, i, j, j};
    // Axes of size 1 stand alone, unless both sides have one.
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      run.from_end = ++i;
      run.to_end = ++j;
      runs.push_back(run);
      continue;
    }
    if (i < from.size() && is_one(from[i])) {
      run.from_end = ++i;
      runs.push_back(run);
      continue;
    }
    if (j < to.size() && is_one(to[j])) {
      run.to_end = ++j;
      runs.push_back(run);
      continue;
    }
    if (i >= from.size() || j >= to.size()) return {{0, from.size(), 0, to.size()}};
    Sym a = from[i++], b = to[j++];
    while (!(a == b)) {
      const bool grow_from = should_grow(a, b);
      if (grow_from && i < from.size()) {
        a = a * from[i++];
      } else if (!grow_from && j < to.size()) {
        b = b * to[j++];
      } else {
        return {{0, from.size(), 0, to.size()}};  // no finer split is provable
      }
    }
    run.from_end = i;
    run.to_end = j;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace ost
