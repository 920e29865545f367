// Convolution and pooling against their definition, in numbers that floats hold exactly.
#include <array>
#include <cmath>
#include <limits>

#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

struct Image {
  int n, c, h, w;
  size_t count() const { return static_cast<size_t>(n) * c * h * w; }
  size_t at(int i, int j, int y, int x) const {
    return ((static_cast<size_t>(i) * c + j) * h + y) * w + x;
  }
};

std::vector<float> whole_numbers(size_t count, uint64_t seed) {
  std::vector<float> out = noise(count, seed);
  for (float& v : out) v = std::floor(v * 8);
  return out;
}

struct Conv {
  Image x;
  int o, kh, kw, groups;
  std::array<int, 2> stride, padding, dilation;
};

std::vector<float> convolved(const Conv& k, const std::vector<float>& x,
                             const std::vector<float>& w, const std::vector<float>& bias,
                             Image& out) {
  const int c = k.x.c / k.groups, per = k.o / k.groups;
  const auto size = [&](int extent, int d, int taps) {
    return (extent + 2 * k.padding[d] - (taps - 1) * k.dilation[d] - 1) / k.stride[d] + 1;
  };
  out = {k.x.n, k.o, size(k.x.h, 0, k.kh), size(k.x.w, 1, k.kw)};
  std::vector<float> y;
  for (int n = 0; n < out.n; ++n)
    for (int o = 0; o < out.c; ++o)
      for (int i = 0; i < out.h; ++i)
        for (int j = 0; j < out.w; ++j) {
          float sum = 0;
          for (int a = 0; a < k.kh; ++a)
            for (int b = 0; b < k.kw; ++b)
              for (int q = 0; q < c; ++q) {
                const int row = i * k.stride[0] + a * k.dilation[0] - k.padding[0];
                const int col = j * k.stride[1] + b * k.dilation[1] - k.padding[1];
                if (row < 0 || row >= k.x.h || col < 0 || col >= k.x.w) continue;
                sum += x[k.x.at(n, o / per * c + q, row, col)] *
                       w[((static_cast<size_t>(o) * c + q) * k.kh + a) * k.kw + b];
              }
          y.push_back(sum + bias[o] < 0 ? 0 : sum + bias[o]);
        }
  return y;
}

void expect_conv(const Conv& k) {
  const int c = k.x.c / k.groups;
  const auto text = fmt::format(
      "relu(conv2d(x, w, b, stride=({}, {}), padding=({}, {}), dilation=({}, {}), groups={}))",
      k.stride[0], k.stride[1], k.padding[0], k.padding[1], k.dilation[0], k.dilation[1], k.groups);
  const auto program =
      program_of(text, {{"x", fmt::format("{},{},{},{}", k.x.n, k.x.c, k.x.h, k.x.w)},
                        {"w", fmt::format("{},{},{},{}", k.o, c, k.kh, k.kw)},
                        {"b", fmt::format("{}", k.o)}});
  ASSERT_TRUE(program.has_value()) << text << ": " << program.error().message;
  EXPECT_EQ(program->steps.size(), 1u) << text;
  const auto x = whole_numbers(k.x.count(), 1), b = whole_numbers(static_cast<size_t>(k.o), 3);
  const auto w = whole_numbers(static_cast<size_t>(k.o) * c * k.kh * k.kw, 2);
  Image out;
  const auto want = convolved(k, x, w, b, out);
  for (const auto& device : Devices::get().all) {
    const auto got = run_on(device, *program, {bytes_of(x), bytes_of(w), bytes_of(b)});
    ASSERT_TRUE(got.has_value()) << text << ": " << got.error().message;
    ASSERT_EQ(values_of<float>((*got)[0]), want) << text << " on " << device->id();
  }
}

TEST(Conv2d, OneByOneIsAProduct) {
  expect_conv({{2, 8, 5, 7}, 6, 1, 1, 1, {1, 1}, {0, 0}, {1, 1}});
}
TEST(Conv2d, ThreeByThree) { expect_conv({{2, 5, 9, 11}, 7, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}}); }
TEST(Conv2d, Strided) { expect_conv({{1, 3, 16, 15}, 8, 3, 5, 1, {2, 3}, {1, 2}, {1, 1}}); }
TEST(Conv2d, Dilated) { expect_conv({{1, 4, 17, 19}, 4, 3, 3, 1, {1, 2}, {2, 3}, {2, 3}}); }
TEST(Conv2d, Grouped) { expect_conv({{2, 8, 7, 6}, 12, 3, 3, 4, {1, 1}, {1, 0}, {1, 1}}); }
TEST(Conv2d, Depthwise) { expect_conv({{2, 6, 8, 9}, 6, 3, 3, 6, {1, 1}, {1, 1}, {1, 1}}); }
TEST(Conv2d, DepthMultiplied) { expect_conv({{1, 3, 8, 9}, 6, 2, 2, 3, {2, 1}, {0, 1}, {1, 1}}); }
TEST(Conv2d, AWindowAsLargeAsTheImage) {
  expect_conv({{2, 3, 4, 5}, 9, 4, 5, 1, {1, 1}, {0, 0}, {1, 1}});
}

TEST(Conv2d, HasOneProgramForAllBatchesAndSizes) {
  const auto program =
      program_of("conv2d(x, w, padding=1)", {{"x", "n:0..4,2,h:3..20,w0:3..20"}, {"w", "3,2,3,3"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  for (const auto& [n, h, w0] : {std::array{0, 5, 5}, std::array{1, 3, 3}, std::array{4, 20, 7}}) {
    const Conv k{{n, 2, h, w0}, 3, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}};
    const auto x = whole_numbers(k.x.count(), 1), w = whole_numbers(54, 2);
    std::optional<Bytes> want;
    for (const auto& device : Devices::get().all) {
      const auto got =
          run_on(device, *program, {bytes_of(x), bytes_of(w)}, {{"n", n}, {"h", h}, {"w0", w0}});
      ASSERT_TRUE(got.has_value()) << got.error().message;
      if (!want) want = (*got)[0];
      EXPECT_EQ((*got)[0], *want) << device->id();
      EXPECT_EQ((*got)[0].size(), static_cast<size_t>(n * 3 * h * w0) * 4);
    }
  }
}

TEST(Conv2d, HalvesAccumulateInF32) {
  const auto program = program_of("conv2d(x, w)", {{"x", "f16[1,64,1,1]"}, {"w", "f16[1,64,1,1]"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ(program->outputs[0].dtype, DType::f16);
}

TEST(Conv2d, SaysWhatItWants) {
  const auto error = [](const char* text, std::vector<TypedName> types) {
    const auto g = graph_of(text, types);
    return g ? "accepted" : g.error().message.substr(0, g.error().message.find('\n'));
  };
  EXPECT_EQ(error("conv2d(x, w)", {{"x", "2,3,4"}, {"w", "1,3,1,1"}}),
            "dsl: 1:1: conv2d: x is f32[2, 3, 4], wanted [N, C, H, W]");
  EXPECT_EQ(error("conv2d(x, w)", {{"x", "2,3,4,4"}, {"w", "1,4,1,1"}}),
            "dsl: 1:1: conv2d: x is f32[2, 3, 4, 4], the filters are f32[1, 4, 1, 1], groups = 1; "
            "wanted 4 channels");
  EXPECT_EQ(error("conv2d(x, w, groups=2)", {{"x", "2,4,4,4"}, {"w", "3,2,1,1"}}),
            "dsl: 1:1: conv2d: x is f32[2, 4, 4, 4], the filters are f32[3, 2, 1, 1], groups = 2; "
            "wanted groups that divide the number of filters");
  EXPECT_EQ(error("conv2d(x, w)", {{"x", "2,3,4,2"}, {"w", "1,3,3,3"}}),
            "dsl: 1:1: conv2d: axis 3 has size 2 with its padding, but the window spans 3");
  EXPECT_EQ(error("max_pool2d(x, 2, padding=2)", {{"x", "2,3,4,4"}}),
            "dsl: 1:1: max_pool2d: padding 2 and 2 of axis 2; wanted less than the window, which "
            "spans 2");
}

std::vector<float> pooled(const Image& x, const std::vector<float>& v, int size, int stride,
                          int padding, bool max, bool count_padding) {
  const int h = (x.h + 2 * padding - size) / stride + 1,
            w = (x.w + 2 * padding - size) / stride + 1;
  std::vector<float> y;
  for (int n = 0; n < x.n; ++n)
    for (int c = 0; c < x.c; ++c)
      for (int i = 0; i < h; ++i)
        for (int j = 0; j < w; ++j) {
          float top = -std::numeric_limits<float>::infinity(), sum = 0;
          int inside = 0;
          for (int a = 0; a < size; ++a)
            for (int b = 0; b < size; ++b) {
              const int row = i * stride + a - padding, col = j * stride + b - padding;
              if (row < 0 || row >= x.h || col < 0 || col >= x.w) continue;
              top = std::max(top, v[x.at(n, c, row, col)]);
              sum += v[x.at(n, c, row, col)];
              ++inside;
            }
          y.push_back(max ? top : sum / static_cast<float>(count_padding ? size * size : inside));
        }
  return y;
}

void expect_pool(const char* text, bool max, bool count_padding, int size, int stride,
                 int padding) {
  const Image x{2, 3, 9, 10};
  const auto v = whole_numbers(x.count(), 5);
  const auto program = program_of(text, {{"x", "2,3,9,10"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ(program->steps.size(), 1u);
  for (const auto& device : Devices::get().all) {
    const auto got = run_on(device, *program, {bytes_of(v)});
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(values_of<float>((*got)[0]), pooled(x, v, size, stride, padding, max, count_padding))
        << text << " on " << device->id();
  }
}

TEST(Pool2d, Max) { expect_pool("max_pool2d(x, 2)", true, true, 2, 2, 0); }
TEST(Pool2d, MaxWithPadding) {
  expect_pool("max_pool2d(x - 100, 3, stride=2, padding=1) + 100", true, true, 3, 2, 1);
}
TEST(Pool2d, Average) { expect_pool("avg_pool2d(x, 2)", false, true, 2, 2, 0); }
TEST(Pool2d, AverageCountsPadding) {
  expect_pool("avg_pool2d(x, 3, stride=1, padding=1)", false, true, 3, 1, 1);
}
TEST(Pool2d, AverageOfTheInside) {
  expect_pool("avg_pool2d(x, 3, stride=2, padding=1, count_padding=false)", false, false, 3, 2, 1);
}

TEST(Pool2d, OfIntegersKeepsTheirType) {
  const auto program = program_of("max_pool2d(x, 2, padding=1)", {{"x", "i32[1,1,2,2]"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  for (const auto& device : Devices::get().all) {
    const auto got =
        run_on(device, *program, {bytes_of(std::vector<int32_t>{-5, -6, INT32_MIN, -8})});
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(values_of<int32_t>((*got)[0]), (std::vector<int32_t>{-5, -6, INT32_MIN, -8}));
  }
}

}  // namespace
}  // namespace ost::test
