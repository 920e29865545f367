// Which programs become how many kernels, and of what kind. A change of a number here is a change
// of behaviour; docs/fusion.md and the changelog say so.
#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<TypedName> types;
  size_t kernels;
  GroupKind kind;  // of the last group
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class KernelCount : public testing::TestWithParam<Case> {};

TEST_P(KernelCount, IsAsTheTableSays) {
  const Case& c = GetParam();
  const auto program = program_of(c.text, c.types);
  ASSERT_TRUE(program.has_value()) << program.error().message;
  std::string groups;
  for (const Group& g : program->groups)
    groups += fmt::format("\n  {}: {} ({})", name_of(g.kind), fmt::join(g.ops, " "), g.ended);
  EXPECT_EQ(program->groups.size(), c.kernels) << groups;
  EXPECT_EQ(name_of(program->groups.back().kind), name_of(c.kind)) << groups;
}

const std::vector<TypedName> kLinear = {{"x", "32,768"}, {"w", "3072,768"}, {"b", "3072"},
                                        {"c", "32,1"},   {"r", "32,3072"},  {"s", ""}};
const std::vector<TypedName> kRows = {{"x", "64,128"}, {"g", "128"}, {"b", "128"}, {"y", "64,128"}};
const std::vector<TypedName> kHeads = {{"q", "2,12,s:1..512,64"},
                                       {"k", "2,12,t:0..2048,64"},
                                       {"v", "2,12,t,64"},
                                       {"m", "bool[s,t]"},
                                       {"a", "s,t"}};
const std::vector<TypedName> kImage = {{"x", "2,8,17,19"},   {"w", "16,8,3,3"}, {"b", "16"},
                                       {"g", "16,4,3,3"},    {"d", "8,1,3,3"},  {"r", "2,16,17,19"},
                                       {"y", "n:1..8,8,9,9"}};

INSTANTIATE_TEST_SUITE_P(
    Epilogues, KernelCount,
    testing::Values(
        Case{"linear_relu", "relu(linear(x, w, b))", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_silu", "silu(linear(x, w, b))", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_gelu", "gelu(linear(x, w, b))", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_sigmoid", "sigmoid(linear(x, w))", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_tanh", "tanh(linear(x, w, b))", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_residual", "linear(x, w, b) + r", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_mul", "linear(x, w, b) * r", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_clamp", "clip(linear(x, w), -1, 1)", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"linear_cast", "cast(linear(x, w, b), f16)", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"column_bias", "x @ w.T + c", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"full_bias", "x @ w.T + r", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"scalar_bias", "x @ w.T + s", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"addmm", "0.5 * r + 2 * (x @ w.T)", kLinear, 1, GroupKind::gemm_epilogue},
        Case{"chain", "where(r > 0, relu(x @ w.T + b) * c - r, -r) / 3", kLinear, 1,
             GroupKind::gemm_epilogue},
        Case{"gated",
             "silu(x @ w.T) * (x @ u)",
             {{"x", "32,768"}, {"w", "3072,768"}, {"u", "768,3072"}},
             1,
             GroupKind::gemm_epilogue},
        Case{"batched",
             "relu(a @ b + c)",
             {{"a", "4,8,16"}, {"b", "4,16,24"}, {"c", "24"}},
             1,
             GroupKind::gemm_epilogue},
        Case{"three_axes",
             "relu(linear(a, w, b))",
             {{"a", "4,n:1..9,16"}, {"w", "24,16"}, {"b", "24"}},
             1,
             GroupKind::gemm_epilogue},
        Case{"split_heads",
             "(x @ w + b).reshape(32, 12, 64).permute(1, 0, 2)",
             {{"x", "32,768"}, {"w", "768,768"}, {"b", "768"}},
             1,
             GroupKind::gemm_epilogue},
        Case{"siblings",
             "(x @ a + b, x @ c + d, x @ e)",
             {{"x", "32,64"},
              {"a", "64,64"},
              {"b", "64"},
              {"c", "64,64"},
              {"d", "64"},
              {"e", "64,64"}},
             1,
             GroupKind::gemm_epilogue}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Rows, KernelCount,
    testing::Values(
        Case{"silu_mul", "silu(x) * y", kRows, 1, GroupKind::pointwise},
        Case{"several_outputs", "e = exp(x); (e * y, e + y, where(x > 0, x, y))", kRows, 1,
             GroupKind::pointwise},
        Case{"casts", "cast(cast(x, f16) * 2, f32) + cast(y > 0, f32)", kRows, 1,
             GroupKind::pointwise},
        Case{"softmax", "softmax(x)", kRows, 1, GroupKind::row},
        Case{"softmax_around", "softmax(relu(x) * 2 + y) * g + y", kRows, 1, GroupKind::row},
        Case{"softmax_columns", "softmax(x, axis=0)", kRows, 1, GroupKind::row},
        Case{"log_softmax", "log_softmax(x * g) - y", kRows, 1, GroupKind::row},
        Case{"logsumexp", "logsumexp(x + y) * 2", kRows, 1, GroupKind::row},
        Case{"layernorm", "layernorm(x, g, b)", kRows, 1, GroupKind::row},
        Case{"layernorm_around", "gelu(layernorm(x + y, g, b))", kRows, 1, GroupKind::row},
        Case{"rmsnorm", "rmsnorm(x * y, g) + x", kRows, 1, GroupKind::row},
        Case{"argmax", "argmax(abs(x) + y, axis=1) + 1", kRows, 1, GroupKind::row},
        Case{"row_before_a_product", "layernorm(x, g, b) @ y.T", kRows, 2, GroupKind::gemm},
        Case{"mean", "mean(x * y, axis=1)", kRows, 1, GroupKind::row},
        Case{"beside_a_product",
             "matmul(x, relu(p)) + softmax(c)",
             {{"x", "8,16"}, {"p", "16,8"}, {"c", "8,8"}},
             2,
             GroupKind::row}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Attention, KernelCount,
    testing::Values(
        Case{"builder", "attention(q, k, v)", kHeads, 1, GroupKind::attention},
        Case{"causal", "attention(q, k, v, causal=true)", kHeads, 1, GroupKind::attention},
        Case{"masked", "attention(q, k, v, mask=m)", kHeads, 1, GroupKind::attention},
        Case{"biased", "attention(q, k, v, mask=a)", kHeads, 1, GroupKind::attention},
        Case{"by_hand", "softmax(q @ k.mT / 8) @ v", kHeads, 1, GroupKind::attention},
        Case{"by_hand_scaled", "softmax(q @ k.mT * 0.125) @ v", kHeads, 1, GroupKind::attention},
        Case{"by_hand_root", "softmax(q @ k.mT / sqrt(64.0)) @ v", kHeads, 1, GroupKind::attention},
        Case{"by_hand_query", "softmax((q * 0.125) @ k.mT) @ v", kHeads, 1, GroupKind::attention},
        Case{"by_hand_added", "softmax(q @ k.mT / 8 + a) @ v", kHeads, 1, GroupKind::attention},
        Case{"by_hand_masked", "softmax(where(m, q @ k.mT / 8, -inf)) @ v", kHeads, 1,
             GroupKind::attention},
        Case{"by_hand_causal",
             "softmax(where(unsqueeze(arange(t), 0) <= unsqueeze(arange(s), 1), q @ k.mT / 8, "
             "-inf)) @ v",
             kHeads, 1, GroupKind::attention},
        Case{"one_head",
             "softmax(q @ k.T / 8) @ v",
             {{"q", "5,64"}, {"k", "9,64"}, {"v", "9,64"}},
             1,
             GroupKind::attention}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Windows, KernelCount,
    testing::Values(
        Case{"conv", "conv2d(x, w)", kImage, 1, GroupKind::conv},
        Case{"conv_bias_relu", "relu(conv2d(x, w, b, padding=1))", kImage, 1,
             GroupKind::conv_epilogue},
        Case{"conv_residual", "relu(conv2d(x, w, b, padding=1) + r)", kImage, 1,
             GroupKind::conv_epilogue},
        Case{"conv_strided", "gelu(conv2d(x, w, b, stride=(2, 3), padding=(2, 1), dilation=2))",
             kImage, 1, GroupKind::conv_epilogue},
        Case{"conv_grouped", "relu(conv2d(x, g, b, groups=2))", kImage, 1,
             GroupKind::conv_epilogue},
        Case{"conv_depthwise", "relu(conv2d(x, d, groups=8))", kImage, 1, GroupKind::conv_epilogue},
        Case{"conv_batch", "relu(conv2d(y, w, b))", kImage, 1, GroupKind::conv_epilogue},
        Case{"max_pool", "relu(max_pool2d(x, 3, stride=2, padding=1)) * 2", kImage, 1,
             GroupKind::row},
        Case{"avg_pool", "avg_pool2d(relu(x), 2)", kImage, 1, GroupKind::row},
        Case{"avg_pool_inside", "avg_pool2d(x, 3, padding=1, count_padding=false)", kImage, 1,
             GroupKind::row}),
    name_of_case);

TEST(Kernels, AreCompiledOnceForEqualPrograms) {
  const std::vector<TypedName> types = {{"a", "8,8"}, {"b", "8,8"}, {"c", "8,8"}};
  const auto counts = [&](const char* text) {
    const auto program = program_of(text, types);
    EXPECT_TRUE(program.has_value()) << text;
    return std::pair(program->kernels.size(), program->steps.size());
  };
  // Other names, other buffers, the same operations.
  EXPECT_EQ(counts("relu(relu(a @ b) @ c)"), std::pair(size_t{1}, size_t{2}));
  EXPECT_EQ(counts("(exp(a) * 2, exp(b) * 2)"), std::pair(size_t{1}, size_t{2}));
  // Floats by their bits.
  EXPECT_EQ(counts("(exp(a) * 0.0, exp(b) * -0.0)"), std::pair(size_t{2}, size_t{2}));
  EXPECT_EQ(counts("(exp(a) + nan, exp(b) + nan)"), std::pair(size_t{1}, size_t{2}));
}

TEST(MemoryBudget, SplitsAGroupWhereAnIntermediateIsLarger) {
  const std::vector<TypedName> types = {{"A", "100,100"}, {"B", "100,100"}, {"C", "100,100"}};
  const auto groups = [&](int64_t budget) {
    const auto program = program_of("A+B+C", types, {.memory_budget = budget});
    EXPECT_TRUE(program.has_value());
    return program ? program->groups.size() : 0;
  };
  EXPECT_EQ(groups(1000), 2u);
  EXPECT_EQ(groups(9999), 2u);
  EXPECT_EQ(groups(10000), 1u);
  EXPECT_EQ(groups(-1), 1u);
}

}  // namespace
}  // namespace ost::test
