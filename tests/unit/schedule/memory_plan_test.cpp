#include "core/schedule/memory_plan.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

namespace ost {
namespace {

void expect_disjoint(const std::vector<Lifetime>& l, const MemoryPlan& plan) {
  for (size_t i = 0; i < l.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + l[i].bytes, plan.bytes);
    for (size_t k = 0; k < i; ++k) {
      const bool in_time = l[i].first <= l[k].last && l[k].first <= l[i].last;
      const bool in_space = plan.offsets[i] < plan.offsets[k] + l[k].bytes &&
                            plan.offsets[k] < plan.offsets[i] + l[i].bytes;
      EXPECT_FALSE(in_time && in_space) << "buffers " << k << " and " << i;
    }
  }
}

TEST(MemoryPlan, NoLifetimesNeedNoMemory) { EXPECT_EQ(plan_memory({}, 64).bytes, 0u); }

TEST(MemoryPlan, ReusesBufferAfterLastUse) {
  const std::vector<Lifetime> l{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  const MemoryPlan plan = plan_memory(l, 64);
  EXPECT_EQ(plan.bytes, 256u);
  EXPECT_EQ(plan.largest_live, 256u);
  ASSERT_EQ(plan.reuses.size(), 1u);
  EXPECT_EQ(plan.reuses[0], std::pair(0u, 2u));
}

TEST(MemoryPlan, EveryReuseIsReported) {
  std::mt19937_64 rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> l;
    for (int i = 0; i < 30; ++i) {
      const auto first = static_cast<uint32_t>(rng() % 40);
      l.push_back({rng() % 3000, first, first + static_cast<uint32_t>(rng() % 6)});
    }
    const MemoryPlan plan = plan_memory(l, 64);
    // A pair that shares bytes is ordered by a chain of reported reuses.
    std::vector<std::vector<bool>> before(l.size(), std::vector<bool>(l.size(), false));
    for (const auto& [a, b] : plan.reuses) {
      EXPECT_LT(l[a].last, l[b].first);
      before[a][b] = true;
    }
    for (size_t k = 0; k < l.size(); ++k) {
      for (size_t i = 0; i < l.size(); ++i) {
        for (size_t j = 0; j < l.size(); ++j)
          before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
      }
    }
    for (size_t i = 0; i < l.size(); ++i) {
      for (size_t j = 0; j < l.size(); ++j) {
        const bool share = i != j && plan.offsets[i] < plan.offsets[j] + l[j].bytes &&
                           plan.offsets[j] < plan.offsets[i] + l[i].bytes;
        if (share && l[i].last < l[j].first) {
          EXPECT_TRUE(before[i][j]) << round << ": " << i << " -> " << j;
        }
      }
    }
  }
}

uint64_t test_seed() {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261130;  // scripts/soak.sh tries others
}

TEST(MemoryPlan, RandomLifetimesNeverOverlapAndStayNearTheLargestLiveSet) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::mt19937_64 rng(test_seed());
  double waste = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Lifetime> l;
    const size_t count = 1 + rng() % 80;
    for (size_t i = 0; i < count; ++i) {
      const auto first = static_cast<uint32_t>(rng() % count);
      l.push_back(
          {rng() % 5 == 0 ? 0 : rng() % 100000, first, first + static_cast<uint32_t>(rng() % 8)});
    }
    const MemoryPlan plan = plan_memory(l, 64);
    expect_disjoint(l, plan);
    EXPECT_GE(plan.bytes, plan.largest_live);
    if (plan.largest_live > 0)
      waste += static_cast<double>(plan.bytes) / static_cast<double>(plan.largest_live) - 1;
  }
  EXPECT_LT(waste / kRounds, 0.02);
}

// Step i writes buffer i and reads a few of those before it, most of them near.
std::vector<Lifetime> random_program(std::mt19937_64& rng, uint32_t count) {
  std::vector<Lifetime> l;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t kind = rng() % 10;
    const uint64_t bytes = kind == 0   ? 0
                           : kind <= 3 ? (rng() % 64 + 1) * 1024
                                       : uint64_t{1} << (8 + rng() % 10);
    l.push_back({bytes, i, i});
    for (uint64_t reads = 1 + rng() % 3; reads > 0 && i > 0; --reads) {
      const uint32_t window = std::min<uint32_t>(i, rng() % 4 == 0 ? 40 : 4);
      l[i - 1 - rng() % window].last = i;
    }
  }
  return l;
}

TEST(MemoryPlan, APeakIsWithinFivePercentOfTheLargestLiveSet) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::mt19937_64 rng(test_seed());
  double waste = 0;
  int over = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto l = random_program(rng, static_cast<uint32_t>(1 + rng() % 200));
    const MemoryPlan plan = plan_memory(l, 256);
    expect_disjoint(l, plan);
    if (plan.largest_live == 0) continue;
    const double more =
        static_cast<double>(plan.bytes) / static_cast<double>(plan.largest_live) - 1;
    waste += more;
    over += more > 0.05;
    EXPECT_LT(more, 0.10) << round;
  }
  EXPECT_LT(waste / 1000, 0.005);
  // No plan reaches the bound for each set of lifetimes; another seed may have such a one.
  EXPECT_LE(over, std::getenv("OSTINATO_TEST_SEED") ? 3 : 0);
}

TEST(MemoryPlan, TenThousandBuffersReachTheLargestLiveSet) {
  std::mt19937_64 rng(test_seed());
  const auto l = random_program(rng, 10000);
  const auto start = std::chrono::steady_clock::now();
  const MemoryPlan plan = plan_memory(l, 256);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("10000 buffers planned in %.0f ms\n", took.count());  // docs/capture.md
  EXPECT_LE(plan.bytes, plan.largest_live / 100 * 105);
  std::map<uint64_t, uint32_t> alive;  // by offset, at one step
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < l.size(); ++i) {
    std::erase_if(alive, [&](const auto& entry) { return l[entry.second].last < i; });
    if (l[i].bytes == 0) continue;
    const auto next = alive.lower_bound(plan.offsets[i]);
    if (next != alive.end()) {
      EXPECT_LE(plan.offsets[i] + l[i].bytes, next->first);
    }
    if (next != alive.begin()) {
      const auto before = std::prev(next);
      EXPECT_LE(before->first + l[before->second].bytes, plan.offsets[i]);
    }
    alive[plan.offsets[i]] = i;
  }
}

TEST(MemoryPlan, NothingTakesNoPlaceAndHugeSizesDoNotWrap) {
  const std::vector<Lifetime> none{{0, 0, 5}, {0, 1, 2}};
  EXPECT_EQ(plan_memory(none, 256).bytes, 0u);
  const std::vector<Lifetime> tiny{{1, 0, 5}, {0, 1, 2}, {1, 1, 1}};
  EXPECT_EQ(plan_memory(tiny, 256).bytes, 512u);
  const std::vector<Lifetime> huge{
      {UINT64_MAX, 0, 3}, {UINT64_MAX, 1, 3}, {UINT64_MAX, 2, 3}, {UINT64_MAX, 2, 3}, {64, 2, 5}};
  const MemoryPlan plan = plan_memory(huge, 256);
  EXPECT_GT(plan.bytes, uint64_t{1} << 47);  // larger than any memory, and no small number
  EXPECT_GT(plan.largest_live, uint64_t{1} << 47);
}

}  // namespace
}  // namespace ost
