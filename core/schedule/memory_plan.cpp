#include "core/schedule/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ost {

namespace {

uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  return (std::max<uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
}

uint64_t largest_live(std::span<const Lifetime> lifetimes, const std::vector<uint64_t>& sizes) {
  std::map<uint32_t, int64_t> change;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    change[lifetimes[i].first] += static_cast<int64_t>(sizes[i]);
    change[lifetimes[i].last + 1] -= static_cast<int64_t>(sizes[i]);
  }
  int64_t live = 0, most = 0;
  for (const auto& [step, delta] : change) most = std::max(most, live += delta);
  return static_cast<uint64_t>(most);
}

// Free holes of one address space as time advances: best fit, merged on release.
class Holes {
 public:
  uint64_t take(uint64_t bytes) {
    auto it = by_size_.lower_bound({bytes, 0});
    if (it == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *it;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void release(uint64_t offset, uint64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin() && (--before)->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove(before->first, before->second);
    }
    add(offset, bytes);
  }

  uint64_t end() const { return end_; }

 private:
  // The last hole may be extended at the end of the space.
  uint64_t grow(uint64_t bytes) {
    uint64_t offset = end_;
    if (!by_offset_.empty()) {
      auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        remove(last->first, last->second);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(uint64_t offset, uint64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(uint64_t offset, uint64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t end_ = 0;
};

// Who used each byte range last: the intervals of one address space, split as they are overwritten.
class Owners {
 public:
  void claim(uint32_t who, uint64_t offset, uint64_t bytes,
             std::vector<std::pair<uint32_t, uint32_t>>& reuses) {
    const uint64_t end = offset + bytes;
    auto it = intervals_.upper_bound(offset);
    if (it != intervals_.begin()) --it;
    std::vector<std::pair<uint64_t, Interval>> keep;
    while (it != intervals_.end() && it->first < end) {
      const auto [start, iv] = *it;
      if (iv.end <= offset) {
        ++it;
        continue;
      }
      if (reuses.empty() || reuses.back() != std::pair{iv.owner, who})
        reuses.emplace_back(iv.owner, who);
      if (start < offset) keep.push_back({start, {offset, iv.owner}});
      if (iv.end > end) keep.push_back({end, {iv.end, iv.owner}});
      it = intervals_.erase(it);
    }
    for (const auto& [start, iv] : keep) intervals_[start] = iv;
    intervals_[offset] = {end, who};
  }

 private:
  struct Interval {
    uint64_t end;
    uint32_t owner;
  };
  std::map<uint64_t, Interval> intervals_;
};

std::vector<uint32_t> by_first_use(std::span<const Lifetime> lifetimes,
                                   const std::vector<uint64_t>& sizes) {
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto& x = lifetimes[a];
    const auto& y = lifetimes[b];
    return std::tuple(x.first, sizes[b], a) < std::tuple(y.first, sizes[a], b);
  });
  return order;
}

// In order of time, best fit: fast, near the optimum for chains.
void place_by_time(std::span<const Lifetime> lifetimes, const std::vector<uint64_t>& sizes,
                   MemoryPlan& plan) {
  Holes holes;
  std::multimap<uint32_t, uint32_t> ends;
  for (uint32_t i : by_first_use(lifetimes, sizes)) {
    while (!ends.empty() && ends.begin()->first < lifetimes[i].first) {
      const uint32_t done = ends.begin()->second;
      holes.release(plan.offsets[done], sizes[done]);
      ends.erase(ends.begin());
    }
    plan.offsets[i] = holes.take(sizes[i]);
    ends.emplace(lifetimes[i].last, i);
  }
  plan.bytes = holes.end();
}

// Largest first, each at the lowest offset that is free over its whole lifetime: closer to the
// optimum, quadratic.
void place_by_size(std::span<const Lifetime> lifetimes, const std::vector<uint64_t>& sizes,
                   MemoryPlan& plan) {
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return sizes[a] > sizes[b]; });
  std::vector<uint32_t> placed;  // sorted by offset
  plan.bytes = 0;
  for (uint32_t i : order) {
    uint64_t best = UINT64_MAX, best_waste = UINT64_MAX, end = 0;
    for (uint32_t p : placed) {
      if (lifetimes[p].last < lifetimes[i].first || lifetimes[i].last < lifetimes[p].first)
        continue;
      if (plan.offsets[p] >= end + sizes[i] && plan.offsets[p] - end - sizes[i] < best_waste) {
        best = end;
        best_waste = plan.offsets[p] - end - sizes[i];
      }
      end = std::max(end, plan.offsets[p] + sizes[p]);
    }
    plan.offsets[i] = best == UINT64_MAX ? end : best;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + sizes[i]);
    auto at = std::lower_bound(placed.begin(), placed.end(), plan.offsets[i],
                               [&](uint32_t p, uint64_t o) { return plan.offsets[p] < o; });
    placed.insert(at, i);
  }
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, uint64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<uint64_t> sizes;
  for (const Lifetime& l : lifetimes) sizes.push_back(aligned(l.bytes, alignment));
  plan.largest_live = largest_live(lifetimes, sizes);
  place_by_time(lifetimes, sizes, plan);
  constexpr size_t kQuadraticLimit = 2048;
  if (plan.bytes > plan.largest_live && lifetimes.size() <= kQuadraticLimit) {
    MemoryPlan other = plan;
    place_by_size(lifetimes, sizes, other);
    if (other.bytes < plan.bytes) plan = std::move(other);
  }
  Owners owners;
  for (uint32_t i : by_first_use(lifetimes, sizes))
    owners.claim(i, plan.offsets[i], sizes[i], plan.reuses);
  return plan;
}

}  // namespace ost
