// The cap on the arenas: met, or the smallest one that works is named; never a different bit.
#include <fstream>
#include <random>
#include <sstream>

#include "tests/fusion/lab.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost::test {
namespace {

std::string file(const char* path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path << " is read relative to the source folder";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

uint64_t arena_of(const Program& p) {
  uint64_t most = 0;
  for (const Arena& a : p.arenas) most = std::max(most, a.bytes);
  return most;
}

// The last number of the error: "the smallest limit that works is N".
uint64_t named_limit(const Error& error) {
  EXPECT_EQ(error.status, OST_OUT_OF_MEMORY) << error.message;
  const size_t at = error.message.rfind(' ');
  return std::strtoull(error.message.c_str() + at + 1, nullptr, 10);
}

uint64_t smallest_limit(const ir::Graph& graph) {
  const auto refused = schedule(graph, {.arena_limit = 1});
  if (refused.has_value()) return 0;  // needs no arena
  return named_limit(refused.error());
}

TEST(ArenaLimit, ShrinksTheTransformerBlockToTheNamedSmallest) {
  const auto graph = graph_of(file("examples/transformer/block.ost"), {{"x", "4,768"}});
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto free = schedule(*graph);
  ASSERT_TRUE(free.has_value());
  const auto inputs = noise_for(*free);
  const uint64_t smallest = smallest_limit(*graph), all = arena_of(*free);
  EXPECT_LT(smallest, all);
  const auto want = run_on(Devices::get().ref, *free, inputs);
  ASSERT_TRUE(want.has_value()) << want.error().message;
  for (uint64_t limit = all; limit > smallest; limit = (limit + smallest) / 2) {
    const auto program = schedule(*graph, {.arena_limit = limit});
    ASSERT_TRUE(program.has_value()) << limit << ": " << program.error().message;
    EXPECT_LE(arena_of(*program), limit);
  }
  for (const auto& device : Devices::get().all) {
    const auto program = schedule(*graph, {.arena_limit = smallest});
    ASSERT_TRUE(program.has_value()) << program.error().message;
    ASSERT_TRUE(verify(*program).has_value());
    EXPECT_LE(arena_of(*program), smallest);
    const auto out = run_on(device, *program, inputs);
    ASSERT_TRUE(out.has_value()) << out.error().message;
    EXPECT_EQ(*out, *want) << device->id();
  }
  const auto refused = schedule(*graph, {.arena_limit = smallest - 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(named_limit(refused.error()), smallest);
}

TEST(ArenaLimit, IsMetByAnotherOrder) {
  // Four wide values that each shrink to a row: one wide value at a time is enough.
  const char* text =
      "a = exp(x) @ w; b = exp(2*x) @ w; c = exp(3*x) @ w; d = exp(4*x) @ w\n"
      "(sum(a @ v, axis=1), sum(b @ v, axis=1), sum(c @ v, axis=1), sum(d @ v, axis=1))";
  const auto graph = graph_of(text, {{"x", "64,64"}, {"w", "64,64"}, {"v", "64,64"}});
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto free = schedule(*graph);
  ASSERT_TRUE(free.has_value());
  const uint64_t smallest = smallest_limit(*graph);
  EXPECT_LT(smallest, arena_of(*free));
}

TEST(ArenaLimit, IsMetByComputingAgain) {
  // y lives across the middle unless it is computed twice.
  const char* text =
      "y = exp(x); z = y @ w\n"
      "for1 = (z @ w) @ w; for2 = tanh(for1 @ w)\n"
      "(for2 @ w) @ y";
  const auto graph = graph_of(text, {{"x", "96,96"}, {"w", "96,96"}});
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto free = schedule(*graph);
  ASSERT_TRUE(free.has_value()) << free.error().message;
  const uint64_t smallest = smallest_limit(*graph);
  ASSERT_LT(smallest, arena_of(*free));
  const auto tight = schedule(*graph, {.arena_limit = smallest});
  ASSERT_TRUE(tight.has_value()) << tight.error().message;
  EXPECT_GT(tight->steps.size(), free->steps.size());
  EXPECT_TRUE(std::any_of(tight->groups.begin(), tight->groups.end(), [](const Group& g) {
    return g.why == "computed again, so that the arena fits its limit";
  }));
  const auto inputs = noise_for(*free);
  for (const auto& device : Devices::get().all) {
    const auto want = run_on(device, *free, inputs), got = run_on(device, *tight, inputs);
    ASSERT_TRUE(want.has_value() && got.has_value());
    EXPECT_EQ(*want, *got) << device->id();
  }
}

TEST(ArenaLimit, NeverChangesABitOfRandomGraphs) {
  const char* seed_text = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t base = seed_text ? std::strtoull(seed_text, nullptr, 10) : 20261130;
  size_t tightened = 0;
  for (uint64_t i = 0; i < 120; ++i) {
    SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << base + i);
    const RandomGraph r = random_graph(base + i, {.operations = 30, .inputs = 4});
    const auto free = schedule(r.graph);
    ASSERT_TRUE(free.has_value()) << free.error().message;
    const uint64_t smallest = smallest_limit(r.graph);
    if (smallest == 0) continue;
    const auto tight = schedule(r.graph, {.arena_limit = smallest});
    ASSERT_TRUE(tight.has_value()) << tight.error().message << "\n" << ir::to_text(r.graph);
    ASSERT_TRUE(verify(*tight).has_value()) << verify(*tight).error().message;
    EXPECT_LE(arena_of(*tight), smallest);
    EXPECT_LE(smallest, arena_of(*free));
    tightened += smallest < arena_of(*free);
    const auto want = run_on(Devices::get().ref, *free, r.inputs);
    const auto got = run_on(Devices::get().ref, *tight, r.inputs);
    ASSERT_TRUE(want.has_value() && got.has_value());
    for (size_t o = 0; o < want->size(); ++o)
      ASSERT_TRUE(same_bits(free->outputs[o].dtype, (*want)[o], (*got)[o])) << ir::to_text(r.graph);
  }
  EXPECT_GT(tightened, 5u);
}

}  // namespace
}  // namespace ost::test
