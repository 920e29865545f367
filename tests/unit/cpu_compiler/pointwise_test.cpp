// Every operation on every type that it has, in vectors, in masked or scalar tails, and as plain
// scalars.
#include "core/kir/math.hpp"
#include "jit.hpp"

namespace ost::cpu_test {
namespace {

constexpr int64_t kSizes[] = {1, 17, 1023};

// out[i] = f(x[i], y[i], z[i])
template <class F>
void check_map(DType result, DType type, F&& f, int64_t n, uint64_t seed = 1) {
  Case c(seed);
  const Value x = c.input(type, n), y = c.input(type, n), z = c.input(type, n),
              out = c.output(result, n);
  const Value i = c.axis(n);
  c.b.store(out, i, f(c.b, c.b.load(x, i), c.b.load(y, i), c.b.load(z, i)));
  c.check();
}

std::vector<DType> types(bool floats, bool ints, bool booleans) {
  std::vector<DType> v;
  for (const DType t : kAllDTypes) {
    const bool is_real = is_float(t) && !is_half(t);
    if ((floats && is_real) || (ints && is_int(t)) || (booleans && t == DType::boolean))
      v.push_back(t);
  }
  return v;
}

void check_binary(Op op, const std::vector<DType>& types) {
  for (const DType t : types)
    for (const int64_t n : kSizes)
      check_map(t, t, [&](Builder& b, Value x, Value y, Value) { return b.binary(op, x, y); }, n);
}
void check_unary(Op op, const std::vector<DType>& types) {
  for (const DType t : types)
    for (const int64_t n : kSizes)
      check_map(t, t, [&](Builder& b, Value x, Value, Value) { return b.unary(op, x); }, n);
}

TEST(CpuPointwise, Arithmetic) {
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div})
    check_binary(op, types(true, true, false));
  check_binary(Op::rem, types(false, true, false));
}
TEST(CpuPointwise, MinMaxLetNaNWinAndOrderZeros) {
  for (const Op op : {Op::min, Op::max}) check_binary(op, types(true, true, true));
}
TEST(CpuPointwise, Bits) {
  for (const Op op : {Op::bit_and, Op::bit_or, Op::bit_xor})
    check_binary(op, types(false, true, true));
  for (const Op op : {Op::shl, Op::shr}) check_binary(op, types(false, true, false));
  check_unary(Op::bit_not, types(false, true, true));
}
TEST(CpuPointwise, OneOperand) {
  for (const Op op : {Op::neg, Op::abs}) check_unary(op, types(true, true, false));
  for (const Op op : {Op::sqrt, Op::floor, Op::ceil, Op::trunc, Op::rint})
    check_unary(op, types(true, false, false));
}
TEST(CpuPointwise, Compare) {
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le})
    for (const DType t : types(true, true, true))
      for (const int64_t n : kSizes)
        check_map(
            DType::boolean, t,
            [&](Builder& b, Value x, Value y, Value) { return b.compare(op, x, y); }, n);
}
TEST(CpuPointwise, Fma) {
  for (const DType t : {DType::f32, DType::f64})
    for (uint64_t seed = 1; seed < 6; ++seed)
      check_map(
          t, t, [](Builder& b, Value x, Value y, Value z) { return b.fma(x, y, z); }, 4099, seed);
}
TEST(CpuPointwise, LdexpRoundsOnceForAllExponents) {
  for (const DType t : {DType::f32, DType::f64}) {
    Case c;
    const int64_t n = 5003;
    const Value x = c.input(t, n), e = c.input(DType::i32, n), out = c.output(t, n),
                out2 = c.output(t, n), i = c.axis(n);
    const Value exponent = c.b.load(e, i);
    c.b.store(out, i, c.b.ldexp(c.b.load(x, i), exponent));
    const Value modest = c.b.binary(Op::rem, exponent, c.b.constant(DType::i32, 2300));
    c.b.store(out2, i, c.b.ldexp(c.b.load(x, i), modest));
    c.check();
  }
}
TEST(CpuPointwise, WhereOnEveryType) {
  for (const DType t : kAllDTypes)
    for (const int64_t n : kSizes) {
      Case c;
      const Value cond = c.input(DType::boolean, n), x = c.input(t, n), y = c.input(t, n),
                  out = c.output(t, n), i = c.axis(n);
      c.b.store(out, i, c.b.where(c.b.load(cond, i), c.b.load(x, i), c.b.load(y, i)));
      c.check();
    }
}
TEST(CpuPointwise, CastsBetweenAllTypes) {
  for (const DType from : kAllDTypes)
    for (const DType to : kAllDTypes)
      check_map(to, from, [&](Builder& b, Value x, Value, Value) { return b.cast(to, x); }, 1043);
}
TEST(CpuPointwise, Bitcasts) {
  for (const DType from : kAllDTypes)
    for (const DType to : kAllDTypes) {
      if (from == DType::boolean || to == DType::boolean || size_of(from) != size_of(to)) continue;
      if (is_float(from) && !is_float(to)) continue;  // the bits of a NaN are no promise
      check_map(to, from, [&](Builder& b, Value x, Value, Value) { return b.bitcast(to, x); }, 77);
    }
}
TEST(CpuPointwise, ElementaryFunctions) {
  using kir::Fn;
  for (const DType t : {DType::f32, DType::f64})
    for (const Fn fn :
         {Fn::exp, Fn::exp2, Fn::expm1, Fn::log, Fn::log2, Fn::log1p, Fn::sin, Fn::cos, Fn::tanh,
          Fn::sigmoid, Fn::silu, Fn::erf, Fn::gelu, Fn::rsqrt, Fn::pow})
      check_map(
          t, t,
          [&](Builder& b, Value x, Value y, Value) {
            return expand(b, fn, x, fn == Fn::pow ? y : kir::kNone);
          },
          1057);
}
TEST(CpuPointwise, ScalarKernel) {
  Case c;
  const Value x = c.input(DType::f32, 2), out = c.output(DType::f32, 1);
  c.b.store(out, c.b.i64(0), c.b.add(c.b.load(x, c.b.i64(0)), c.b.load(x, c.b.i64(1))));
  c.check();
}

}  // namespace
}  // namespace ost::cpu_test
