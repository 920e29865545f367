// Damaged expressions never crash: each gives a graph that verifies or an error with a place.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/dsl/dsl.hpp"

namespace ost::dsl {
namespace {

constexpr const char* kSeeds[] = {
    "matmul(A,relu(B.T))+softmax(A)[0:1]",
    "h = A @ B.T; layernorm(h, eps=1e-3) * n // 2",
    "where(A > 0, A, -A ** 2)[::-1, none, ..., 1:n]",
    "concat((A, B), axis=-1).sum(axis=(0, 1), keepdims=true)",
    "attention(A, B, B, causal=true, scale=0.5)",
    "pad(reshape(A, -1, 2), ((1, 0), (n, 2)), value=-inf)",
    "x: f32[m:1..4, 3]; w, v: f16[3]\ndef f(t, by=2): t * by\na, b = f(x), x.f(by=w) + v * m",
    "def f(t):\n  t = softmax(t @ B.mT) @ B\n  return t\nf(A) + conv2d(A.reshape(1, 2, 2, 2), "
    "B.reshape(2, 2, 2, 1), padding=1).sum()",
    "max_pool2d(pad(A.reshape(1, 1, 2, 4), 1), (2, 3), stride=2) - avg_pool2d(B.reshape(1, 1, 2, "
    "4), 2)",
    "scatter_add(A, arange(2), cast(B, f16), axis=0) % 3",
};

TEST(DslMutations, NeverCrash) {
  const char* given = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 0) : 20261130;  // scripts/soak.sh tries others
  std::printf("seed %llu (OSTINATO_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const Var n{"n", 0, 3};
  const Binding inputs[] = {{"A", DType::f32, {2, 4}, ir::InputKind::argument, nullptr},
                            {"B", DType::f32, {2, 4}, ir::InputKind::argument, nullptr}};
  const std::string_view alphabet = "AB0123456789.,:;()[]+-*/%@<>=&|^~ \n#nTeaxisnone\x80\xff";
  size_t built = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = kSeeds[random() % std::size(kSeeds)];
    for (uint64_t edits = random() % 4; edits-- > 0;) {
      const size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 4) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        case 2:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 8));
      }
      if (text.empty()) text = "A";
    }
    SCOPED_TRACE(text);
    const auto graph = build(text, inputs, std::span(&n, 1));
    if (graph) {
      const auto verified = ir::verify(*graph);
      EXPECT_TRUE(verified) << verified.error().message;
      const auto again = ir::parse(ir::to_text(*graph));
      EXPECT_TRUE(again) << again.error().message;
      ++built;
    } else {
      EXPECT_TRUE(graph.error().message.starts_with("dsl: ")) << graph.error().message;
      EXPECT_EQ(graph.error().status, OST_INVALID_ARGUMENT) << graph.error().message;
      ++refused;
    }
  }
  EXPECT_GT(built, 300u);
  EXPECT_GT(refused, 300u);
}

}  // namespace
}  // namespace ost::dsl
