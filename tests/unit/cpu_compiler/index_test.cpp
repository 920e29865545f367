// Movement as index expressions, masks, symbolic extents, several results, sequential axes.
#include "core/kir/math.hpp"
#include "jit.hpp"

namespace ost::cpu_test {
namespace {

TEST(CpuIndex, TransposeFlipBroadcastStride) {
  for (const int64_t n : {1, 16, 37, 64}) {
    Case c(2);
    const int64_t m = 21;
    const Value x = c.input(DType::f32, m * n), h = c.input(DType::i8, m * n),
                out = c.output(DType::f32, n * m * 2), flipped = c.output(DType::i8, n * m);
    const Value i = c.axis(n), j = c.axis(m);
    const Value direct = c.at(i, m, j);
    c.b.store(out, direct, c.b.load(x, c.at(j, n, i)));
    c.b.store(out, c.b.add(direct, c.b.i64(n * m)),
              c.b.add(c.b.load(x, i), c.b.load(x, c.b.i64(0))));
    c.b.store(flipped, direct, c.b.load(h, c.b.binary(Op::sub, c.b.i64(n * m - 1), direct)));
    c.check();
  }
}

TEST(CpuIndex, ReshapeByDivisionAndRemainder) {
  for (const int64_t inner : {1, 3, 16, 48}) {
    Case c(3);
    const int64_t n = 5 * inner * 7;
    const Value x = c.input(DType::f32, n), out = c.output(DType::f32, n), i = c.axis(n);
    // [5, inner, 7] -> [7, 5, inner], flat
    const Value a = c.b.div(i, c.b.i64(5 * inner)),
                b = c.b.rem(c.b.div(i, c.b.i64(inner)), c.b.i64(5)), d = c.b.rem(i, c.b.i64(inner));
    c.b.store(out, i, c.b.load(x, c.b.add(c.b.mul(c.at(b, inner, d), c.b.i64(7)), a)));
    c.check();
  }
}

TEST(CpuIndex, PaddingByMasks) {
  for (const DType t : {DType::f32, DType::f64, DType::i8, DType::boolean, DType::bf16})
    for (const int64_t n : {1, 30, 70}) {
      Case c(4);
      const Value x = c.input(t, n), out = c.output(t, (n + 5) * 3), i = c.axis(3),
                  j = c.axis(n + 5);
      const Value at = c.b.binary(Op::sub, j, c.b.i64(2));
      const Value inside = c.b.bit_and(c.b.le(c.b.i64(0), at), c.b.lt(at, c.b.i64(n)));
      const Value safe = c.b.binary(Op::min, c.b.binary(Op::max, at, c.b.i64(0)), c.b.i64(n - 1));
      c.b.store(out, c.at(i, n + 5, j), c.b.load(x, safe, inside));
      c.check();
    }
}

TEST(CpuIndex, MaskedStores) {
  for (const int64_t n : {1, 50, 129}) {
    Case c(4);
    const Value x = c.input(DType::i32, n), m = c.input(DType::boolean, n),
                out = c.output(DType::i32, n), i = c.axis(n);
    c.b.store(out, i, c.b.load(x, i), c.b.load(m, i));
    c.check();
  }
}

TEST(CpuIndex, GatherRows) {
  for (const int64_t n : {1, 20, 70}) {
    Case c(6);
    const Value table = c.input(DType::f32, 8 * n), ids = c.input(DType::u8, 30),
                out = c.output(DType::f32, 30 * n);
    const Value i = c.axis(30), j = c.axis(n);
    const Value row = c.b.rem(c.b.cast(DType::i64, c.b.load(ids, i)), c.b.i64(8));
    c.b.store(out, c.at(i, n, j), c.b.load(table, c.at(row, n, j)));
    c.check();
  }
}

TEST(CpuIndex, GatherElements) {
  for (const DType t : {DType::f32, DType::i8, DType::f64, DType::i16}) {
    Case c(6);
    const Value table = c.input(t, 256), ids = c.input(DType::u8, 500), out = c.output(t, 500),
                i = c.axis(500);
    c.b.store(out, i, c.b.load(table, c.b.cast(DType::i64, c.b.load(ids, i))));
    c.check();
  }
}

TEST(CpuIndex, SymbolicExtents) {
  for (const int64_t n : {0, 1, 17, 64, 100}) {
    Case c(7);
    const Value v = c.b.var(0, 0, 100);
    c.data.push_back(random_data(c.random, DType::f32, static_cast<size_t>(n * 10)));
    const Value x = c.b.param(0, DType::f32, c.b.mul(v, c.b.i64(10)), OST_KIR_READ);
    c.data.emplace_back(static_cast<size_t>(n * 10) * 4, uint8_t{0xee});
    const Value out = c.b.param(1, DType::f32, c.b.mul(v, c.b.i64(10)), OST_KIR_WRITE);
    c.data.emplace_back(size_t{40}, uint8_t{0xee});
    const Value sums = c.b.param(2, DType::f32, c.b.i64(10), OST_KIR_WRITE);
    const Value i = c.b.axis(v, Role::parallel), j = c.axis(10), r = c.b.axis(v, Role::reduce);
    c.b.store(out, c.at(i, 10, j), c.b.load(x, c.b.add(c.b.mul(j, v), i)));
    c.b.store(sums, j, c.b.reduce(Combine::sum, Order::blk256, c.b.load(x, c.at(r, 10, j)), r));
    c.check({n});
  }
}

TEST(CpuIndex, SeveralStoresOverDifferentAxes) {
  Case c(8);
  const Value x = c.input(DType::f32, 33 * 20), a = c.output(DType::f32, 33 * 20),
              b = c.output(DType::f32, 33), d = c.output(DType::f32, 20),
              e = c.output(DType::f32, 1);
  const Value i = c.axis(33), j = c.axis(20);
  c.b.store(a, c.at(i, 20, j), c.b.unary(Op::neg, c.b.load(x, c.at(i, 20, j))));
  c.b.store(b, i, c.b.load(x, c.b.mul(i, c.b.i64(20))));
  c.b.store(d, j, c.b.load(x, j));
  c.b.store(e, c.b.i64(0), c.b.load(x, c.b.i64(5)));
  c.check();
}

TEST(CpuIndex, InPlaceUpdate) {
  Case c(9);
  const Value x = c.input(DType::f32, 333, OST_KIR_READ | OST_KIR_WRITE),
              g = c.input(DType::f32, 333), i = c.axis(333);
  c.b.store(x, i, c.b.fma(c.b.load(g, i), c.b.f32(-0.5f), c.b.load(x, i)));
  c.check();
}

TEST(CpuIndex, PrefixSumOverACarryAxis) {
  for (const int64_t columns : {1, 30}) {
    Case c(10);
    const Value x = c.input(DType::f32, 50 * columns),
                y = c.input(DType::f32, 50 * columns, OST_KIR_READ | OST_KIR_WRITE);
    const Value t = c.axis(50, Role::carry), j = c.axis(columns);
    const Value at = c.at(t, columns, j);
    const Value first = c.b.le(t, c.b.i64(0));
    const Value before = c.b.binary(Op::max, c.b.binary(Op::sub, at, c.b.i64(columns)), c.b.i64(0));
    const Value last = c.b.where(first, c.b.f32(0), c.b.load(y, before));
    c.b.store(y, at, c.b.add(last, c.b.load(x, at)));
    c.check();
  }
}

TEST(CpuIndex, ScatterAddOverACarryAxis) {
  for (const int64_t width : {1, 40}) {
    Case c(11);
    const Value table = c.input(DType::f32, 6 * width, OST_KIR_READ | OST_KIR_WRITE),
                ids = c.input(DType::u8, 25), x = c.input(DType::f32, 25 * width);
    const Value t = c.axis(25, Role::carry), j = c.axis(width);
    const Value row = c.b.rem(c.b.cast(DType::i64, c.b.load(ids, t)), c.b.i64(6));
    const Value at = c.at(row, width, j);
    c.b.store(table, at, c.b.add(c.b.load(table, at), c.b.load(x, c.at(t, width, j))));
    c.check();
  }
}

TEST(CpuIndex, AxesThatAreWalkedAsOneAreMerged) {
  for (const int64_t n : {1, 10, 64}) {
    Case c(12);
    const Value v = c.b.var(0, 0, 9);
    c.data.push_back(random_data(c.random, DType::f32, static_cast<size_t>(9 * 7 * n)));
    const Value x = c.b.param(0, DType::f32, c.b.i64(9 * 7 * n), OST_KIR_READ);
    const Value bias = c.input(DType::f32, n), out = c.output(DType::f32, 9 * 7 * n),
                plain = c.output(DType::f32, 9 * 7 * n);
    const Value i = c.b.axis(v, Role::parallel), j = c.axis(7), k = c.axis(n);
    const Value at = c.at(c.at(i, 7, j), n, k);
    c.b.store(out, at, c.b.add(c.b.load(x, at), c.b.load(bias, k)));
    const Value i2 = c.b.axis(v, Role::parallel), j2 = c.axis(7), k2 = c.axis(n);
    const Value at2 = c.at(c.at(i2, 7, j2), n, k2);
    c.b.store(plain, at2, c.b.load(x, c.b.binary(Op::sub, c.b.i64(9 * 7 * n - 1), at2)),
              c.b.lt(at2, c.b.i64(100)));
    c.check({5});
  }
}

}  // namespace
}  // namespace ost::cpu_test
