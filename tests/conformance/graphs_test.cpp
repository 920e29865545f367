// Random graphs and shapes on `ref` and on every other device that can run here: equal bits, all
// types.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/schedule/schedule.hpp"
#include "tests/conformance/devices.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost {
namespace {

uint64_t base_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("OSTINATO_TEST_SEED");
    return text ? std::strtoull(text, nullptr, 10)
                : uint64_t{20261130};  // scripts/soak.sh tries others
  }();
  return seed;
}

void expect_same_everywhere(uint64_t seed, const test::RandomGraphOptions& options) {
  SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << seed);
  const test::RandomGraph r = test::random_graph(seed, options);
  auto scheduled = schedule(r.graph);
  ASSERT_TRUE(scheduled.has_value()) << scheduled.error().message;
  const Program& program = *scheduled;
  const auto want = test::run_on(test::Devices::get().ref, program, r.inputs, r.vars);
  ASSERT_TRUE(want.has_value()) << "ref: " << want.error().message << "\n" << ir::to_text(r.graph);
  for (const auto& device : test::Devices::get().all) {
    if (device == test::Devices::get().ref) continue;
    const auto got = test::run_on(device, program, r.inputs, r.vars);
    ASSERT_TRUE(got.has_value()) << device->id() << ": " << got.error().message << "\n"
                                 << ir::to_text(r.graph);
    for (size_t o = 0; o < want->size(); ++o) {
      const DType t = program.outputs[o].dtype;
      ASSERT_TRUE(test::same_bits(t, (*want)[o], (*got)[o]))
          << device->id() << ": output " << o << "\n"
          << ir::to_text(r.graph);
    }
  }
}

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    if (test::Devices::get().all.size() < 2) GTEST_SKIP() << "needs a device beside ref";
  }
};

TEST_F(Graphs, RandomGraphsHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 250 && !HasFatalFailure(); ++i)
    expect_same_everywhere(base_seed() + i, {});
}

TEST_F(Graphs, RandomGraphsWithAVariableHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 250 && !HasFatalFailure(); ++i)
    expect_same_everywhere(base_seed() + i, {.symbolic = true});
}

TEST_F(Graphs, LargerShapesHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 40 && !HasFatalFailure(); ++i) {
    expect_same_everywhere(base_seed() + i, {.operations = 6, .inputs = 3, .max_elements = 200000});
  }
}

}  // namespace
}  // namespace ost
