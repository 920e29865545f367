// What must hold for every graph: programs verify, their accesses are proved, and fusion changes no
// bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost {
namespace {

uint64_t base_seed() {
  if (const char* text = std::getenv("OSTINATO_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  return 20261130;  // scripts/soak.sh tries others
}

Result<std::vector<test::Bytes>> outputs_of(const test::RandomGraph& r,
                                            const ScheduleOptions& options) {
  OST_TRY_ASSIGN(const Program program, schedule(r.graph, options));
  if (auto ok = verify(program); !ok) return std::unexpected(ok.error().in("verify"));
  test::HostRun run{r.inputs, {}, r.vars, {}};
  OST_TRY(test::run_on_host(program, run));
  return run.outputs;
}

void expect_fusion_keeps_bits(uint64_t seed, const test::RandomGraphOptions& options) {
  SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << seed);
  const test::RandomGraph r = test::random_graph(seed, options);
  const auto fused = outputs_of(r, {});
  ASSERT_TRUE(fused.has_value()) << fused.error().message << "\n" << ir::to_text(r.graph);
  const auto plain = outputs_of(r, {.fuse = false});
  ASSERT_TRUE(plain.has_value()) << plain.error().message << "\n" << ir::to_text(r.graph);
  for (size_t o = 0; o < fused->size(); ++o) {
    const DType t = r.graph.node(r.graph.outputs()[o].node).dtype;
    ASSERT_TRUE(test::same_bits(t, (*fused)[o], (*plain)[o])) << "output " << o << "\n"
                                                              << ir::to_text(r.graph);
  }
}

TEST(Schedule, FusionChangesNoBit) {
  const uint64_t seed = base_seed();
  for (uint64_t i = 0; i < 150 && !testing::Test::HasFatalFailure(); ++i)
    expect_fusion_keeps_bits(seed + i, {});
}

TEST(Schedule, FusionChangesNoBitWithAVariable) {
  const uint64_t seed = base_seed();
  for (uint64_t i = 0; i < 150 && !testing::Test::HasFatalFailure(); ++i)
    expect_fusion_keeps_bits(seed + i, {.symbolic = true});
}

TEST(Schedule, FusionChangesNoBitInLargeGraphs) {
  const uint64_t seed = base_seed();
  for (uint64_t i = 0; i < 15 && !testing::Test::HasFatalFailure(); ++i) {
    expect_fusion_keeps_bits(seed + i, {.operations = 80, .inputs = 5, .max_elements = 512});
  }
}

}  // namespace
}  // namespace ost
