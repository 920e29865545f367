// Memory planning: one small pure function from lifetimes to offsets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ost {

// A buffer that is written first by step `first` and used last by step `last` (positions in list
// order, inclusive).
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // per lifetime; multiples of the alignment
  uint64_t bytes = 0;             // size of the arena
  uint64_t largest_live =
      0;  // the largest sum of live (aligned) sizes at one step: no plan can be smaller
  // Pairs (earlier, later): `later` was given memory that `earlier` used. Whoever writes `later`
  // must run after all users of `earlier`; the scheduler makes dependency edges of them, so the
  // plan holds whatever runs concurrently.
  std::vector<std::pair<uint32_t, uint32_t>> reuses;
};

// Offsets such that no two lifetimes that overlap in time overlap in memory. Best fit in order of
// time first; where that needs more than the largest live set, orders by size, area and length are
// tried and improved (largest first: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
// Net Inference", 2020). A pure function of the lifetimes with a bounded number of steps. A buffer
// of no bytes takes no place. Wastes memory where very many buffers are alive together: then only
// the order of time is tried.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, uint64_t alignment);

}  // namespace ost
