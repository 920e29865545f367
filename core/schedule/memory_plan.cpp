#include "core/schedule/memory_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ost {

namespace {

// At most 256 TiB, which no memory has, so that sums do not wrap. Nothing takes no place.
uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  constexpr uint64_t kMost = uint64_t{1} << 48;
  return bytes > kMost - alignment ? kMost / alignment * alignment
                                   : (bytes + alignment - 1) / alignment * alignment;
}

uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t largest_live(std::span<const Lifetime> lifetimes, const std::vector<uint64_t>& sizes) {
  std::map<uint32_t, std::pair<std::vector<uint64_t>, std::vector<uint64_t>>> change;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    change[lifetimes[i].first].first.push_back(sizes[i]);
    change[lifetimes[i].last].second.push_back(sizes[i]);
  }
  uint64_t live = 0, most = 0;
  for (const auto& [step, at] : change) {
    for (const uint64_t size : at.first) live += size;
    most = std::max(most, live);
    for (const uint64_t size : at.second) live -= size;
  }
  return most;
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
    if (sizes[i] == 0) continue;
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

// Each buffer in some order at the place that fits best among those that are alive with it. Orders
// are improved by moving what ended up on top to the front ("squeaky wheel" optimisation, Joslin and
// Clements, 1999), which finds the largest live set on most programs.
class Placer {
 public:
  Placer(std::span<const Lifetime> lifetimes, const std::vector<uint64_t>& sizes)
      : lifetimes_(lifetimes), sizes_(sizes) {}

  // False if too many pairs are alive together to look at each.
  bool find_neighbours(size_t limit) {
    neighbours_.resize(sizes_.size());
    size_t pairs = 0;
    std::vector<uint32_t> alive;
    for (const uint32_t i : by_first_use(lifetimes_, sizes_)) {
      if (sizes_[i] == 0) continue;
      std::erase_if(alive, [&](uint32_t k) { return lifetimes_[k].last < lifetimes_[i].first; });
      if ((pairs += alive.size()) > limit) return false;
      for (const uint32_t k : alive) {
        neighbours_[i].push_back(k);
        neighbours_[k].push_back(i);
      }
      alive.push_back(i);
    }
    cost_ = pairs + sizes_.size();
    return true;
  }

  // Improves the plan with at most about `effort` looks at a neighbour.
  void improve(MemoryPlan& best, size_t effort) {
    const auto size = [&](uint32_t i) { return static_cast<double>(sizes_[i]); };
    const auto life = [&](uint32_t i) { return lifetimes_[i].last - lifetimes_[i].first + 1; };
    const size_t rounds = std::max<size_t>(1, effort / cost_ / 4);
    search(best, rounds, size);
    search(best, rounds, [&](uint32_t i) { return size(i) * life(i); });
    search(best, rounds, [&](uint32_t i) { return size(i) + 1e-3 * life(i) * size(i); });
    search(best, rounds, [&](uint32_t i) { return static_cast<double>(life(i)); });
    // Few programs come here; small ones have room for many more tries.
    for (int more = 0; more < 64 && best.bytes > best.largest_live / 100 * 105; ++more)
      search(best, 2 * rounds, [&](uint32_t i) { return size(i) * (more % 2 ? life(i) : 1); });
  }

 private:
  bool is_good(const MemoryPlan& plan) const {
    return plan.bytes <= sum(plan.largest_live, plan.largest_live / 100);
  }

  template <typename Weight>
  void search(MemoryPlan& best, size_t rounds, Weight&& weight) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater<>(), weight);
    MemoryPlan plan = best;
    std::vector<uint32_t> kept = order;
    uint64_t least = UINT64_MAX;
    for (size_t round = 0; round < rounds && !is_good(best); ++round) {
      place(order, plan);
      if (plan.bytes < best.bytes) best = plan;
      if (plan.bytes <= least) {
        least = plan.bytes;
        kept = order;
      } else if (round % 8 == 7) {
        order = kept;  // from the best order of this search, another way
      }
      std::ranges::stable_partition(
          order, [&](uint32_t i) { return plan.offsets[i] + sizes_[i] > plan.largest_live; });
      if (round % 2 == 1) std::swap(order[random(order.size())], order[random(order.size())]);
    }
  }

  void place(const std::vector<uint32_t>& order, MemoryPlan& plan) {
    constexpr uint64_t kNowhere = UINT64_MAX;
    std::ranges::fill(plan.offsets, kNowhere);
    plan.bytes = 0;
    for (const uint32_t i : order) {
      taken_.clear();
      for (const uint32_t k : neighbours_[i]) {
        if (plan.offsets[k] != kNowhere) taken_.emplace_back(plan.offsets[k], sizes_[k]);
      }
      std::ranges::sort(taken_);
      uint64_t at = kNowhere, waste = kNowhere, end = 0;
      for (const auto& [offset, bytes] : taken_) {
        if (offset >= sum(end, sizes_[i]) && offset - end - sizes_[i] < waste) {
          at = end;
          waste = offset - end - sizes_[i];
        }
        end = std::max(end, sum(offset, bytes));
      }
      plan.offsets[i] = at == kNowhere ? end : at;
      plan.bytes = std::max(plan.bytes, sum(plan.offsets[i], sizes_[i]));
    }
    for (uint64_t& offset : plan.offsets) offset = offset == kNowhere ? 0 : offset;
  }

  // Always the same numbers: a plan is a function of the lifetimes.
  size_t random(size_t below) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % below;
  }

  std::span<const Lifetime> lifetimes_;
  const std::vector<uint64_t>& sizes_;
  uint64_t state_ = 1;
  std::vector<std::vector<uint32_t>> neighbours_;  // alive at the same time
  std::vector<std::pair<uint64_t, uint64_t>> taken_;
  size_t cost_ = 1;
};

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, uint64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<uint64_t> sizes;
  for (const Lifetime& l : lifetimes) sizes.push_back(aligned(l.bytes, alignment));
  plan.largest_live = largest_live(lifetimes, sizes);
  place_by_time(lifetimes, sizes, plan);
  constexpr size_t kMostPairs = 1'000'000, kEffort = 1'000'000;
  Placer placer(lifetimes, sizes);
  if (plan.bytes > plan.largest_live && placer.find_neighbours(kMostPairs))
    placer.improve(plan, kEffort);
  Owners owners;
  for (uint32_t i : by_first_use(lifetimes, sizes))
    if (sizes[i] > 0) owners.claim(i, plan.offsets[i], sizes[i], plan.reuses);
  return plan;
}

}  // namespace ost
