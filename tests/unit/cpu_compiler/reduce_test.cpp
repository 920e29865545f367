// Reductions of every order, along and across the lanes, over axes of awkward lengths;
// arg-reductions; attention.
#include "core/kir/math.hpp"
#include "jit.hpp"

namespace ost::cpu_test {
namespace {

const std::vector<int64_t> kLengths = {0,  1,  2,  15,  16,  17,  31,  33,
                                       63, 64, 65, 255, 256, 257, 1023};

// out[i] = reduce over the last axis of x[rows, n]
void check_last(DType t, Combine combine, Order order, int64_t rows, int64_t n,
                bool smooth = false) {
  Case c(static_cast<uint64_t>(n) + 7);
  const Value x = smooth ? c.smooth_input(t, rows * n) : c.input(t, rows * n),
              out = c.output(t, rows);
  const Value i = c.axis(rows), r = c.axis(n, Role::reduce);
  c.b.store(out, i, c.b.reduce(combine, order, c.b.load(x, c.at(i, n, r)), r));
  c.check();
}
// out[j] = reduce over the first axis of x[n, columns]
void check_first(DType t, Combine combine, Order order, int64_t n, int64_t columns) {
  Case c(static_cast<uint64_t>(n) + 9);
  const Value x = c.smooth_input(t, n * columns), out = c.output(t, columns);
  const Value j = c.axis(columns), r = c.axis(n, Role::reduce);
  c.b.store(out, j, c.b.reduce(combine, order, c.b.load(x, c.at(r, columns, j)), r));
  c.check();
}

TEST(CpuReduce, FloatSumsOverTheLastAxis) {
  for (const DType t : {DType::f32, DType::f64})
    for (const Order order : {Order::tree, Order::blk256})
      for (const int64_t n : kLengths) check_last(t, Combine::sum, order, 3, n);
}
TEST(CpuReduce, ProductsKeepTheirOrder) {
  for (const Order order : {Order::tree, Order::blk256})
    for (const int64_t n : {1, 63, 65, 300})
      check_last(DType::f32, Combine::prod, order, 5, n, true);
}
TEST(CpuReduce, TreeOfManyChunks) {
  for (const int64_t n : {4095, 4096, 4097, 8192, 20000}) {
    check_last(DType::f32, Combine::sum, Order::tree, 2, n, true);
    check_first(DType::f32, Combine::sum, Order::tree, n, 19);
  }
}
TEST(CpuReduce, AssociativeOnesOfEveryType) {
  for (const DType t : kAllDTypes) {
    if (is_half(t)) continue;
    std::vector<Combine> combines = {Combine::max, Combine::min};
    if (!is_float(t))
      combines.insert(combines.end(), {Combine::bit_and, Combine::bit_or, Combine::bit_xor});
    if (is_int(t)) combines.insert(combines.end(), {Combine::sum, Combine::prod});
    for (const Combine combine : combines)
      for (const int64_t n : {0, 5, 100, 129}) check_last(t, combine, Order::any, 2, n);
  }
}
TEST(CpuReduce, OverTheFirstAxis) {
  for (const Order order : {Order::tree, Order::blk256})
    for (const int64_t n : {0, 1, 63, 65, 257, 600})
      for (const int64_t columns : {1, 17, 130})
        check_first(DType::f32, Combine::sum, order, n, columns);
  for (const int64_t columns : {3, 40})
    check_first(DType::f64, Combine::max, Order::any, 37, columns);
}

TEST(CpuReduce, LargeMatricesByRows) {
  for (const int64_t columns : {700, 2048, 2500}) {
    for (const int64_t n : {100, 256, 515}) {
      Case c(static_cast<uint64_t>(n));
      const Value x = c.smooth_input(DType::f32, n * columns), a = c.smooth_input(DType::f32, n),
                  out = c.output(DType::f32, columns), product = c.output(DType::f32, columns),
                  index = c.output(DType::i64, columns);
      const Value j = c.axis(columns), r = c.axis(n, Role::reduce);
      const Value v = c.b.load(x, c.at(r, columns, j));
      c.b.store(out, j, c.b.add(c.b.reduce(Combine::sum, Order::blk256, v, r), c.b.f32(1)));
      const Value q = c.axis(n, Role::reduce), k = c.axis(columns);
      c.b.store(product, k,
                c.b.contract(Order::blk256, c.b.load(a, q), c.b.load(x, c.at(q, columns, k)), q));
      const Value p = c.axis(n, Role::reduce), l = c.axis(columns);
      const Value w = c.b.load(x, c.at(p, columns, l));
      const Value top = c.b.reduce(Combine::max, Order::any, w, p),
                  at = c.b.argreduce(Combine::max, w, p);
      c.b.store(index, l, c.b.where(c.b.lt(top, c.b.f32(1)), at, c.b.i64(-1)));
      c.check();
    }
  }
}

void check_arg(DType t, Combine combine, int64_t rows, int64_t n, bool first_axis) {
  Case c(static_cast<uint64_t>(n) + 3);
  const Value x = c.input(t, rows * n), out = c.output(DType::i64, rows);
  const Value i = c.axis(rows), r = c.axis(n, Role::reduce);
  c.b.store(out, i,
            c.b.argreduce(combine, c.b.load(x, first_axis ? c.at(r, rows, i) : c.at(i, n, r)), r));
  c.check();
}
TEST(CpuReduce, ArgReductions) {
  for (const DType t : kAllDTypes) {
    if (is_half(t)) continue;
    for (const Combine combine : {Combine::max, Combine::min})
      for (const int64_t n : {0, 20, 200})
        for (const bool first_axis : {false, true}) check_arg(t, combine, 19, n, first_axis);
  }
}

void check_softmax(int64_t rows, int64_t n) {
  Case c(static_cast<uint64_t>(n));
  const Value x = c.smooth_input(DType::f32, rows * n), out = c.output(DType::f32, rows * n),
              tops = c.output(DType::f32, rows);
  const Value i = c.axis(rows), j = c.axis(n), r = c.axis(n, Role::reduce),
              q = c.axis(n, Role::reduce);
  const Value top = c.b.reduce(Combine::max, Order::any, c.b.load(x, c.at(i, n, r)), r);
  const auto e = [&](Value at) {
    return expand(c.b, kir::Fn::exp, c.b.binary(Op::sub, c.b.load(x, c.at(i, n, at)), top));
  };
  const Value sum = c.b.reduce(Combine::sum, Order::tree, e(q), q);
  c.b.store(tops, i, top);
  c.b.store(out, c.at(i, n, j), c.b.mul(e(j), c.b.div(c.b.f32(1), sum)));
  c.check();
}
TEST(CpuReduce, SoftmaxWithItsMaximumAsASecondResult) {
  for (const int64_t n : {1, 10, 64, 1023}) check_softmax(7, n);
}

TEST(CpuReduce, SeveralOverOneAxisShareALoop) {
  for (const int64_t n : {1, 63, 777}) {
    Case c(5);
    const Value x = c.input(DType::f32, 4 * n), out = c.output(DType::f32, 4 * 3),
                at = c.output(DType::i64, 4);
    const Value i = c.axis(4), r = c.axis(n, Role::reduce);
    const Value v = c.b.load(x, c.at(i, n, r));
    const Value values[] = {c.b.reduce(Combine::sum, Order::tree, v, r),
                            c.b.reduce(Combine::max, Order::any, v, r),
                            c.b.contract(Order::tree, v, v, r)};
    for (int k = 0; k < 3; ++k)
      c.b.store(out, c.b.add(c.b.mul(i, c.b.i64(3)), c.b.i64(k)), values[k]);
    c.b.store(at, i, c.b.argreduce(Combine::min, v, r));
    c.check();
  }
}

TEST(CpuReduce, NestedReductions) {
  for (const int64_t n : {1, 9, 66}) {
    Case c(5);
    const Value x = c.smooth_input(DType::f32, 5 * n * n), out = c.output(DType::f32, 5);
    const Value i = c.axis(5), r = c.axis(n, Role::reduce), q = c.axis(n, Role::reduce);
    const Value inner =
        c.b.reduce(Combine::sum, Order::blk256, c.b.load(x, c.at(c.at(i, n, r), n, q)), q);
    c.b.store(out, i, c.b.reduce(Combine::max, Order::any, inner, r));
    c.check();
  }
}

enum class Hidden { some, all, none };

void check_attention(int64_t queries, int64_t keys, int64_t channels, Hidden hidden) {
  Case c(static_cast<uint64_t>(keys));
  const Value q = c.smooth_input(DType::f32, queries * channels),
              k = c.smooth_input(DType::f32, keys * channels),
              v = c.smooth_input(DType::f32, keys * channels),
              m = c.input(DType::boolean, queries * keys),
              out = c.output(DType::f32, queries * channels);
  const Value i = c.axis(queries), d = c.axis(channels), j = c.axis(keys, Role::reduce),
              s = c.axis(channels, Role::reduce);
  const Value dot = c.b.contract(Order::blk256, c.b.load(q, c.at(i, channels, s)),
                                 c.b.load(k, c.at(j, channels, s)), s);
  const Value mask =
      hidden == Hidden::some ? c.b.load(m, c.at(i, keys, j)) : c.b.boolean(hidden == Hidden::none);
  c.b.store(out, c.at(i, channels, d),
            c.b.attn(c.b.mul(dot, c.b.f32(0.125f)), mask, c.b.load(v, c.at(j, channels, d)), j));
  c.check();
}
TEST(CpuReduce, Attention) {
  for (const int64_t keys : {0, 1, 63, 65, 200, 1024, 2500})
    check_attention(3, keys, 20, Hidden::some);
  for (const int64_t keys : {0, 10, 64, 130, 1100})
    for (const int64_t channels : {8, 64, 72}) check_attention(13, keys, channels, Hidden::some);
  check_attention(7, 1025, 64, Hidden::all);
  check_attention(7, 1100, 64, Hidden::none);
  check_attention(20, 129, 24, Hidden::none);
  check_attention(4, 70, 1, Hidden::some);
  check_attention(2, 70, 33, Hidden::all);
}

}  // namespace
}  // namespace ost::cpu_test
