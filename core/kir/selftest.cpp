// The self-tests of a device. The inputs are chosen where a wrong device shows: products that
// cancel with their rounding error, quotients and roots around the subnormals, sums whose order
// matters, conversions at every limit.
#include "core/kir/selftest.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "core/kir/interpret.hpp"

namespace ost::kir {
namespace {

constexpr size_t kCount = 1024;  // elements of each element-wise item

// A fixed sequence of numbers; the inputs of a self-test never change.
class Sequence {
 public:
  uint64_t next() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  // Sign and mantissa at random, exponent from 2^lo to 2^hi.
  float f32(int lo, int hi) {
    const uint64_t r = next();
    const auto mantissa = static_cast<float>(1.0 + static_cast<double>(r >> 41) * 0x1p-23);
    const int e = lo + static_cast<int>((r & 0xffff) % static_cast<uint64_t>(hi - lo + 1));
    return std::ldexp(r & 0x10000 ? -mantissa : mantissa, e);
  }
  double f64(int lo, int hi) {
    const uint64_t r = next();
    const double mantissa = 1.0 + static_cast<double>(r >> 12) * 0x1p-52;
    const int e = lo + static_cast<int>((r & 0xff) % static_cast<uint64_t>(hi - lo + 1));
    return std::ldexp(r & 0x100 ? -mantissa : mantissa, e);
  }

 private:
  uint64_t state_ = 20261130;
};

template <class T, class F>
std::vector<T> filled(size_t n, F&& f) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = f(i);
  return v;
}

constexpr float kSpecials[] = {0.0f,
                               -0.0f,
                               1.0f,
                               -1.0f,
                               __builtin_inff(),
                               -__builtin_inff(),
                               __builtin_nanf(""),
                               0x1p-149f,
                               -0x1p-149f,
                               0x1p-126f,
                               0x1.fffffcp-127f,
                               0x1.fffffep127f,
                               0x1p-75f,
                               0x1p75f,
                               3.0f,
                               0x1.fffffep0f};
constexpr size_t kPairs = std::size(kSpecials) * std::size(kSpecials);

// One item under construction: inputs by slot, and the builder of its kernel.
class Item {
 public:
  explicit Item(std::string name) { test_.name = std::move(name); }

  template <class T>
  Value input(DType type, const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    test_.inputs.push_back(std::move(bytes));
    return b.param(slot_++, type, b.i64(static_cast<int64_t>(values.size())), OST_KIR_READ);
  }
  Value output(DType type, size_t n) {
    test_.output_type = type;
    test_.expected.resize(n * size_of(type));
    return b.param(slot_++, type, b.i64(static_cast<int64_t>(n)), OST_KIR_WRITE);
  }
  Value axis(size_t n, Role role = Role::parallel) {
    return b.axis(b.i64(static_cast<int64_t>(n)), role);
  }

  Result<SelfTest> finish() {
    OST_TRY_ASSIGN(test_.kernel, b.build());
    std::vector<ParamData> params;
    for (auto& input : test_.inputs) params.push_back({input.data(), input.size()});
    params.push_back({test_.expected.data(), test_.expected.size()});
    OST_TRY(interpret(test_.kernel, params, {}));
    return std::move(test_);
  }

  Builder b;

 private:
  SelfTest test_;
  uint32_t slot_ = 0;
};

// out[i] = f(x[i], y[i], z[i]) over kCount elements of f32.
template <class F>
Result<SelfTest> elementwise(const char* name, const std::vector<std::vector<float>>& inputs,
                             F&& f) {
  Item item(name);
  std::vector<Value> params;
  for (const auto& values : inputs) params.push_back(item.input(DType::f32, values));
  const size_t n = inputs.front().size();
  const Value out = item.output(DType::f32, n);
  const Value i = item.axis(n);
  std::vector<Value> x;
  for (Value p : params) x.push_back(item.b.load(p, i));
  item.b.store(out, i, f(item.b, x));
  return item.finish();
}

// a*b + c with two roundings; half of the c are the rounded product, negated, so that an fma would
// leave its error.
Result<SelfTest> contraction(Sequence& s, bool fused) {
  const auto a = filled<float>(kCount, [&](size_t) { return s.f32(-10, 10); });
  const auto b = filled<float>(kCount, [&](size_t) { return s.f32(-10, 10); });
  const auto c =
      filled<float>(kCount, [&](size_t i) { return i % 2 ? s.f32(-12, 12) : -(a[i] * b[i]); });
  return elementwise(fused ? "fma" : "contraction", {a, b, c},
                     [fused](Builder& k, const std::vector<Value>& x) {
                       return fused ? k.fma(x[0], x[1], x[2]) : k.add(k.mul(x[0], x[1]), x[2]);
                     });
}

Result<SelfTest> division(Sequence& s) {
  const auto special = [](size_t i, bool second) {
    return kSpecials[second ? i % 16 : i / 16 % 16];
  };
  const auto a = filled<float>(kCount, [&](size_t i) {
    return i < kPairs ? special(i, false) : s.f32(i % 2 ? -140 : -20, 20);
  });
  const auto b = filled<float>(kCount, [&](size_t i) {
    return i < kPairs ? special(i, true) : s.f32(-20, i % 4 == 1 ? 120 : 20);
  });
  return elementwise("division", {a, b},
                     [](Builder& k, const std::vector<Value>& x) { return k.div(x[0], x[1]); });
}

Result<SelfTest> square_root(Sequence& s) {
  const auto a = filled<float>(kCount, [&](size_t i) {
    return i < 16 ? kSpecials[i] : std::fabs(s.f32(i % 4 ? -149 : -1, i % 4 ? 127 : 1));
  });
  return elementwise(
      "sqrt", {a}, [](Builder& k, const std::vector<Value>& x) { return k.unary(Op::sqrt, x[0]); });
}

// Sums and products that are, or are made of, subnormal numbers.
Result<SelfTest> denormals(Sequence& s) {
  Item item("denormals");
  const auto x =
      filled<float>(kCount, [&](size_t i) { return i % 2 ? s.f32(-149, -126) : s.f32(-130, -60); });
  const auto y =
      filled<float>(kCount, [&](size_t i) { return i % 2 ? s.f32(-149, -126) : s.f32(-70, -10); });
  const Value px = item.input(DType::f32, x), py = item.input(DType::f32, y);
  const Value out = item.output(DType::f32, 3 * kCount);
  const Value i = item.axis(kCount);
  Builder& b = item.b;
  const Value a = b.load(px, i), c = b.load(py, i);
  const Value n = b.i64(kCount);
  b.store(out, i, b.add(a, c));
  b.store(out, b.add(i, n), b.mul(a, c));
  b.store(out, b.add(i, b.add(n, n)),
          b.mul(a, b.f32(0x1p120f)));  // a subnormal operand, a normal result
  return item.finish();
}

Result<SelfTest> cancellation(Sequence& s) {
  const auto a = filled<float>(kCount, [&](size_t) { return s.f32(-4, 20); });
  const auto b = filled<float>(kCount, [&](size_t) { return s.f32(-8, 4); });
  return elementwise("cancellation", {a, b}, [](Builder& k, const std::vector<Value>& x) {
    return k.sub(k.add(x[0], x[1]), x[0]);
  });
}

// Row sums of one chunk and of two, in the order of the tree.
Result<SelfTest> ordered_sum(Sequence& s) {
  Item item("ordered sum");
  const auto x = filled<float>(6000, [&](size_t) { return s.f32(-6, 6); });
  const Value p = item.input(DType::f32, x);
  const Value out = item.output(DType::f32, 2);
  Builder& b = item.b;
  const Value r = item.axis(1000, Role::reduce), r2 = item.axis(5000, Role::reduce);
  b.store(out, b.i64(0), b.reduce(Combine::sum, Order::tree, b.load(p, r), r));
  b.store(out, b.i64(1),
          b.reduce(Combine::sum, Order::tree, b.load(p, b.add(r2, b.i64(1000))), r2));
  return item.finish();
}

// An 8 x 600 by 600 x 8 product: two whole chains of 256 and a rest.
Result<SelfTest> ordered_contraction(Sequence& s) {
  constexpr int64_t kSide = 8, kDepth = 600;
  Item item("ordered contraction");
  const auto values = [&](size_t) { return s.f32(-6, 6); };
  const Value a = item.input(DType::f32, filled<float>(kSide * kDepth, values));
  const Value c = item.input(DType::f32, filled<float>(kSide * kDepth, values));
  const Value out = item.output(DType::f32, kSide * kSide);
  Builder& b = item.b;
  const Value i = item.axis(kSide), j = item.axis(kSide), k = item.axis(kDepth, Role::reduce);
  const Value x = b.load(a, b.add(b.mul(i, b.i64(kDepth)), k));
  const Value y = b.load(c, b.add(b.mul(k, b.i64(kSide)), j));
  b.store(out, b.add(b.mul(i, b.i64(kSide)), j), b.contract(Order::blk256, x, y, k));
  return item.finish();
}

std::vector<float> cast_inputs(Sequence& s) {
  constexpr float kLimits[] = {
      127.5f,       128.0f,   -128.5f,    -129.0f,        255.5f,   256.0f,   32767.5f,
      65535.5f,     0x1p31f,  -0x1p31f,   0x1.fffffep30f, 0x1p32f,  0x1p63f,  -0x1p63f,
      0x1p64f,      65504.0f, 65519.996f, 65520.0f,       0x1p-24f, 0x1p-25f, 0x1.000002p-25f,
      0x1.ffep-15f, 0.5f,     1.5f,       2.5f,           -0.5f};
  return filled<float>(kCount, [&](size_t i) {
    if (i < 16) return kSpecials[i];
    if (i < 16 + std::size(kLimits)) return kLimits[i - 16];
    return s.f32(i % 2 ? -26 : 0, i % 2 ? 17 : 66);
  });
}

// Every conversion from f32, and of integers to f32, as integers side by side in one output.
Result<SelfTest> casts(Sequence& s) {
  constexpr DType kIntegers[] = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                                 DType::i32, DType::u32, DType::i64, DType::u64};
  Item item("casts");
  const Value px = item.input(DType::f32, cast_inputs(s));
  const Value pi = item.input(
      DType::i64, filled<uint64_t>(kCount, [&](size_t i) { return s.next() >> (i % 64); }));
  const Value out = item.output(DType::i64, kCount * (std::size(kIntegers) + 4));
  const Value i = item.axis(kCount);
  Builder& b = item.b;
  const Value x = b.load(px, i), n = b.load(pi, i);
  int64_t row = 0;
  const auto put = [&](Value v) {
    b.store(out, b.add(i, b.i64(row++ * static_cast<int64_t>(kCount))), b.cast(DType::i64, v));
  };
  for (DType t : kIntegers) put(b.cast(t, x));
  // The bits of a NaN are not specified: it becomes 0.
  const Value is_nan = b.compare(Op::ne, x, x);
  for (DType t : {DType::f16, DType::bf16})
    put(b.where(is_nan, b.constant(DType::u16, 0), b.bitcast(DType::u16, b.cast(t, x))));
  put(b.bitcast(DType::i32, b.cast(DType::f32, n)));
  put(b.bitcast(DType::i32, b.cast(DType::f32, b.bitcast(DType::u64, n))));
  return item.finish();
}

Result<SelfTest> integers(Sequence& s) {
  Item item("integers");
  constexpr int32_t kEdge[] = {0, 1, -1, INT32_MIN, INT32_MAX, 31, 32, -32};
  const auto edge = [&](size_t i, size_t d) {
    return i < 64 ? kEdge[i / d % 8] : static_cast<int32_t>(s.next()) >> (i % 24);
  };
  const Value px =
      item.input(DType::i32, filled<int32_t>(kCount, [&](size_t i) { return edge(i, 8); }));
  const Value py =
      item.input(DType::i32, filled<int32_t>(kCount, [&](size_t i) { return edge(i, 1); }));
  constexpr Op kOps[] = {Op::add, Op::mul, Op::div, Op::rem, Op::shl, Op::shr, Op::min, Op::max};
  const Value out = item.output(DType::i32, kCount * std::size(kOps));
  const Value i = item.axis(kCount);
  Builder& b = item.b;
  const Value x = b.load(px, i), y = b.load(py, i);
  int64_t row = 0;
  for (Op op : kOps)
    b.store(out, b.add(i, b.i64(row++ * static_cast<int64_t>(kCount))), b.binary(op, x, y));
  return item.finish();
}

// Contraction, fma, division, root and subnormals in f64. A device without f64 cannot run it.
Result<SelfTest> f64_arithmetic(Sequence& s) {
  Item item("f64 arithmetic");
  const auto a = filled<double>(kCount, [&](size_t) { return s.f64(-30, 30); });
  const auto b = filled<double>(kCount, [&](size_t) { return s.f64(-30, 30); });
  const auto c =
      filled<double>(kCount, [&](size_t i) { return i % 2 ? s.f64(-30, 30) : -(a[i] * b[i]); });
  const Value pa = item.input(DType::f64, a), pb = item.input(DType::f64, b),
              pc = item.input(DType::f64, c);
  const Value out = item.output(DType::f64, 5 * kCount);
  const Value i = item.axis(kCount);
  Builder& k = item.b;
  const Value x = k.load(pa, i), y = k.load(pb, i), z = k.load(pc, i);
  const Value tiny = k.f64(0x1p-1040);
  int64_t row = 0;
  for (Value v : {k.add(k.mul(x, y), z), k.fma(x, y, z), k.div(x, y),
                  k.unary(Op::sqrt, k.unary(Op::abs, x)), k.add(k.mul(x, tiny), k.mul(y, tiny))})
    k.store(out, k.add(i, k.i64(row++ * static_cast<int64_t>(kCount))), v);
  return item.finish();
}

}  // namespace

Result<std::vector<SelfTest>> self_tests() {
  Sequence s;
  std::vector<SelfTest> tests;
  Result<SelfTest> all[] = {contraction(s, false), contraction(s, true),   division(s),
                            square_root(s),        denormals(s),           cancellation(s),
                            ordered_sum(s),        ordered_contraction(s), casts(s),
                            integers(s),           f64_arithmetic(s)};
  for (auto& test : all) {
    if (!test) return std::unexpected(std::move(test).error());
    tests.push_back(std::move(*test));
  }
  return tests;
}

}  // namespace ost::kir
