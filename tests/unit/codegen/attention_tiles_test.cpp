// Attention in tiles: the bits of level 1 for rows, keys and channels around the sizes of tiles and
// blocks, with masks of all kinds, for devices of several sizes.
#include "core/codegen/attention_tiles.hpp"

#include <limits>

#include "tests/unit/codegen/lowered.hpp"

namespace ost {
namespace {

using codegen::Target;

class AttentionOn : public test::LoweredGraph, public testing::WithParamInterface<Target> {
 protected:
  void check(NodeId output, const std::vector<Bindings>& vars = {{}}) {
    LoweredGraph::check({output}, GetParam(), vars);
  }
  NodeId attention(NodeId q, NodeId k, NodeId v, std::optional<NodeId> mask = {},
                   bool causal = false) {
    return must(ir::attention(g_, q, k, v, mask, 0.3, causal));
  }
  void set(size_t input, size_t at, float value) {
    std::memcpy(&inputs_[input][at * 4], &value, 4);
  }
};

TEST_P(AttentionOn, RowsKeysDepthsAndChannelsAroundTheSizesOfTiles) {
  constexpr int64_t kRows[] = {1, 3, 15, 16, 17, 33, 65};
  constexpr int64_t kKeys[] = {1, 2, 16, 63, 64, 65, 80, 96, 100, 128, 130};
  constexpr int64_t kDepths[] = {1, 7, 16, 17, 64, 257};
  constexpr int64_t kChannels[] = {1, 3, 8, 16, 17, 33, 65};
  for (int i = 0; i < 12 && !HasFatalFailure(); ++i) {
    const int64_t rows = kRows[rng_() % std::size(kRows)], keys = kKeys[rng_() % std::size(kKeys)];
    const int64_t depth = kDepths[rng_() % std::size(kDepths)];
    const int64_t channels = kChannels[rng_() % std::size(kChannels)];
    SCOPED_TRACE(testing::Message() << rows << " rows " << keys << " keys " << depth << " deep "
                                    << channels << " channels");
    check(attention(input({2, rows, depth}), input({2, keys, depth}), input({2, keys, channels}),
                    {}, i % 3 == 0));
  }
}

TEST_P(AttentionOn, ManyChunks) {
  for (const int64_t keys : {1023, 1024, 1025, 2113})
    check(attention(input({5, 8}), input({keys, 8}), input({keys, 20}), {}, keys % 2 == 0));
}

TEST_P(AttentionOn, MasksOfTruthValuesAndBiases) {
  for (const int64_t keys : {20, 64, 150}) {
    test::Bytes seen(static_cast<size_t>(keys) * 19);
    for (uint8_t& s : seen) s = rng_() % 3 == 0;
    std::fill_n(seen.begin(), keys, uint8_t{0});  // row 0 sees nothing
    const NodeId q = input({2, 19, 8}), k = input({2, keys, 8}), v = input({2, keys, 18});
    check(attention(q, k, v, input({19, keys}, DType::boolean, seen)));
    const NodeId r = input({2, 19, 8}), l = input({2, keys, 8}), w = input({2, keys, 18});
    check(attention(r, l, w, input({2, 19, keys}, DType::f32, 5.0)));
  }
}

TEST_P(AttentionOn, AMaskedKeyContributesNothingEvenIfItsValuesAreNaN) {
  const int64_t keys = 70;
  test::Bytes seen(70 * 18, 1);
  for (size_t row = 0; row < 18; ++row) seen[row * 70 + 3] = seen[row * 70 + 66] = 0;
  const NodeId q = input({18, 8}), k = input({keys, 8}), v = input({keys, 20});
  for (size_t c = 0; c < 20; ++c) set(2, 3 * 20 + c, std::numeric_limits<float>::quiet_NaN());
  for (size_t c = 0; c < 20; ++c) set(2, 66 * 20 + c, std::numeric_limits<float>::infinity());
  check(attention(q, k, v, input({18, keys}, DType::boolean, seen)));
}

// Keys of the last block that are not there stand next to ones whose values are special.
TEST_P(AttentionOn, SpecialNumbersStayWhereTheyAre) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float special : {inf, -inf, std::numeric_limits<float>::quiet_NaN(), -0.0f}) {
    const NodeId q = input({17, 8}), k = input({66, 8}), v = input({66, 20});
    set(2, 65 * 20 + 1, special);
    set(1, 65 * 8, special);
    check(attention(q, k, v));
    const NodeId r = input({17, 8}), l = input({66, 8}), w = input({66, 20});
    set(0, 8 * 4, special);
    check(attention(r, l, w, {}, true));
  }
}

TEST_P(AttentionOn, SumsOfMinusZeroKeepTheirSign) {
  const NodeId q = input({3, 4}), k = input({70, 4});
  const NodeId v = input({70, 5});
  for (size_t i = 0; i < 350; ++i) set(2, i, i % 2 ? -1e-45f : -0.0f);
  check(attention(q, k, v));
}

TEST_P(AttentionOn, VariablesIncludingNoKeysAndNoRows) {
  const Sym n = Sym::var({"n", 0, 140});
  const std::vector<Bindings> values{{{"n", 0}}, {{"n", 1}}, {{"n", 64}}, {{"n", 140}}};
  check(attention(input({2, n, 8}), input({2, n, 8}), input({2, n, 9}), {}, true), values);
  check(attention(input({2, 5, 8}), input({2, n, 8}), input({2, n, 9})), values);
  const Sym m = Sym::var({"m", 0, 1500});
  check(attention(input({2, 8}), input({m, 8}), input({m, 9})),
        {{{"m", 0}}, {{"m", 1024}}, {{"m", 1500}}});
}

TEST_P(AttentionOn, AnExpressionOfTheResult) {
  const NodeId y = attention(input({2, 20, 8}), input({2, 40, 8}), input({2, 40, 12}));
  check(must(ir::binary(g_, Op::add, must(ir::unary(g_, Op::tanh, y)), input({12}))));
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionOn,
                         testing::Values(Target{8, 16 << 10, 8}, Target{64, 16 << 10, 64},
                                         Target{128, 32 << 10, 128}, Target{256, 64 << 10, 256},
                                         Target{1024, 64 << 10, 16384}),
                         [](const auto& p) {
                           return fmt::format("{}lanes{}k{}", p.param.max_lanes,
                                              p.param.local_bytes >> 10, p.param.busy_lanes);
                         });

TEST(ChooseAttention, FitsEveryDeviceThatHasAGroup) {
  std::mt19937_64 rng(1);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(rng() % n); };
  size_t found = 0;
  for (int i = 0; i < 4000; ++i) {
    const codegen::AttentionProblem p{1 + below(3000), 1 + below(300), 1 + below(5000),
                                      1 + below(300),  1 + below(20),  below(2) == 0};
    const Target t{8 + static_cast<uint32_t>(below(1017)),
                   static_cast<uint32_t>(4096 + below(64 << 10)), 1u << below(18)};
    const auto s = codegen::choose_attention(p, t, 0);
    if (!s) continue;
    ++found;
    EXPECT_LE(s->scores.lanes(), t.max_lanes);
    EXPECT_LE(s->local_bytes(), t.local_bytes);
    EXPECT_EQ(s->scores.bn(), 64);
    EXPECT_EQ(64 % s->lanes_of_row(), 0);
  }
  EXPECT_GT(found, 3000u);
}

TEST(ChooseAttention, KnownProblems) {
  const auto shape = [](const Target& t) {
    const auto s = codegen::choose_attention({512, 64, 512, 64, 8, false}, t, 0);
    return s ? fmt::format("{} rows {} channels {} lanes {} bytes", s->rows(), s->channels(),
                           s->scores.lanes(), s->local_bytes())
             : "none";
  };
  EXPECT_EQ(shape({1024, 64 << 10, 16384}), "64 rows 64 channels 256 lanes 38208 bytes");
  EXPECT_EQ(shape({256, 16 << 10, 16384}), "32 rows 64 channels 128 lanes 13760 bytes");
  EXPECT_EQ(shape({64, 16 << 10, 16384}), "16 rows 64 channels 64 lanes 10880 bytes");
}

TEST(AttentionBarriers, NoneCanBeLeftOut) {
  ir::Graph g;
  const auto add = [&](const char* name, Shape shape) {
    return *g.add_input({name, ir::InputKind::argument, DType::f32, std::move(shape), 0, nullptr});
  };
  const auto q = add("q", {40, 20}), k = add("k", {1200, 20}), v = add("v", {1200, 20});
  g.add_output("y", *ir::attention(g, q, k, v, std::nullopt, 0.3, true));
  const auto program = schedule(g);
  ASSERT_TRUE(program.has_value());
  std::vector<float> a(800, 0.5f), b(24000, 0.25f), c(24000, 0.125f), out(800);
  const kir::ParamData params[] = {
      {out.data(), 3200}, {b.data(), 96000}, {a.data(), 3200}, {c.data(), 96000}};
  for (const uint32_t lanes : {32u, 64u})
    test::expect_barriers_needed(program->kernels[0].kir, {lanes, 16 << 10, lanes}, params, 10);
}

}  // namespace
}  // namespace ost
