#include "core/schedule/memory_plan.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
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

TEST(MemoryPlan, RandomProgramsNeverOverlapAndStayNearTheLargestLiveSet) {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t seed =
      text ? std::strtoull(text, nullptr, 10) : 20261130;  // scripts/soak.sh tries others
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 rng(seed);
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
    waste += static_cast<double>(plan.bytes) / static_cast<double>(plan.largest_live) - 1;
  }
  EXPECT_LT(waste / kRounds, 0.05);
}

}  // namespace
}  // namespace ost
