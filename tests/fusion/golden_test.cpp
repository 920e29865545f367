// What other systems got wrong, one test each: a program, its inputs, and the values that IEEE 754
// and NumPy want, on every device that runs here.
#include <cmath>
#include <limits>

#include "core/ir/ops.hpp"
#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

struct Given {
  std::string name, type;
  Bytes data;
};

Given f32(std::string name, std::string shape, const Floats& v) {
  return {std::move(name), std::move(shape), bytes_of(v)};
}
template <typename T>
Given typed(std::string name, std::string type, const std::vector<T>& v) {
  return {std::move(name), std::move(type), bytes_of(v)};
}

std::vector<Bytes> outputs_on(const runtime::DevicePtr& device, std::string_view text,
                              const std::vector<Given>& inputs, bool fuse) {
  std::vector<TypedName> types;
  std::vector<Bytes> data;
  for (const Given& g : inputs) {
    types.push_back({g.name, g.type});
    data.push_back(g.data);
  }
  const auto program = program_of(text, types, {.fuse = fuse});
  EXPECT_TRUE(program.has_value()) << program.error().message;
  if (!program) return {};
  const auto out = run_on(device, *program, data);
  EXPECT_TRUE(out.has_value()) << device->id() << ": " << out.error().message;
  return out.value_or(std::vector<Bytes>{});
}

// The first result is these floats, bit for bit, on every device, fused and not.
void expect(std::string_view text, const std::vector<Given>& inputs, const Floats& want) {
  ASSERT_FALSE(Devices::get().all.empty());
  for (const auto& device : Devices::get().all) {
    for (const bool fuse : {true, false}) {
      const auto out = outputs_on(device, text, inputs, fuse);
      ASSERT_FALSE(out.empty());
      EXPECT_EQ(float_bits(out[0]), float_bits(bytes_of(want)))
          << text << " on " << device->id() << (fuse ? "" : ", not fused") << ": "
          << fmt::format("{}", fmt::join(values_of<float>(out[0]), ", "));
    }
  }
}

template <typename T>
void expect_ints(std::string_view text, const std::vector<Given>& inputs,
                 const std::vector<T>& want) {
  for (const auto& device : Devices::get().all) {
    for (const bool fuse : {true, false}) {
      const auto out = outputs_on(device, text, inputs, fuse);
      ASSERT_FALSE(out.empty());
      EXPECT_EQ(values_of<T>(out[0]), want) << text << " on " << device->id();
    }
  }
}

// Long enough for whole vectors and a tail: the rule of the first elements is that of the last.
Floats repeat(const Floats& pattern, size_t count) {
  Floats out;
  while (out.size() < count) out.insert(out.end(), pattern.begin(), pattern.end());
  out.resize(count);
  return out;
}

// --- numerics and folding

TEST(Golden, C1_CeilOfAMinusHalfPlusZeroIsPlusZero) {
  expect("1 / (ceil(x) + 0.0)", {f32("x", "2", {-0.5f, -0.0f})}, {kInf, kInf});
}

TEST(Golden, C2_TheSignOfZeroIsOneRuleInVectorsAndTails) {
  for (const size_t n : {1, 7, 16, 33, 67}) {
    const auto shape = fmt::format("{}", n);
    const Floats x = repeat({-0.0f, 0.0f, -1, kNan, 2}, n);
    expect("relu(x)", {f32("x", shape, x)}, repeat({-0.0f, 0.0f, 0.0f, kNan, 2}, n));
    expect("maximum(x, 0.0)", {f32("x", shape, x)}, repeat({0.0f, 0.0f, 0.0f, kNan, 2}, n));
    expect("minimum(x, 0.0)", {f32("x", shape, x)}, repeat({-0.0f, 0.0f, -1, kNan, 0.0f}, n));
    expect("minimum(0.0, x)", {f32("x", shape, x)}, repeat({-0.0f, 0.0f, -1, kNan, 0.0f}, n));
  }
}

TEST(Golden, C3_NoFloatIsFoldedAway) {
  const auto x = f32("x", "4", {kNan, kInf, -3, 0});
  expect("x * 0.0", {x}, {kNan, kNan, -0.0f, 0});
  expect("x * -0.0", {x}, {kNan, kNan, 0, -0.0f});
  expect("x - x", {x}, {kNan, kNan, 0, 0});
  expect("x / x", {x}, {kNan, kNan, 1, kNan});
  expect("x + 0.0", {f32("x", "2", {-0.0f, 1})}, {0, 1});
  expect("0.0 * x + x * 0.0", {x}, {kNan, kNan, -0.0f, 0});
}

TEST(Golden, C5_C6_NanWinsWhereverItStands) {
  const auto x = f32("x", "3,3", {1, kNan, 2, kNan, 1, 2, 1, 2, kNan});
  expect("max(x, axis=1)", {x}, {kNan, kNan, kNan});
  expect("min(x, axis=1)", {x}, {kNan, kNan, kNan});
  expect("max(x, axis=0)", {x}, {kNan, kNan, kNan});
  expect("maximum(x[0], 1.5)", {x}, {1.5f, kNan, 2});
  expect("maximum(1.5, x[0])", {x}, {1.5f, kNan, 2});
  expect("relu(x[1])", {x}, {kNan, 1, 2});
}

TEST(Golden, C7_SelectingNanSelects) {
  expect("where(x > 0, nan, y)", {f32("x", "3", {1, -1, 0}), f32("y", "3", {1, 1, 1})},
         {kNan, 1, 1});
  expect("where(isnan(x), 7.0, x)", {f32("x", "3", {kNan, -1, kInf})}, {7, -1, kInf});
}

TEST(Golden, C8_ArgmaxIsTheFirstNan) {
  const auto x = f32("x", "3,3", {1, kNan, 2, kNan, 4.6f, kNan, 3, 3, 1});
  expect_ints<int64_t>("argmax(x, axis=1)", {x}, {1, 0, 0});
  expect_ints<int64_t>("argmin(x, axis=1)", {x}, {1, 0, 2});
}

TEST(Golden, C10_SoftmaxOfRowsWithoutANumberIsNan) {
  expect("softmax(x)", {f32("x", "1,2", {-kInf, -kInf})}, {kNan, kNan});
  expect("softmax(x)", {f32("x", "1,3", {kInf, 1, 2})}, {kNan, kNan, kNan});
  expect("softmax(x)", {f32("x", "1,3", {kNan, 1, 2})}, {kNan, kNan, kNan});
}

TEST(Golden, C13_CastsRoundAndAreNotRemoved) {
  expect("cast(cast(x, f16), f32)", {f32("x", "3", {0.1f, 65520, 1e-8f})},
         {0.0999755859375f, kInf, 0});
  // 1 + 2^-9 rounds to 1 in bf16: equal there, not before.
  expect_ints<uint8_t>("cast(x, bf16) == cast(1, bf16)", {f32("x", "2", {1.001953125f, 1.5f})},
                       {1, 0});
  // f16: (1 + 2048) rounds to 2048.
  expect("cast((cast(x, f16) + cast(2048, f16)) - cast(2048, f16), f32)", {f32("x", "1", {1})},
         {0});
  expect("(x + 1e8) - 1e8", {f32("x", "1", {1})}, {0});
}

TEST(Golden, C15_IntegersWrap) {
  expect_ints<int32_t>("x + y",
                       {typed<int32_t>("x", "i32[2]", {INT32_MAX, INT32_MIN}),
                        typed<int32_t>("y", "i32[2]", {1, -1})},
                       {INT32_MIN, INT32_MAX});
  expect_ints<int32_t>("x * x", {typed<int32_t>("x", "i32[1]", {65536 + 3})}, {393225});
  expect_ints<int8_t>(
      "x * y", {typed<int8_t>("x", "i8[2]", {100, -128}), typed<int8_t>("y", "i8[2]", {3, -1})},
      {44, -128});
  expect_ints<int32_t>("shl(x, 32)", {typed<int32_t>("x", "i32[1]", {5})}, {0});
}

TEST(Golden, C17_IntegersStayExact) {
  const int64_t big = (int64_t{1} << 40) + 1;
  expect_ints<int64_t>("x + 0", {typed<int64_t>("x", "i64[1]", {big})}, {big});
  expect_ints<int64_t>("x // 3", {typed<int64_t>("x", "i64[2]", {big, -big})},
                       {big / 3, -big / 3 - 1});
  expect_ints<int32_t>(
      "matmul(x, y)",
      {typed<int32_t>("x", "i32[1,2]", {16777217, 1}), typed<int32_t>("y", "i32[2,1]", {1, 1})},
      {16777218});
  expect_ints<int64_t>("sum(x)", {typed<int32_t>("x", "i32[2]", {16777217, 1})}, {16777218});
  expect_ints<int32_t>("cast(x, i32)", {f32("x", "3", {kNan, kInf, 3e9f})},
                       {0, INT32_MAX, INT32_MAX});
  expect_ints<uint8_t>("cast(x, u8)", {f32("x", "3", {-1, 300, kNan})}, {0, 255, 0});
  expect_ints<int32_t>("x // 0 + x % 0", {typed<int32_t>("x", "i32[2]", {5, INT32_MIN})}, {0, 0});
  expect_ints<int32_t>("x // -1", {typed<int32_t>("x", "i32[1]", {INT32_MIN})}, {INT32_MIN});
}

TEST(Golden, C18_NoRewriteChangesAnInfinityOrANan) {
  const float most = std::numeric_limits<float>::max();
  expect("sqrt(abs(square(x)))", {f32("x", "1", {most})}, {kInf});
  expect("square(x * (1 + s)) - square(x)", {f32("x", "3", {1.1f, 0.3f, 7.7f}), f32("s", "", {0})},
         {0, 0, 0});
  expect("exp(log(x))", {f32("x", "3", {-1, 0, kInf})}, {kNan, 0, kInf});
  expect("x / y * y", {f32("x", "1", {1}), f32("y", "1", {0})}, {kNan});
  expect("x * 0.5", {f32("x", "1", {1.2e-38f})}, {0.6e-38f});
}

TEST(Golden, C19_C20_FusedUnfusedAndEveryDeviceAreEqual) {
  const char* programs[] = {"gelu(x @ w + b) * 2 - x @ w", "softmax(x @ w) * b",
                            "tanh(sum(x, axis=1)) + exp(b[0])", "layernorm(x) @ w + b",
                            "cast(sin(x) * cos(x), f16)"};
  const std::vector<TypedName> types = {{"x", "37,61"}, {"w", "61,53"}, {"b", "53"}};
  for (const char* text : programs) {
    std::optional<std::vector<Bytes>> want;
    for (const bool fuse : {false, true}) {
      const auto program = program_of(text, types, {.fuse = fuse});
      ASSERT_TRUE(program.has_value()) << program.error().message;
      for (const auto& device : Devices::get().all) {
        const auto out = run_on(device, *program, noise_for(*program));
        ASSERT_TRUE(out.has_value()) << out.error().message;
        if (!want) want = *out;
        EXPECT_EQ(*out, *want) << text << " on " << device->id() << (fuse ? " fused" : "");
      }
    }
  }
}

// --- fusion, vector tails, broadcasting

TEST(Golden, C22_AColumnAddendIsNotABiasRow) {
  for (const int n : {2, 3, 17}) {
    const int m = n;  // square: a row would fit as well
    Floats a(static_cast<size_t>(m)), w(static_cast<size_t>(n)), c(static_cast<size_t>(m)), want;
    for (int i = 0; i < m; ++i)
      a[i] = static_cast<float>(i + 1), c[i] = static_cast<float>(100 * i);
    for (int j = 0; j < n; ++j) w[j] = static_cast<float>(j - 1);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) want.push_back(a[i] * w[j] + c[i]);
    expect("a @ w + c",
           {f32("a", fmt::format("{},1", m), a), f32("w", fmt::format("1,{}", n), w),
            f32("c", fmt::format("{},1", m), c)},
           want);
  }
}

TEST(Golden, C25_ScalarsAndSlicesOfOneBuffer) {
  expect("log_softmax(x)", {f32("x", "", {3})}, {0});
  expect("minimum(x[0:4], x[2:6]) + maximum(x[1:5], x[2:6])", {f32("x", "6", {5, -1, 3, 2, 8, -4})},
         {3 + 3, -1 + 3, 3 + 8, -4 + 8});
}

TEST(Golden, C27_ReductionsOverNothing) {
  expect("sum(x, axis=1)", {f32("x", "2,0", {})}, {0, 0});
  expect("prod(x, axis=1)", {f32("x", "2,0", {})}, {1, 1});
  expect("mean(x, axis=1)", {f32("x", "2,0", {})}, {kNan, kNan});
  expect("x @ y", {f32("x", "2,0", {}), f32("y", "0,3", {})}, Floats(6, 0.0f));
  const auto refused = program_of("max(x, axis=1)", {{"x", "2,0"}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("max"), std::string::npos);
}

// --- buffers: states that are assigned

class Buffers : public testing::Test {
 protected:
  ir::NodeId must(Result<ir::NodeId> n) {
    EXPECT_TRUE(n.has_value()) << (n ? "" : n.error().message);
    return n.value_or(0);
  }
  ir::NodeId buffer(const char* name, Shape shape) {
    return must(g.add_input({name, ir::InputKind::argument, DType::f32, std::move(shape), 0, {}}));
  }
  ir::NodeId part(ir::NodeId x, int64_t from, int64_t to) {
    const ir::Slice s{Sym(from), Sym(to), 1};
    return must(ir::slice(g, x, std::span(&s, 1)));
  }
  ir::NodeId add(ir::NodeId x, double v) {
    return must(ir::binary(g, ir::Op::add, x, must(ir::scalar_like(g, x, v, false))));
  }
  // Every output on every device.
  void expect(const std::vector<Floats>& inputs, const std::vector<Floats>& want) {
    const auto program = schedule(g);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    ASSERT_TRUE(verify(*program).has_value());
    for (const auto& device : Devices::get().all) {
      std::vector<Bytes> data;
      for (const Floats& f : inputs) data.push_back(bytes_of(f));
      const auto out = run_on(device, *program, data);
      ASSERT_TRUE(out.has_value()) << out.error().message;
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(values_of<float>((*out)[i]), want[i]) << "output " << i << " " << device->id();
    }
  }
  ir::Graph g;
};

TEST_F(Buffers, C30_C35_AShiftOfItselfReadsTheOldContents) {
  const auto s = buffer("s", {4});
  g.add_output("up", must(ir::assign(g, s, part(s, 0, 3), {Sym(1)})));
  expect({{1, 2, 3, 4}}, {{1, 1, 2, 3}});
}

TEST_F(Buffers, C32_StorageOfAnAliasIsNotReused) {
  const auto x = buffer("x", {4});
  const auto a = add(x, 0.25), b = add(x, 0.125);
  g.add_output("y", must(ir::binary(g, ir::Op::add, a, b)));
  expect({{0, 1, 2, 3}}, {{0.375f, 2.375f, 4.375f, 6.375f}});
}

TEST_F(Buffers, C34_ConcatenatedInputsKeepTheirOwnStorage) {
  const auto x = buffer("x", {3}), y = buffer("y", {3});
  const ir::NodeId parts[] = {add(x, 1), add(y, 1), must(ir::flip(g, x, {0}))};
  g.add_output("y", must(ir::concat(g, parts, 0)));
  expect({{1, 2, 3}, {10, 20, 30}}, {{2, 3, 4, 11, 21, 31, 3, 2, 1}});
}

TEST_F(Buffers, C34_AFlipInPlaceReadsTheOldContents) {
  const auto s = buffer("s", {5});
  g.add_output("y", must(ir::assign(g, s, must(ir::flip(g, s, {0})))));
  expect({{1, 2, 3, 4, 5}}, {{5, 4, 3, 2, 1}});
}

TEST_F(Buffers, C35_TwoUpdatesOfOneBufferKeepTheirOrder) {
  const auto s = buffer("s", {4}), v = buffer("v", {2});
  const auto one = must(ir::assign(g, s, v, {Sym(0)}));
  const auto two = must(ir::assign(g, one, part(one, 0, 2), {Sym(2)}));
  g.add_output("y", two);
  expect({{1, 2, 3, 4}, {8, 9}}, {{8, 9, 8, 9}});
}

TEST_F(Buffers, C35_ATransposeBetweenUpdatesSeesTheFirstOnly) {
  const auto s = buffer("s", {2, 2}), v = buffer("v", {1, 2});
  const auto one = must(ir::assign(g, s, v, {Sym(0), Sym(0)}));
  const auto seen = must(ir::transpose(g, one));
  const auto two = must(ir::assign(g, one, v, {Sym(1), Sym(0)}));
  g.add_output("seen", add(seen, 0));
  g.add_output("two", two);
  expect({{1, 2, 3, 4}, {8, 9}}, {{8, 3, 9, 4}, {8, 9, 8, 9}});
}

TEST_F(Buffers, C36_HalvesCanBeSwapped) {
  const auto s = buffer("s", {8});
  const auto left = part(s, 0, 4), right = part(s, 4, 8);
  const auto one = must(ir::assign(g, s, right, {Sym(0)}));
  g.add_output("y", must(ir::assign(g, one, left, {Sym(4)})));
  expect({{1, 2, 3, 4, 5, 6, 7, 8}}, {{5, 6, 7, 8, 1, 2, 3, 4}});
}

TEST_F(Buffers, AnAddendThatAliasesTheOutputIsSafe) {
  const auto s = buffer("s", {3, 3}), a = buffer("a", {3, 2}), b = buffer("b", {2, 3});
  const auto product = must(ir::matmul(g, a, b));
  g.add_output("y", must(ir::assign(g, s, must(ir::binary(g, ir::Op::add, product, s)))));
  expect({{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0, 0, 1, 1, 1}, {1, 2, 3, 10, 20, 30}},
         {{2, 4, 6, 14, 25, 36, 18, 30, 42}});
}

TEST_F(Buffers, AnOperandThatAliasesTheOutputIsReadBefore) {
  const auto s = buffer("s", {2, 2});
  g.add_output("y", must(ir::assign(g, s, must(ir::matmul(g, s, s)))));
  expect({{1, 2, 3, 4}}, {{7, 10, 15, 22}});
}

}  // namespace
}  // namespace ost::test
