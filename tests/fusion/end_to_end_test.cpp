// Programs from their text to values: fusion, limits and tiles on, on every device, against sums
// done here.
#include <cmath>

#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

using Floats = std::vector<float>;

// One result, which every device gives with the same bits.
Floats result(std::string_view text, const std::vector<TypedName>& types,
              const std::vector<Floats>& inputs, const ScheduleOptions& options = {},
              const Bindings& vars = {}) {
  const auto program = program_of(text, types, options);
  EXPECT_TRUE(program.has_value()) << text << ": " << program.error().message;
  if (!program) return {};
  std::vector<Bytes> data;
  for (const Floats& f : inputs) data.push_back(bytes_of(f));
  std::optional<Bytes> want;
  for (const auto& device : Devices::get().all) {
    const auto out = run_on(device, *program, data, vars);
    EXPECT_TRUE(out.has_value()) << text << ": " << out.error().message;
    if (!out) return {};
    if (!want) want = (*out)[0];
    EXPECT_EQ(float_bits((*out)[0]), float_bits(*want)) << text << " on " << device->id();
  }
  return values_of<float>(*want);
}

void expect_near(const Floats& got, const Floats& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
}

Floats product(const Floats& a, const Floats& b, size_t m, size_t k, size_t n) {
  Floats out(m * n, 0);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t p = 0; p < k; ++p) sum += double{a[i * k + p]} * b[p * n + j];
      out[i * n + j] = static_cast<float>(sum);
    }
  return out;
}

Floats rows_softmax(const Floats& x, size_t rows, size_t n) {
  Floats out(x.size());
  for (size_t i = 0; i < rows; ++i) {
    double top = -HUGE_VAL, sum = 0;
    for (size_t j = 0; j < n; ++j) top = std::max(top, double{x[i * n + j]});
    for (size_t j = 0; j < n; ++j) sum += std::exp(x[i * n + j] - top);
    for (size_t j = 0; j < n; ++j)
      out[i * n + j] = static_cast<float>(std::exp(x[i * n + j] - top) / sum);
  }
  return out;
}

TEST(EndToEnd, Relu) {
  EXPECT_EQ(result("relu(A)", {{"A", "2,3"}}, {{-1, 0, 2, 3, -4, 5}}), (Floats{0, 0, 2, 3, 0, 5}));
}

TEST(EndToEnd, Matmul) {
  const Floats a = noise(9 * 33, 1), b = noise(33 * 17, 2);
  expect_near(result("matmul(A, B)", {{"A", "9,33"}, {"B", "33,17"}}, {a, b}),
              product(a, b, 9, 33, 17), 1e-5f);
}

TEST(EndToEnd, Softmax) {
  const Floats a = noise(5 * 70, 1);
  expect_near(result("softmax(A)", {{"A", "5,70"}}, {a}), rows_softmax(a, 5, 70), 1e-7f);
}

TEST(EndToEnd, SeveralKernelsTogether) {
  const Floats a = noise(64, 1), b = noise(64, 2), c = noise(64, 3);
  const std::vector<TypedName> types = {{"A", "8,8"}, {"B", "8,8"}, {"C", "8,8"}};
  const Floats s = rows_softmax(b, 8, 8);
  Floats want;
  for (size_t i = 0; i < 64; ++i) want.push_back(std::max(a[i], 0.0f) + s[i] - c[i]);
  expect_near(result("relu(A)+softmax(B)-C", types, {a, b, c}), want, 1e-6f);
  Floats rb = b;
  for (float& v : rb) v = std::max(v, 0.0f);
  Floats mixed = product(a, rb, 8, 8, 8);
  const Floats sc = rows_softmax(c, 8, 8);
  for (size_t i = 0; i < 64; ++i) mixed[i] += sc[i];
  expect_near(result("matmul(A,relu(B))+softmax(C)", types, {a, b, c}), mixed, 1e-5f);
}

TEST(EndToEnd, SubtractionIsASubtraction) {
  // a - b is not a + (-1 * b) and never 0 - (b - a): the sign of a zero tells.
  EXPECT_EQ(float_bits(bytes_of(result("A - B", {{"A", "4"}, {"B", "4"}},
                                       {{0.0f, -0.0f, 0.0f, -0.0f}, {0.0f, 0.0f, -0.0f, -0.0f}}))),
            float_bits(bytes_of(Floats{0.0f, -0.0f, 0.0f, 0.0f})));
}

// --- edges

TEST(Edges, NothingStaysNothing) {
  const auto program = program_of("relu(A) * 2 + softmax(A)", {{"A", "0,5"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ(to_string(program->outputs[0].shape), "[0, 5]");
  EXPECT_EQ(result("relu(A) * 2 + softmax(A)", {{"A", "0,5"}}, {{}}), Floats{});
}

TEST(Edges, AProductOverNothingIsZero) {
  EXPECT_EQ(result("A @ B + 1", {{"A", "2,0"}, {"B", "0,3"}}, {{}, {}}), Floats(6, 1));
}

TEST(Edges, VectorsAndScalars) {
  EXPECT_EQ(result("A @ B", {{"A", "3"}, {"B", "3"}}, {{1, 2, 3}, {4, 5, 6}}), Floats{32});
  EXPECT_EQ(result("A + B", {{"A", ""}, {"B", ""}}, {{1}, {2}}), Floats{3});
  EXPECT_EQ(result("sum(A)", {{"A", "3"}}, {{1, 2, 3}}), Floats{6});
  EXPECT_EQ(result("softmax(A)", {{"A", ""}}, {{5}}), Floats{1});
}

TEST(Edges, AxesOfSizeOneBroadcast) {
  EXPECT_EQ(result("A + B", {{"A", "1,3"}, {"B", "2,1"}}, {{1, 2, 3}, {10, 20}}),
            (Floats{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(result("A @ B", {{"A", "1,1"}, {"B", "1,1"}}, {{3}, {4}}), Floats{12});
}

TEST(Edges, OneProgramServesEverySize) {
  const std::vector<TypedName> types = {{"x", "n:0..40,4"}};
  for (const int64_t n : {0, 1, 7, 40}) {
    const Floats x = noise(static_cast<size_t>(n) * 4, 1);
    EXPECT_EQ(result("relu(x) + 1", types, {x}, {}, {{"n", n}}).size(), x.size());
  }
}

// --- tiles

size_t tiled_groups(const Program& p) {
  return static_cast<size_t>(std::count_if(p.groups.begin(), p.groups.end(),
                                           [](const Group& g) { return !g.tiles.empty(); }));
}

TEST(TileSize, LongLoopsAreTiledAndShortOnesAreNot) {
  const auto tiled = program_of("x * 2", {{"x", "100,8"}}, {.tile_size = 32});
  ASSERT_TRUE(tiled.has_value()) << tiled.error().message;
  ASSERT_EQ(tiled->groups.size(), 1u);
  EXPECT_EQ(tiled->groups[0].tiles, std::vector<std::string>{"100 as 4 x 32"});
  EXPECT_NE(kir::to_text(tiled->kernels[0].kir).find("const i64 32"), std::string::npos)
      << kir::to_text(tiled->kernels[0].kir);
  const auto whole = program_of("x * 2", {{"x", "100,8"}}, {.tile_size = 100});
  EXPECT_EQ(tiled_groups(*whole), 0u);
  EXPECT_EQ(kir::to_text(whole->kernels[0].kir),
            kir::to_text(program_of("x * 2", {{"x", "100,8"}})->kernels[0].kir));
}

TEST(TileSize, SymbolicLoopsAreTiledByTheirLargestSize) {
  const auto tiled = program_of("x * 2", {{"x", "n:1..100"}}, {.tile_size = 32});
  ASSERT_TRUE(tiled.has_value()) << tiled.error().message;
  EXPECT_EQ(tiled->groups[0].tiles, std::vector<std::string>{"n as floordiv(n + 31, 32) x 32"});
}

TEST(TileSize, NeverChangesABit) {
  const struct {
    const char* text;
    std::vector<TypedName> types;
  } cases[] = {{"gelu(x @ w + b)", {{"x", "37,48"}, {"w", "48,80"}, {"b", "80"}}},
               {"softmax(x) * 3", {{"x", "50,33"}}},
               {"layernorm(x) @ w", {{"x", "50,64"}, {"w", "64,64"}}},
               {"softmax(q @ k.T) @ v", {{"q", "40,32"}, {"k", "70,32"}, {"v", "70,48"}}},
               {"relu(conv2d(x, w))", {{"x", "1,3,20,20"}, {"w", "5,3,3,3"}}},
               {"exp(x) + x.T", {{"x", "45,45"}}},
               {"sum(x, axis=0)", {{"x", "45,45"}}}};
  for (const auto& c : cases) {
    const auto whole = program_of(c.text, c.types);
    ASSERT_TRUE(whole.has_value());
    const auto inputs = noise_for(*whole);
    for (const int64_t size : {1, 7, 16, 32}) {
      const auto tiled = program_of(c.text, c.types, {.tile_size = size});
      ASSERT_TRUE(tiled.has_value()) << c.text << ": " << tiled.error().message;
      EXPECT_TRUE(size >= 16 || tiled_groups(*tiled) > 0u) << c.text;
      for (const auto& device : Devices::get().all) {
        const auto want = run_on(device, *whole, inputs), got = run_on(device, *tiled, inputs);
        ASSERT_TRUE(want.has_value() && got.has_value()) << c.text << ": " << got.error().message;
        EXPECT_EQ(*want, *got) << c.text << " in tiles of " << size << " on " << device->id();
      }
    }
  }
}

// --- what is emitted

TEST(Emission, EveryKernelOfEveryFormCompilesOnEveryDevice) {
  const char* programs[] = {"x + 1",
                            "softmax(x)",
                            "x @ x.T",
                            "relu(x @ x.T + x)",
                            "attention(x, x, x)",
                            "argmax(x, axis=1)",
                            "x[1:, ::-1]",
                            "concat(x, x)",
                            "gather(x, cast(x[0], i32))"};
  for (const char* text : programs) {
    const auto program = program_of(text, {{"x", "16,16"}});
    ASSERT_TRUE(program.has_value()) << text << ": " << program.error().message;
    for (const KernelDesc& k : program->kernels) {
      EXPECT_TRUE(kir::verify(k.kir).has_value()) << text;
      EXPECT_TRUE(kir::prove_bounds(k.kir).has_value()) << text;
    }
    for (const auto& device : Devices::get().all) {
      const auto out = run_on(device, *program, noise_for(*program));
      EXPECT_TRUE(out.has_value()) << text << " on " << device->id();
    }
  }
}

}  // namespace
}  // namespace ost::test
