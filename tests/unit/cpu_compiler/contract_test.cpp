// Matrix products: layouts, tails, batches, prologues and epilogues, and every order.
#include "core/kir/math.hpp"
#include "jit.hpp"

namespace ost::cpu_test {
namespace {

struct Shape {
  int64_t m, n, k;
};

struct Product {
  bool transpose_a = false, transpose_b = false;
  bool prologue = false, epilogue = false;
  int64_t batch = 1;
  DType type = DType::f32;
  DType storage = DType::f32;  // of A and B
  Order order = Order::blk256;
};

void check_product(Shape s, const Product& p) {
  Case c(static_cast<uint64_t>(s.m * 1000003 + s.n * 1009 + s.k));
  const bool real = is_float(p.storage);
  const auto input = [&](int64_t n) {
    return real ? c.smooth_input(p.storage, n) : c.input(p.storage, n);
  };
  const Value a = input(p.batch * s.m * s.k), b = input(p.batch * s.k * s.n),
              bias = c.smooth_input(DType::f32, s.n), out = c.output(p.type, p.batch * s.m * s.n);
  const Value z = c.axis(p.batch), i = c.axis(s.m), j = c.axis(s.n), k = c.axis(s.k, Role::reduce);
  Builder& t = c.b;
  const auto load = [&](Value from, Value batch_stride, Value x, int64_t stride, Value y,
                        bool transposed, int64_t other) {
    const Value inner =
        transposed ? t.add(t.mul(y, t.i64(other)), x) : t.add(t.mul(x, t.i64(stride)), y);
    return t.cast(p.type, t.load(from, t.add(t.mul(z, batch_stride), inner)));
  };
  Value x = load(a, t.i64(s.m * s.k), i, s.k, k, p.transpose_a, s.m);
  Value y = load(b, t.i64(s.k * s.n), k, s.n, j, p.transpose_b, s.k);
  if (p.prologue) {
    x = t.mul(x, t.float_const(p.type, 0.5));
    y = t.where(t.lt(y, t.float_const(p.type, 0)), t.float_const(p.type, 0), y);
  }
  Value r = t.contract(p.order, x, y, k);
  if (p.epilogue) r = expand(t, kir::Fn::silu, t.add(r, t.cast(p.type, t.load(bias, j))));
  t.store(out, t.add(t.mul(t.add(t.mul(z, t.i64(s.m)), i), t.i64(s.n)), j), r);
  c.check();
}

const std::vector<Shape> kShapes = {{1, 1, 1},     {1, 64, 100},   {17, 1, 33},  {5, 7, 0},
                                    {6, 64, 256},  {7, 65, 257},   {13, 63, 40}, {64, 10, 257},
                                    {33, 130, 19}, {12, 200, 515}, {50, 48, 64}, {131, 150, 777}};

TEST(CpuContract, RowMajor) {
  for (const Shape& s : kShapes) check_product(s, {});
}
TEST(CpuContract, TransposedOperands) {
  for (const Shape& s : kShapes) {
    check_product(s, {.transpose_b = true});
    check_product(s, {.transpose_a = true});
  }
}
TEST(CpuContract, PrologueAndEpilogue) {
  for (const Shape& s : kShapes) check_product(s, {.prologue = true, .epilogue = true});
}
TEST(CpuContract, Batches) {
  for (const Shape& s : {Shape{5, 40, 30}, Shape{64, 64, 64}, Shape{9, 3, 300}}) {
    check_product(s, {.batch = 3});
    check_product(s, {.transpose_b = true, .epilogue = true, .batch = 2});
  }
}
TEST(CpuContract, HalfOperandsComputeInF32) {
  for (const DType storage : {DType::f16, DType::bf16})
    for (const Shape& s : {Shape{6, 64, 64}, Shape{11, 70, 300}})
      check_product(s, {.storage = storage});
}
TEST(CpuContract, F64) {
  for (const Shape& s : {Shape{6, 64, 64}, Shape{11, 70, 300}, Shape{3, 5, 7}})
    check_product(s, {.type = DType::f64});
}
TEST(CpuContract, Integers) {
  for (const Shape& s : {Shape{6, 64, 64}, Shape{11, 70, 300}}) {
    check_product(s, {.type = DType::i32, .storage = DType::i8, .order = Order::any});
    check_product(s, {.type = DType::i64, .storage = DType::i64, .order = Order::any});
  }
}
TEST(CpuContract, TreeOrder) {
  for (const Shape& s : {Shape{1, 1, 5000}, Shape{9, 1, 300}, Shape{1, 20, 64}, Shape{3, 3, 4097}})
    check_product(s, {.transpose_b = true, .order = Order::tree});
}

}  // namespace
}  // namespace ost::cpu_test
