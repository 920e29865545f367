// Builders: broadcasting, promotion beyond NumPy's types, slices against a loop, and what has no
// meaning.
#include "core/ir/ops.hpp"

#include "helpers.hpp"
#include "reference.hpp"

namespace ost::ir {
namespace {

std::string shape_text(const Result<Shape>& shape) {
  return shape ? to_string(*shape) : shape.error().message;
}

TEST(Broadcast, FollowsNumpyForConstants) {
  const auto broadcast = [](std::initializer_list<Sym> a, std::initializer_list<Sym> b) {
    return shape_text(broadcast_shapes(std::vector(a), std::vector(b)));
  };
  EXPECT_EQ(broadcast({}, {}), "[]");
  EXPECT_EQ(broadcast({3}, {}), "[3]");
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), "[2, 3, 4]");
  EXPECT_EQ(broadcast({1}, {0}), "[0]");
  EXPECT_EQ(broadcast({2, 3}, {2}),
            "shapes [2, 3] and [2] do not broadcast: axis -1 has sizes 3 and 2; wanted equal sizes "
            "or a 1");
  EXPECT_EQ(
      broadcast({0}, {2}),
      "shapes [0] and [2] do not broadcast: axis -1 has sizes 0 and 2; wanted equal sizes or a 1");
}

TEST(Broadcast, ProvesSymbolicSizes) {
  const Sym n = var("n", 0, 9), m = var("m", 1, 1);
  EXPECT_EQ(shape_text(broadcast_shapes(Shape{n, 1}, Shape{1, n + 1})), "[n, n + 1]");
  EXPECT_EQ(shape_text(broadcast_shapes(Shape{n * 2}, Shape{n + n})), "[2*n]");
  EXPECT_EQ(shape_text(broadcast_shapes(Shape{n}, Shape{m})),
            "shapes [n] and [m] do not broadcast: sizes n and m of axis -1 are not provably equal "
            "and neither is the constant 1");
}

TEST(Promote, IsSymmetricAndKnowsBfloat) {
  for (const DType a : kAllDTypes)
    for (const DType b : kAllDTypes) EXPECT_EQ(promote(a, b), promote(b, a));
  EXPECT_EQ(promote(DType::bf16, DType::f16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::u8), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::i16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::i32), DType::f64);
  EXPECT_EQ(promote(DType::bf16, DType::boolean), DType::bf16);
  EXPECT_EQ(promote(DType::i64, DType::u64), DType::f64);
}

// The elements that Python's slice takes, by its definition: start, then steps while not past stop.
std::vector<int64_t> python_slice(int64_t size, std::optional<int64_t> start,
                                  std::optional<int64_t> stop, int64_t step) {
  const auto place = [&](int64_t bound) {
    if (bound < 0) bound += size;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    return std::clamp(bound, low, std::max(low, high));
  };
  int64_t i = start ? place(*start) : step > 0 ? 0 : size - 1;
  const int64_t end = stop ? place(*stop) : step > 0 ? size : -1;
  std::vector<int64_t> taken;
  for (; step > 0 ? i < end : i > end; i += step) taken.push_back(i);
  return taken;
}

// The elements that our slice takes from 0, 1, ..., size - 1 along an axis of symbolic or constant
// size.
std::vector<int64_t> our_slice(const Sym& axis, int64_t size, std::optional<Sym> start,
                               std::optional<Sym> stop, int64_t step) {
  Graph g;
  const NodeId x = arange(g, axis).value();
  const Slice wanted{start, stop, step};
  const auto id = slice(g, x, std::span(&wanted, 1));
  EXPECT_TRUE(id) << id.error().message;
  if (!id) return {};
  EXPECT_TRUE(verify(g));
  const reference::Evaluator values(g, {}, {{"n", size}});
  std::vector<int64_t> taken;
  for (size_t i = 0; i < values.value(*id).bits.size(); ++i)
    taken.push_back(values.value(*id).whole(i));
  return taken;
}

TEST(SliceBuilder, TakesWhatPythonTakes) {
  std::vector<std::optional<int64_t>> bounds = {std::nullopt};
  for (int64_t bound = -6; bound <= 6; ++bound) bounds.emplace_back(bound);
  for (int64_t size = 0; size <= 4; ++size)
    for (const auto& start : bounds)
      for (const auto& stop : bounds)
        for (const int64_t step : {-3, -2, -1, 1, 2, 3}) {
          const auto want = python_slice(size, start, stop, step);
          const std::optional<Sym> from = start ? std::optional<Sym>(*start) : std::nullopt;
          const std::optional<Sym> to = stop ? std::optional<Sym>(*stop) : std::nullopt;
          EXPECT_EQ(our_slice(size, size, from, to, step), want)
              << size << " " << start.value_or(99) << ":" << stop.value_or(99) << ":" << step;
          EXPECT_EQ(our_slice(var("n", 0, 4), size, from, to, step), want)
              << "symbolic " << size << " " << start.value_or(99) << ":" << stop.value_or(99) << ":"
              << step;
        }
}

TEST(SliceBuilder, KeepsPlainSizesPlain) {
  Graph g;
  const Sym n = var("n", 1, 9), p = var("p", 0, 6);
  const NodeId x = input(g, DType::f32, {n, 8});
  const auto cut = [&](Slice rows, Slice columns) {
    const Slice both[] = {rows, columns};
    return type(g, slice(g, x, both));
  };
  EXPECT_EQ(cut({1, n, 1}, {p, p + 2, 1}), "f32[n - 1, 2]");
  EXPECT_EQ(cut({{}, -1, 1}, {}), "f32[n - 1, 8]");
  EXPECT_EQ(cut({{}, 4, 1}, {}), "f32[min(4, n), 8]");
  EXPECT_EQ(cut({}, {}), "f32[n, 8]");
  EXPECT_EQ(cut({{}, {}, 0}, {}), "slice: step 0 of axis 0");
}

TEST(Full, KeepsConstantsConstants) {
  Graph g;
  const NodeId two = full(g, DType::f32, {}, 2).value();
  EXPECT_EQ(g.node(broadcast_to(g, two, {3, 4}).value()).op, Op::full);
  EXPECT_EQ(g.node(reshape(g, broadcast_to(g, two, {3, 4}).value(), {12}).value()).op, Op::full);
  EXPECT_EQ(type(g, full(g, DType::u8, {}, 300)), "full: the value 300 is not a number of type u8");
  EXPECT_EQ(type(g, full(g, DType::i8, {}, 1.5)), "full: the value 1.5 is not a number of type i8");
  EXPECT_EQ(g.node(full_int(g, DType::i8, {}, -1).value()).bits, 0xffu);
  EXPECT_EQ(g.node(full(g, DType::u64, {}, 0x1p63).value()).bits, uint64_t{1} << 63);
  EXPECT_EQ(g.node(full(g, DType::bf16, {}, 1).value()).bits, 0x3f80u);
}

TEST(ScalarLike, FollowsNep50) {
  Graph g;
  const auto like = [&](DType t, double v, bool is_int) {
    return type(g, scalar_like(g, input(g, t, {2}), v, is_int));
  };
  EXPECT_EQ(like(DType::u8, 3, true), "u8[]");
  EXPECT_EQ(like(DType::u8, 3, false), "f64[]");
  EXPECT_EQ(like(DType::f16, 3, true), "f16[]");
  EXPECT_EQ(like(DType::boolean, 3, true), "i64[]");
  EXPECT_EQ(like(DType::u8, -1, true),
            "scalar: the integer -1 is out of range for u8; cast the tensor to a wider type");
}

TEST(Softmax, OfSpecialRowsIsIeee) {
  Graph g;
  const NodeId x = input(g, DType::f32, {4, 2});
  const NodeId y = softmax(g, x, -1).value(), l = logsumexp(g, x, -1, false).value();
  reference::Array rows = reference::make(DType::f32, {4, 2});
  const double values[] = {HUGE_VAL, 1, NAN, 1, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, 1};
  for (size_t i = 0; i < 8; ++i) rows.set(i, values[i]);
  const reference::Evaluator at(g, {rows}, {});
  for (size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(at.value(y).real(i))) << i;
  EXPECT_EQ(at.value(y).real(6), 0);
  EXPECT_EQ(at.value(y).real(7), 1);
  EXPECT_EQ(at.value(l).real(0), HUGE_VAL);
  EXPECT_TRUE(std::isnan(at.value(l).real(1)));
  EXPECT_EQ(at.value(l).real(2), -HUGE_VAL);
  EXPECT_EQ(at.value(l).real(3), 1);
}

TEST(Softmax, OfScalarsAndEmptyRowsIsDefined) {
  Graph g;
  EXPECT_EQ(type(g, softmax(g, input(g, DType::f32, {}), -1)), "f32[]");
  EXPECT_EQ(type(g, log_softmax(g, input(g, DType::f32, {}), 0)), "f32[]");
  EXPECT_EQ(type(g, softmax(g, input(g, DType::f32, {}), 1)),
            "softmax: axis 1 of a scalar; wanted 0 or -1");
  EXPECT_EQ(type(g, softmax(g, input(g, DType::f32, {3, 0}), -1)), "f32[3, 0]");
  EXPECT_EQ(type(g, softmax(g, input(g, DType::i32, {3, 2}), -1)), "f32[3, 2]");
  EXPECT_EQ(type(g, softmax(g, input(g, DType::bf16, {3, 2}), -1)), "bf16[3, 2]");
  EXPECT_TRUE(verify(g));
}

TEST(Layernorm, IsOneFmaPerElementAndOneRowContraction) {
  Graph g;
  const NodeId x = input(g, DType::f32, {2, 8}), w = input(g, DType::f32, {8});
  const NodeId y = layernorm(g, x, w, w, 1e-5).value();
  EXPECT_EQ(g.node(y).op, Op::fma);
  EXPECT_EQ(type(g, layernorm(g, x, input(g, DType::f32, {3, 2, 8}), {}, 1e-5)),
            "layernorm: gamma is f32[3, 2, 8], which does not broadcast to f32[2, 8]");
}

TEST(FloorDivide, RepairsRoundedQuotients) {
  Graph g;
  const NodeId a = input(g, DType::f64, {8}), b = input(g, DType::f64, {8}, "y");
  const NodeId q = floor_divide(g, a, b).value(), r = floor_mod(g, a, b).value();
  const double x[] = {1, 1, -1, 5, -5, 5, 6, -0.0},
               y[] = {0.1, -0.1, 0.1, HUGE_VAL, HUGE_VAL, -HUGE_VAL, -3, 2};
  reference::Array p = reference::make(DType::f64, {8}), d = p;
  for (size_t i = 0; i < 8; ++i) {
    p.set(i, x[i]);
    d.set(i, y[i]);
  }
  const reference::Evaluator at(g, {p, d}, {});
  // Python: 1 // 0.1 is 9.0 although 1 / 0.1 rounds to 10.0.
  const double quotients[] = {9, -10, -10, 0, -1, -1, -2, 0};
  const double remainders[] = {1 - 9 * 0.1 - 0.1 * 0, 0, 0, 5, HUGE_VAL, -HUGE_VAL, 0, 0};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(at.value(q).real(i), quotients[i]) << i;
  EXPECT_NEAR(at.value(r).real(0), remainders[0], 1e-12);
  for (const size_t i : {size_t{3}, size_t{4}, size_t{5}, size_t{6}, size_t{7}})
    EXPECT_EQ(at.value(r).real(i), remainders[i]) << i;
  EXPECT_TRUE(std::signbit(at.value(r).real(6)));
}

TEST(Attention, SaysWhatItWants) {
  Graph g;
  const Sym n = var("n", 1, 9);
  const NodeId q = input(g, DType::f32, {2, 4, 8}), k = input(g, DType::f32, {n, 8}),
               v = input(g, DType::f32, {n, 5});
  EXPECT_EQ(type(g, attention(g, q, k, v, {}, {}, true)), "f32[2, 4, 5]");
  EXPECT_EQ(type(g, attention(g, q, v, v, {}, {}, false)),
            "attention: q is f32[2, 4, 8], k is f32[n, 5], v is f32[n, 5]; wanted q[..., M, D], "
            "k[..., T, D] and v[..., T, C]");
  const NodeId deep = input(g, DType::f32, {4, n});
  EXPECT_EQ(type(g, attention(g, deep, deep, deep, {}, {}, false)),
            "attention: q is f32[4, n]; the default scale 1/sqrt(D) needs a constant D above 0, "
            "wanted scale=");
  EXPECT_EQ(
      type(g, attention(g, q, k, v, q, {}, false)),
      "attention: mask: broadcast_to: shapes [2, 4, 8] and [2, 4, n] do not broadcast: sizes 8 "
      "and n of axis -1 are not provably equal and neither is the constant 1");
  EXPECT_EQ(type(g, attention(g, q, k, v, *cast(g, q, DType::i32), {}, false)),
            "attention: the mask is i32[2, 4, 8], wanted bool (true: the key is seen) or a float "
            "(added to the score)");
  const NodeId h = input(g, DType::f16, {4, 8});
  EXPECT_EQ(type(g, attention(g, h, h, h, {}, {}, false)), "f16[4, 8]");
}

TEST(Assign, BroadcastsWholeValuesAndPlacesParts) {
  Graph g;
  const NodeId cache = input(g, DType::f32, {8, 4});
  const NodeId row = input(g, DType::f32, {1, 4});
  EXPECT_EQ(type(g, assign(g, cache, row)), "f32[8, 4]");
  EXPECT_EQ(type(g, assign(g, cache, row, {var("p", 0, 7)})), "f32[8, 4]");
  EXPECT_EQ(type(g, assign(g, cache, row, {9})),
            "assign: value f32[1, 4] at 9 of axis 0 is outside of f32[8, 4]");
  EXPECT_EQ(type(g, assign(g, cache, input(g, DType::f64, {1}))),
            "assign: target is f32[8, 4], value is f64[1]; cast the value");
}

TEST(Concat, AddsSymbolicSizesAndKeepsBits) {
  Graph g;
  const Sym n = var("n", 0, 3);
  const NodeId a = input(g, DType::f32, {n, 2}), b = input(g, DType::f32, {1, 2}, "b");
  const NodeId parts[] = {a, b, a};
  const NodeId joined = concat(g, parts, 0).value();
  EXPECT_EQ(type(g, joined), "f32[2*n + 1, 2]");
  reference::Array zero = reference::make(DType::f32, {2, 2}),
                   one = reference::make(DType::f32, {1, 2});
  zero.set(0, -0.0);
  one.set(1, -0.0);
  const reference::Evaluator at(g, {zero, one}, {{"n", 2}});
  const std::vector<uint64_t> bits = {0x80000000, 0, 0, 0, 0, 0x80000000, 0x80000000, 0, 0, 0};
  EXPECT_EQ(at.value(joined).bits, bits);
  EXPECT_EQ(type(g, concat(g, {}, 0)), "concat: no operands");
}

}  // namespace
}  // namespace ost::ir
