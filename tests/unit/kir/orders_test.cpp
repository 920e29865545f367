// The order tags, against direct transcriptions of their definitions in docs/numerics.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kir/math.hpp"
#include "core/kir/strict_exp.hpp"
#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

// lanes64: acc[i mod 64] takes element i; then acc[l] += acc[l + w] for w = 32 .. 1.
template <class T, class F>
T lanes64(size_t n, T identity, F&& step) {
  T acc[64];
  std::fill_n(acc, 64, identity);
  for (size_t i = 0; i < n; ++i) acc[i % 64] = step(i, acc[i % 64]);
  for (int w = 32; w >= 1; w /= 2)
    for (int l = 0; l < w; ++l) acc[l] = acc[l] + acc[l + w];
  return acc[0];
}
template <class T>
T tree_sum(const std::vector<T>& x) {
  if (x.size() <= 4096) return lanes64<T>(x.size(), 0, [&](size_t i, T a) { return a + x[i]; });
  std::vector<T> partial;
  for (size_t j = 0; j < x.size(); j += 4096)
    partial.push_back(
        tree_sum(std::vector<T>(x.begin() + static_cast<long>(j),
                                x.begin() + static_cast<long>(std::min(x.size(), j + 4096)))));
  return tree_sum(partial);
}
template <class T>
T tree_dot(const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> partial;
  for (size_t j = 0; j < x.size() || j == 0; j += 4096)
    partial.push_back(lanes64<T>(std::min<size_t>(x.size() - j, 4096), 0,
                                 [&](size_t i, T a) { return std::fma(x[j + i], y[j + i], a); }));
  return partial.size() == 1 ? partial[0] : tree_sum(partial);
}
// blk256: a chain from +0 for each 256 elements, then s0 + s1 + ...
template <class T, class F>
T blk256(size_t n, F&& step) {
  T total = 0;
  for (size_t first = 0; first < n; first += 256) {
    T s = 0;
    for (size_t i = first; i < std::min(n, first + 256); ++i) s = step(i, s);
    total = first == 0 ? s : total + s;
  }
  return total;
}

template <class T>
constexpr DType kType = sizeof(T) == 4 ? DType::f32 : DType::f64;

template <class T>
T reduce(Order order, const std::vector<T>& x) {
  Oracle o;
  const Value p = o.input(kType<T>, x);
  const Value out = o.output(kType<T>, 1);
  const Value r = o.axis(static_cast<int64_t>(x.size()), Role::reduce);
  o.b.store(out, o.b.i64(0), o.b.reduce(Combine::sum, order, o.b.load(p, r), r));
  return o.result<T>()[0];
}
template <class T>
T contract(Order order, const std::vector<T>& x, const std::vector<T>& y) {
  Oracle o;
  const Value px = o.input(kType<T>, x), py = o.input(kType<T>, y);
  const Value out = o.output(kType<T>, 1);
  const Value r = o.axis(static_cast<int64_t>(x.size()), Role::reduce);
  o.b.store(out, o.b.i64(0), o.b.contract(order, o.b.load(px, r), o.b.load(py, r), r));
  return o.result<T>()[0];
}

constexpr size_t kLengths[] = {0,   1,   2,    63,   64,   65,   255,  256,  257,  511,
                               512, 513, 1000, 4095, 4096, 4097, 5000, 8192, 70001};

template <class T>
class Orders : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Orders, Floats);

TYPED_TEST(Orders, TreeSumIs64LanesInChunksOf4096) {
  for (size_t n : kLengths) {
    const auto x = numbers<TypeParam>(n, n + 3);
    EXPECT_TRUE(same_bits(reduce(Order::tree, x), tree_sum(x))) << "n = " << n;
  }
}

TYPED_TEST(Orders, TreeContractionIsFmaInLanesAndPlainSumsOfChunks) {
  for (size_t n : kLengths) {
    const auto x = numbers<TypeParam>(n, n + 3), y = numbers<TypeParam>(n, n + 9);
    EXPECT_TRUE(same_bits(contract(Order::tree, x, y), tree_dot(x, y))) << "n = " << n;
  }
}

TYPED_TEST(Orders, Blk256SumIsChainsOf256) {
  for (size_t n : kLengths) {
    const auto x = numbers<TypeParam>(n, n + 5);
    EXPECT_TRUE(same_bits(reduce(Order::blk256, x),
                          blk256<TypeParam>(n, [&](size_t i, TypeParam s) { return s + x[i]; })))
        << "n = " << n;
  }
}

TYPED_TEST(Orders, Blk256ContractionIsFmaChainsOf256) {
  for (size_t n : kLengths) {
    const auto x = numbers<TypeParam>(n, n + 5), y = numbers<TypeParam>(n, n + 7);
    const auto want =
        blk256<TypeParam>(n, [&](size_t i, TypeParam s) { return std::fma(x[i], y[i], s); });
    EXPECT_TRUE(same_bits(contract(Order::blk256, x, y), want)) << "n = " << n;
  }
}

TYPED_TEST(Orders, TheOrdersDifferSoThatTheTestsAboveMeanSomething) {
  const auto x = numbers<TypeParam>(5000);
  TypeParam ascending = 0;
  for (TypeParam v : x) ascending += v;
  EXPECT_NE(tree_sum(x), ascending);
  EXPECT_NE(tree_sum(x),
            (blk256<TypeParam>(x.size(), [&](size_t i, TypeParam s) { return s + x[i]; })));
}

// More partial sums than one chunk holds: the rule is applied to them once more.
TEST(OrderTree, PartialsBeyondOneChunkAreReducedByTheSameRule) {
  const size_t n = (size_t{1} << 24) + 4097;
  const auto x = numbers<float>(n);
  EXPECT_TRUE(same_bits(reduce(Order::tree, x), tree_sum(x)));
}

TEST(OrderTree, SumsNeverGiveMinusZero) {
  EXPECT_TRUE(same_bits(reduce(Order::tree, std::vector<float>{-0.0f, -0.0f}), 0.0f));
  EXPECT_TRUE(same_bits(reduce(Order::blk256, std::vector<float>{-0.0f}), 0.0f));
}

TEST(OrderTree, ProductsStartAtOne) {
  const auto x = numbers<float>(200);
  Oracle o;
  const Value p = o.input(DType::f32, x);
  const Value out = o.output(DType::f32, 1);
  const Value r = o.axis(200, Role::reduce);
  o.b.store(out, o.b.i64(0), o.b.reduce(Combine::prod, Order::tree, o.b.load(p, r), r));
  float acc[64];
  std::fill_n(acc, 64, 1.0f);
  for (size_t i = 0; i < x.size(); ++i) acc[i % 64] *= x[i];
  for (int w = 32; w >= 1; w /= 2)
    for (int l = 0; l < w; ++l) acc[l] *= acc[l + w];
  EXPECT_TRUE(same_bits(o.result<float>()[0], acc[0]));
}

// --- attn ---

float max_nan_wins(float a, float b) { return scalar::max(a, b); }

struct AttnPart {
  float m = -std::numeric_limits<float>::infinity(), l = 0;
  std::vector<float> u;
};

// Keys [first, end) of one row, in blocks of 64.
AttnPart attn_part(const std::vector<float>& score, const std::vector<uint8_t>& mask,
                   const std::vector<float>& v, size_t channels, size_t first, size_t end) {
  constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
  AttnPart s;
  s.u.assign(channels, 0);
  for (size_t j0 = first; j0 < end; j0 += 64) {
    const size_t j1 = std::min(end, j0 + 64);
    float block_max = kMinusInf;
    for (size_t j = j0; j < j1; ++j)
      if (mask[j]) block_max = max_nan_wins(block_max, score[j]);
    const float m = max_nan_wins(s.m, block_max), ms = m == kMinusInf ? 0 : m;
    const float a = scalar::strict_exp(s.m - ms);
    std::vector<float> p(j1 - j0);
    for (size_t j = j0; j < j1; ++j) p[j - j0] = mask[j] ? scalar::strict_exp(score[j] - ms) : 0;
    s.l = std::fma(s.l, a,
                   lanes64<float>(p.size(), 0, [&](size_t i, float acc) { return acc + p[i]; }));
    s.m = m;
    for (size_t c = 0; c < channels; ++c) {
      float u = s.u[c] * a;
      for (size_t j = j0; j < j1; ++j)
        if (mask[j]) u = std::fma(p[j - j0], v[j * channels + c], u);
      s.u[c] = u;
    }
  }
  return s;
}

std::vector<float> attn_row(const std::vector<float>& score, const std::vector<uint8_t>& mask,
                            const std::vector<float>& v, size_t channels) {
  const size_t keys = score.size();
  AttnPart s = attn_part(score, mask, v, channels, 0, std::min<size_t>(keys, 1024));
  for (size_t j = 1024; j < keys; j += 1024) {
    const AttnPart t = attn_part(score, mask, v, channels, j, std::min(keys, j + 1024));
    const float m = max_nan_wins(s.m, t.m), ms = std::isinf(m) && m < 0 ? 0 : m;
    const float x = scalar::strict_exp(s.m - ms), y = scalar::strict_exp(t.m - ms);
    s.m = m;
    s.l = std::fma(s.l, x, t.l * y);
    for (size_t c = 0; c < channels; ++c) s.u[c] = std::fma(s.u[c], x, t.u[c] * y);
  }
  std::vector<float> out(channels);
  for (size_t c = 0; c < channels; ++c) out[c] = s.l == 0 ? 0 : s.u[c] / s.l;
  return out;
}

// out[q, c] over `queries` rows of scores[q, key], mask[q, key] and v[key, c].
std::vector<float> attn(const std::vector<float>& score, const std::vector<uint8_t>& mask,
                        const std::vector<float>& v, int64_t queries, int64_t keys,
                        int64_t channels) {
  Oracle o;
  const Value ps = o.input(DType::f32, score), pm = o.input(DType::boolean, mask),
              pv = o.input(DType::f32, v);
  const Value out = o.output(DType::f32, queries * channels);
  Builder& b = o.b;
  const Value q = o.axis(queries), c = o.axis(channels), k = o.axis(keys, Role::reduce);
  const Value at = b.add(b.mul(q, b.i64(keys)), k);
  const Value y =
      b.attn(b.load(ps, at), b.load(pm, at), b.load(pv, b.add(b.mul(k, b.i64(channels)), c)), k);
  b.store(out, b.add(b.mul(q, b.i64(channels)), c), y);
  return o.result<float>();
}

class OrderAttn : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Keys, OrderAttn,
                         ::testing::Values(0, 1, 63, 64, 65, 640, 1024, 1025, 2500));

TEST_P(OrderAttn, IsBlocksOf64KeysInChunksOf1024) {
  const size_t keys = GetParam(), queries = 3, channels = 5;
  auto score = numbers(queries * keys, 11);
  for (float& x : score) x *= 4;
  std::vector<uint8_t> mask(queries * keys);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i / (keys + 1) == 0 || i % 3 != 0;
  const auto v = numbers(keys * channels, 12);
  const auto got = attn(score, mask, v, queries, static_cast<int64_t>(keys), channels);
  for (size_t q = 0; q < queries; ++q) {
    const auto row = [&](const auto& x) {
      return std::vector(x.begin() + static_cast<long>(q * keys),
                         x.begin() + static_cast<long>((q + 1) * keys));
    };
    const auto want = attn_row(row(score), row(mask), v, channels);
    EXPECT_TRUE(same_bits(std::vector(got.begin() + static_cast<long>(q * channels),
                                      got.begin() + static_cast<long>((q + 1) * channels)),
                          want))
        << "row " << q;
  }
}

TEST(OrderAttnMask, AMaskedKeyContributesNothingEvenIfItsValuesAreNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same_bits(attn({1, nan}, {1, 0}, {3, nan}, 1, 2, 1), std::vector<float>{3}));
}

TEST(OrderAttnMask, ARowWithoutVisibleKeysIsZero) {
  EXPECT_TRUE(same_bits(attn({1, 2}, {0, 0}, {3, 4}, 1, 2, 1), std::vector<float>{0}));
}

// --- any ---

TEST(OrderAny, MaxAndMinLetNaNWinAndOrderZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const auto extreme = [](Combine c, const std::vector<float>& x) {
    Oracle o;
    const Value p = o.input(DType::f32, x);
    const Value out = o.output(DType::f32, 1);
    const Value r = o.axis(static_cast<int64_t>(x.size()), Role::reduce);
    o.b.store(out, o.b.i64(0), o.b.reduce(c, Order::any, o.b.load(p, r), r));
    return o.result<float>()[0];
  };
  EXPECT_TRUE(same_bits(extreme(Combine::max, {1, nan, 3}), nan));
  EXPECT_TRUE(same_bits(extreme(Combine::min, {nan, -inf}), nan));
  EXPECT_TRUE(same_bits(extreme(Combine::max, {-0.0f, 0.0f, -0.0f}), 0.0f));
  EXPECT_TRUE(same_bits(extreme(Combine::min, {0.0f, -0.0f, 0.0f}), -0.0f));
  EXPECT_TRUE(same_bits(extreme(Combine::max, {}), -inf));
  EXPECT_TRUE(same_bits(extreme(Combine::min, {}), inf));
}

TEST(OrderAny, ArgreduceGivesTheFirstExtremeAndTheFirstNaNWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto arg = [](Combine c, const std::vector<float>& x) {
    Oracle o;
    const Value p = o.input(DType::f32, x);
    const Value out = o.output(DType::i64, 1);
    const Value r = o.axis(static_cast<int64_t>(x.size()), Role::reduce);
    o.b.store(out, o.b.i64(0), o.b.argreduce(c, o.b.load(p, r), r));
    return o.result<int64_t>()[0];
  };
  EXPECT_EQ(arg(Combine::max, {1, 3, 2, 3}), 1);
  EXPECT_EQ(arg(Combine::min, {1, -3, 2, -3}), 1);
  EXPECT_EQ(arg(Combine::max, {1, nan, 7, nan}), 1);
  EXPECT_EQ(arg(Combine::min, {nan, 1, nan}), 0);
  EXPECT_EQ(arg(Combine::max, {-0.0f, 0.0f}), 0) << "zeros of both signs are equal here";
  EXPECT_EQ(arg(Combine::max, {}), 0);
}

}  // namespace
}  // namespace ost::kir::testing
