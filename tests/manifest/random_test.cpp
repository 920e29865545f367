// Programs of the scheduler, from random graphs: text, identity and reports survive the round trip.
#include <cstdlib>
#include <random>

#include "core/manifest/diff.hpp"
#include "core/manifest/inspect.hpp"
#include "tests/manifest/programs.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

uint64_t base_seed() {
  if (const char* text = std::getenv("OSTINATO_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  return 20261130;  // scripts/soak.sh tries others
}

void expect_round_trip(uint64_t seed, const test::RandomGraphOptions& options,
                       const test::TempFolder& folder) {
  SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << seed);
  const test::RandomGraph r = test::random_graph(seed, options);
  auto program = schedule(r.graph);
  ASSERT_OK(program);
  const Document document{std::move(*program), {}, {}};
  const auto text = to_text(document);
  ASSERT_OK(text);
  const auto back = from_text(*text);
  ASSERT_OK(back);
  EXPECT_EQ(to_text(*back).value_or(""), *text);
  EXPECT_EQ(program_id(back->program).value_or("a"), program_id(document.program).value_or("b"));
  EXPECT_EQ(diff_text(diff(document.program, back->program)), "");
  EXPECT_FALSE(inspect_text(*back, true).empty());
  ASSERT_OK(save(document, folder / "r.ost.json", {.inline_bytes = 16}));
  const auto loaded = load(folder / "r.ost.json");
  ASSERT_OK(loaded);
  EXPECT_EQ(to_text(*loaded).value_or(""), *text);
}

TEST(ManifestRandom, RoundTrip) {
  const test::TempFolder folder;
  const uint64_t seed = base_seed();
  for (uint64_t i = 0; i < 60 && !testing::Test::HasFatalFailure(); ++i) {
    expect_round_trip(seed + i, {.operations = 12, .symbolic = i % 2 == 1, .states = i % 3 == 0},
                      folder);
  }
}

}  // namespace
}  // namespace ost::manifest
