// Contractions in tiles: the bits of level 1 for shapes around the sizes of tiles and for devices of
// several sizes, and the choice of the tile.
#include "core/codegen/tiles.hpp"

#include <limits>

#include "core/codegen/plan.hpp"
#include "tests/unit/codegen/lowered.hpp"

namespace ost {
namespace {

using codegen::Target;

class TiledOn : public test::LoweredGraph, public testing::WithParamInterface<Target> {
 protected:
  void check(std::initializer_list<NodeId> outputs, const std::vector<Bindings>& vars = {{}}) {
    LoweredGraph::check(outputs, GetParam(), vars);
  }
  NodeId matmul(NodeId a, NodeId b) { return must(ir::matmul(g_, a, b)); }
  NodeId relu(NodeId x) { return must(ir::unary(g_, Op::relu, x)); }
  NodeId add(NodeId a, NodeId b) { return must(ir::binary(g_, Op::add, a, b)); }
};

TEST_P(TiledOn, ShapesAroundTheSizesOfTiles) {
  constexpr int64_t kSizes[] = {1, 3, 8, 15, 16, 17, 31, 33, 64, 65, 130};
  constexpr int64_t kSteps[] = {8, 9, 16, 17, 31, 255, 256, 257, 530};
  for (int i = 0; i < 24 && !HasFatalFailure(); ++i) {
    const int64_t m = kSizes[rng_() % std::size(kSizes)], n = kSizes[rng_() % std::size(kSizes)];
    const int64_t k = kSteps[rng_() % std::size(kSteps)];
    SCOPED_TRACE(testing::Message() << m << " x " << n << " over " << k);
    check({matmul(input({m, k}), input({k, n}))});
  }
}

TEST_P(TiledOn, OperandsThatLieAcross) {
  const auto across = [&](int64_t rows, int64_t columns) {
    return must(ir::transpose(g_, input({columns, rows})));
  };
  check({matmul(across(35, 40), input({40, 21}))});
  check({matmul(input({35, 40}), across(40, 21))});
  check({matmul(across(19, 300), across(300, 66))});
  check({must(ir::transpose(g_, matmul(input({35, 40}), input({40, 21}))))});
}

TEST_P(TiledOn, BatchesWithAndWithoutAMatrixOfTheirOwn) {
  check({matmul(input({3, 18, 40}), input({3, 40, 21}))});
  check({matmul(input({3, 18, 40}), input({40, 21}))});
  check({matmul(input({18, 40}), input({3, 40, 21}))});
  check({matmul(input({2, 1, 9, 33}), input({3, 33, 10}))});
}

TEST_P(TiledOn, ExpressionsBeforeAndAfter) {
  const NodeId y = matmul(relu(input({37, 50})), must(ir::unary(g_, Op::tanh, input({50, 29}))));
  check({must(ir::unary(g_, Op::gelu, add(y, input({29}))))});
  const NodeId x = input({20, 48});
  const NodeId gate = must(ir::unary(g_, Op::silu, matmul(x, input({48, 40}))));
  check({must(ir::binary(g_, Op::mul, gate, matmul(x, input({48, 40}))))});
  check({must(ir::unary(g_, Op::sin, matmul(input({9, 300}, DType::f32, 1e5), input({300, 20}))))});
}

TEST_P(TiledOn, OtherTypes) {
  for (const DType t : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8})
    check({matmul(input({21, 300}, t), input({300, 35}, t))});
  check({must(ir::matmul(g_, input({17, 70}, DType::i8), input({70, 18}, DType::i8), DType::i32))});
}

TEST_P(TiledOn, ConvolutionsAreContractionsToo) {
  const auto conv = [&](int64_t channels, int64_t filters, int64_t size, ir::Sliding how,
                        int64_t groups) {
    const NodeId x = input({2, channels, size, size});
    const NodeId w = input({filters, channels / groups, 3, 3});
    return must(ir::conv2d(g_, x, w, input({filters}), how, groups));
  };
  ir::Sliding how;
  check({conv(5, 7, 9, how, 1)});
  how.before = how.after = {1, 1};
  how.stride = {2, 1};
  check({relu(conv(4, 18, 11, how, 1))});
  how.dilation = {2, 2};
  check({conv(4, 6, 12, how, 2)});
}

TEST_P(TiledOn, VariablesIncludingNoPointsAtAll) {
  const Sym n = Sym::var({"n", 0, 300});
  const std::vector<Bindings> values{{{"n", 0}}, {{"n", 1}}, {{"n", 40}}, {{"n", 300}}};
  check({matmul(input({n, 24}), input({24, 19}))}, values);
  check({matmul(input({24, n}), input({n, 19}))}, values);
  check({matmul(input({5, 24}), input({24, n}))}, values);
  check({matmul(input({2, n, 9}), input({2, 9, n}))}, {values.begin(), values.begin() + 3});
}

// Products that underflow leave -0 in a chain; a masked step must not make it +0, nor an empty chain.
TEST_P(TiledOn, ASumOfMinusZeroKeepsItsSign) {
  for (const int64_t k : {9, 256, 257, 300, 512, 520}) {
    const size_t count = static_cast<size_t>(k) * 17;
    const std::vector<float> a(count, 1e-30f), b(count, -1e-30f);
    const auto bytes = [](const std::vector<float>& x) {
      test::Bytes out(x.size() * 4);
      std::memcpy(out.data(), x.data(), out.size());
      return out;
    };
    check({matmul(input({17, k}, DType::f32, bytes(a)), input({k, 17}, DType::f32, bytes(b)))});
    const Sym n = Sym::var({"n", 0, k});
    const NodeId two = input({2, k}, DType::f32, bytes(a));
    check({matmul(two, input({k, 17}, DType::f32, bytes(b)))});
    check({matmul(input({17, n}, DType::f32, bytes(a)), input({n, 17}, DType::f32, bytes(b)))},
          {{{"n", k}}, {{"n", 0}}, {{"n", k / 2}}});
  }
}

TEST_P(TiledOn, InfinitiesAndNaNsStayInTheirRowsAndColumns) {
  const auto with = [&](int64_t rows, int64_t columns, size_t at, float value) {
    const NodeId x = input({rows, columns});
    std::memcpy(&inputs_.back()[at * 4], &value, 4);
    return x;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  check({matmul(with(18, 37, 18 * 37 - 1, nan), with(37, 21, 20, inf))});
}

TEST_P(TiledOn, AFewRowsTimesALargeMatrix) {
  for (const int64_t m : {1, 3, 4}) {
    for (const int64_t k : {512, 513, 1100, 1300})
      check({add(matmul(input({m, k}), relu(input({k, 67}))), input({67}))});
  }
  check({matmul(input({3, 1, 600}), input({3, 600, 20}))});
  const NodeId x = input({2, 600}, DType::bf16);
  const NodeId gate = must(ir::unary(g_, Op::silu, matmul(x, input({600, 40}, DType::bf16))));
  check({must(ir::binary(g_, Op::mul, gate, matmul(x, input({600, 40}, DType::bf16))))});
  check({matmul(input({2, 700}, DType::f64), input({700, 9}, DType::f64))});
  const Sym m = Sym::var({"m", 0, 3}), k = Sym::var({"k", 0, 1500});
  check({matmul(input({m, 600}), input({600, 33}))}, {{{"m", 0}}, {{"m", 2}}, {{"m", 3}}});
  check({matmul(input({2, k}), input({k, 33}))},
        {{{"k", 0}}, {{"k", 1}}, {{"k", 512}}, {{"k", 1499}}});
}

// Two kernels in one: the sum of rows wants 64 lanes.
TEST_P(TiledOn, BesideRowsInOneKernel) {
  const NodeId x = input({20, 100});
  check({matmul(x, input({100, 20})), sum(x, {1})});
  const NodeId y = input({2, 600});
  check({matmul(y, input({600, 20})), sum(y, {1})});
}

INSTANTIATE_TEST_SUITE_P(Targets, TiledOn,
                         testing::Values(Target{8, 16 << 10, 8}, Target{64, 16 << 10, 64},
                                         Target{100, 32 << 10, 1024}, Target{256, 64 << 10, 256},
                                         Target{1024, 64 << 10, 16384}),
                         [](const auto& p) {
                           return fmt::format("{}lanes{}k{}", p.param.max_lanes,
                                              p.param.local_bytes >> 10, p.param.busy_lanes);
                         });

TEST(ChooseTile, FitsEveryDeviceThatHasAGroup) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 4000; ++i) {
    codegen::TileProblem p;
    p.m = 1 + static_cast<int64_t>(rng() % 5000);
    p.n = 1 + static_cast<int64_t>(rng() % 5000);
    p.k = 8 + static_cast<int64_t>(rng() % 5000);
    p.batch = 1 + static_cast<int64_t>(rng() % 3);
    p.contracts = 1 + static_cast<int64_t>(rng() % 2);
    p.element_bytes = rng() % 2 ? 4 : 8;
    const Target t{8 + static_cast<uint32_t>(rng() % 1017),
                   static_cast<uint32_t>(4096 + rng() % (64 << 10)), 1u << (rng() % 18)};
    const auto s = codegen::choose_tile(p, t, 0);
    if (!s) continue;
    EXPECT_LE(s->lanes(), t.max_lanes);
    EXPECT_LE(s->buffers * s->stage() * p.element_bytes, t.local_bytes);
    EXPECT_LE(s->lanes_m * s->bn() * p.contracts * p.element_bytes, t.local_bytes);
    EXPECT_EQ(s->bm() * s->bk % s->lanes(), 0);
    EXPECT_EQ(s->bn() * s->bk % s->lanes(), 0);
    EXPECT_EQ(256 % s->bk, 0);
  }
}

TEST(ChooseTile, DependsOnTheSizeOfTheProblem) {
  const Target gpu{1024, 64 << 10, 16384};
  const auto shape = [&](int64_t m, int64_t n, int64_t k) {
    const auto s = codegen::choose_tile({m, n, k, 1, 1, 4, true}, gpu, 0);
    return fmt::format("{}x{}x{} lanes {}x{} buffers {}", s->bm(), s->bn(), s->bk, s->lanes_m,
                       s->lanes_n, s->buffers);
  };
  EXPECT_EQ(shape(4096, 4096, 4096), "128x128x8 lanes 16x16 buffers 2");
  EXPECT_EQ(shape(512, 512, 512), "64x64x16 lanes 16x16 buffers 2");
  EXPECT_EQ(shape(64, 10, 784), "16x16x16 lanes 16x16 buffers 2");
}

TEST(ChooseSkinny, SharesTheChainsOfColumnsUntilTheDeviceIsBusy) {
  const auto lanes = [](int64_t m, int64_t n, int64_t k, const Target& t) -> int64_t {
    codegen::TileProblem p{m, n, k, 1, 1, 4, k > 256};
    p.most_rows = m;
    p.columns_in_memory = true;
    const auto s = codegen::choose_skinny(p, t, 0);
    return s ? s->lanes() : 0;
  };
  EXPECT_EQ(lanes(1, 4096, 4096, {1024, 64 << 10, 16384}), 256);
  EXPECT_EQ(lanes(1, 1000, 4096, {1024, 64 << 10, 16384}), 512);
  EXPECT_EQ(lanes(1, 1000, 600, {1024, 64 << 10, 16384}), 128);
  EXPECT_EQ(lanes(4, 1000, 600, {64, 16 << 10, 16384}), 32);
  EXPECT_EQ(lanes(5, 1000, 4096, {1024, 64 << 10, 16384}), 0);
  EXPECT_EQ(lanes(1, 1000, 256, {1024, 64 << 10, 16384}), 0);
  EXPECT_EQ(lanes(1, 1 << 20, 4096, {1024, 64 << 10, 16384}), 0);
}

TEST(ChooseTile, WithoutLocalMemoryThereIsNone) {
  EXPECT_FALSE(codegen::choose_tile({64, 64, 64, 1, 1, 4, false}, {256, 512, 16384}, 0));
}

TEST(ChooseTile, ASmallDeviceStagesInOneBuffer) {
  const auto s = codegen::choose_tile({4096, 4096, 4096, 1, 1, 4, true}, {256, 2048, 16384}, 0);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->buffers, 1);
}

TEST(TileBarriers, NoneCanBeLeftOut) {
  ir::Graph g;
  const auto a = *g.add_input({"a", ir::InputKind::argument, DType::f32, {40, 20}, 0, nullptr});
  const auto b = *g.add_input({"b", ir::InputKind::argument, DType::f32, {20, 40}, 0, nullptr});
  g.add_output("y", *ir::matmul(g, a, b));
  const auto program = schedule(g);
  ASSERT_TRUE(program.has_value());
  std::vector<float> x(800, 1.5f), y(800, 0.5f), out(1600);
  const kir::ParamData params[] = {{out.data(), 6400}, {x.data(), 3200}, {y.data(), 3200}};
  ir::Graph few;
  const auto c = *few.add_input({"c", ir::InputKind::argument, DType::f32, {2, 2000}, 0, nullptr});
  const auto d = *few.add_input({"d", ir::InputKind::argument, DType::f32, {2000, 2}, 0, nullptr});
  few.add_output("y", *ir::matmul(few, c, d));
  const auto skinny = schedule(few);
  ASSERT_TRUE(skinny.has_value());
  std::vector<float> u(4000, 1.5f), v(4000, 0.5f);
  const kir::ParamData skinny_params[] = {{out.data(), 16}, {u.data(), 16000}, {v.data(), 16000}};
  test::expect_barriers_needed(skinny->kernels[0].kir, {16, 16 << 10, 16}, skinny_params, 2);
  for (const Target& target : {Target{16, 16 << 10, 16}, Target{16, 2048, 16}})
    test::expect_barriers_needed(program->kernels[0].kir, target, params, 4);
}

}  // namespace
}  // namespace ost
