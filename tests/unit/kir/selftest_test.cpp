// The self-tests must pass on a correct device and, above all, fail on each kind of wrong one.
#include "core/kir/selftest.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

const std::vector<SelfTest>& tests() {
  static const Result<std::vector<SelfTest>> all = self_tests();
  EXPECT_TRUE(all) << all.error().message;
  return *all;
}

const SelfTest& test_named(const std::string& name) {
  return *std::find_if(tests().begin(), tests().end(),
                       [&](const SelfTest& t) { return t.name == name; });
}

// Runs the item on a "device": the interpreter on a kernel that the device's compiler changed.
std::vector<uint8_t> run_on(const SelfTest& test, const Kernel& kernel) {
  auto inputs = test.inputs;
  std::vector<uint8_t> out(test.expected.size(), 0xee);
  std::vector<ParamData> params;
  for (auto& in : inputs) params.push_back({in.data(), in.size()});
  params.push_back({out.data(), out.size()});
  const Result<> ran = interpret(kernel, params, {});
  EXPECT_TRUE(ran) << ran.error().message;
  return out;
}
bool passes(const std::string& name, const std::function<void(Kernel&)>& change) {
  Kernel kernel = test_named(name).kernel;
  change(kernel);
  return run_on(test_named(name), kernel) == test_named(name).expected;
}

TEST(SelfTests, AreVerifiedAndHoldTheirResults) {
  ASSERT_EQ(tests().size(), 11u);
  for (const SelfTest& t : tests()) {
    EXPECT_TRUE(verify(t.kernel)) << t.name;
    EXPECT_EQ(t.inputs.size() + 1, t.kernel.param_count()) << t.name;
    EXPECT_EQ(run_on(t, t.kernel), t.expected) << t.name;
  }
}

TEST(SelfTests, AreTheSameInEachProcess) {
  const auto again = self_tests();
  ASSERT_TRUE(again);
  for (size_t i = 0; i < tests().size(); ++i) EXPECT_EQ((*again)[i].expected, tests()[i].expected);
}

// What FP_CONTRACT ON does: a mul that an add uses becomes an fma.
void contract(Kernel& k) {
  for (Inst& add : k.insts) {
    if (static_cast<Op>(add.op) != Op::add || !is_float(static_cast<DType>(add.dtype))) continue;
    const Inst mul = k.insts[add.src[0]];
    if (static_cast<Op>(mul.op) != Op::mul) continue;
    add = {OST_KIR_OP_FMA, add.dtype, 3, 0, {mul.src[0], mul.src[1], add.src[1], kNone}, 0};
  }
}
// A device without fma: two roundings. The record count must not change, so the product goes where
// an operand was.
void split_fma(Kernel& k) {
  Builder b;
  std::map<Value, Value> at;
  Kernel out;
  for (Value v = 0; v < k.insts.size(); ++v) {
    Inst inst = k.insts[v];
    for (uint32_t i = 0; i < inst.nsrc; ++i) inst.src[i] = at[inst.src[i]];
    if (static_cast<Op>(inst.op) == Op::fma) {
      out.insts.push_back(
          {OST_KIR_OP_MUL, inst.dtype, 2, 0, {inst.src[0], inst.src[1], kNone, kNone}, 0});
      inst = {OST_KIR_OP_ADD,
              inst.dtype,
              2,
              0,
              {static_cast<Value>(out.insts.size() - 1), inst.src[2], kNone, kNone},
              0};
    }
    at[v] = static_cast<Value>(out.insts.size());
    out.insts.push_back(inst);
  }
  k = out;
}
void set_order(Kernel& k, uint32_t from, uint32_t to) {
  for (Inst& inst : k.insts)
    if ((static_cast<Op>(inst.op) == Op::reduce || static_cast<Op>(inst.op) == Op::contract) &&
        inst.aux >> 8 == from)
      inst.aux = (inst.aux & 0xff) | to << 8;
}
void replace(Kernel& k, Op from, Op to) {
  for (Inst& inst : k.insts)
    if (static_cast<Op>(inst.op) == from) inst.op = static_cast<uint16_t>(to);
}

TEST(SelfTests, SeeContraction) {
  EXPECT_FALSE(passes("contraction", contract));
  EXPECT_FALSE(passes("f64 arithmetic", contract));
}

TEST(SelfTests, SeeAMissingFma) {
  EXPECT_FALSE(passes("fma", split_fma));
  EXPECT_FALSE(passes("f64 arithmetic", split_fma));
}

TEST(SelfTests, SeeAReassociatedSum) {
  EXPECT_FALSE(passes("ordered sum",
                      [](Kernel& k) { set_order(k, OST_KIR_ORDER_TREE, OST_KIR_ORDER_BLK256); }));
  EXPECT_FALSE(passes("ordered sum",
                      [](Kernel& k) { set_order(k, OST_KIR_ORDER_TREE, OST_KIR_ORDER_ANY); }));
  EXPECT_FALSE(passes("ordered contraction",
                      [](Kernel& k) { set_order(k, OST_KIR_ORDER_BLK256, OST_KIR_ORDER_ANY); }));
}

TEST(SelfTests, SeeThatSumMinusTermWasSimplified) {
  // (a + b) - a becomes b.
  EXPECT_FALSE(passes("cancellation", [](Kernel& k) {
    for (Inst& inst : k.insts) {
      if (static_cast<Op>(inst.op) != Op::store) continue;
      inst.src[2] = k.insts[k.insts[inst.src[2]].src[0]].src[1];
    }
  }));
}

// The element-wise items against models of devices that approximate, in plain C++.
std::vector<float> floats(const std::vector<uint8_t>& bytes) {
  std::vector<float> v(bytes.size() / 4);
  std::memcpy(v.data(), bytes.data(), bytes.size());
  return v;
}
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

TEST(SelfTests, SeeDivisionByReciprocal) {
  const SelfTest t = test_named("division");
  const auto a = floats(t.inputs[0]), b = floats(t.inputs[1]), q = floats(t.expected);
  int wrong = 0, flushed_quotients = 0;
  for (size_t i = 0; i < q.size(); ++i) {
    if (q[i] != q[i]) continue;
    wrong += !same_bits(a[i] * (1.0f / b[i]), q[i]);
    flushed_quotients += !same_bits(flushed(q[i]), q[i]);
  }
  EXPECT_GT(wrong, 100);
  EXPECT_GT(flushed_quotients, 10);
}

TEST(SelfTests, SeeAnApproximateRoot) {
  const SelfTest t = test_named("sqrt");
  const auto a = floats(t.inputs[0]), r = floats(t.expected);
  int wrong = 0, subnormal_operands = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    if (!(r[i] > 0)) continue;
    wrong += !same_bits(static_cast<float>(a[i] * (1.0f / std::sqrt(a[i]))), r[i]);
    subnormal_operands += a[i] < 0x1p-126f;
  }
  EXPECT_GT(wrong, 100);
  EXPECT_GT(subnormal_operands, 50);
}

TEST(SelfTests, SeeFlushedSubnormals) {
  const SelfTest t = test_named("denormals");
  const auto x = floats(t.inputs[0]), y = floats(t.inputs[1]), out = floats(t.expected);
  const size_t n = x.size();
  int sums = 0, products = 0, operands = 0;
  for (size_t i = 0; i < n; ++i) {
    sums += !same_bits(flushed(flushed(x[i]) + flushed(y[i])), out[i]);
    products += !same_bits(flushed(x[i] * y[i]), out[n + i]);
    operands += !same_bits(flushed(x[i]) * 0x1p120f, out[2 * n + i]);
  }
  EXPECT_GT(sums, 100);
  EXPECT_GT(products, 100);
  EXPECT_GT(operands, 100);
}

TEST(SelfTests, SeeWrongShiftsAndExtremes) {
  EXPECT_FALSE(passes("integers", [](Kernel& k) { replace(k, Op::rem, Op::div); }));
  EXPECT_FALSE(passes("integers", [](Kernel& k) { replace(k, Op::max, Op::min); }));
  EXPECT_FALSE(passes("integers", [](Kernel& k) { replace(k, Op::shr, Op::shl); }));
}

TEST(SelfTests, SeeAConversionThatWrapsOrTruncates) {
  const SelfTest t = test_named("casts");
  const auto x = floats(t.inputs[0]);
  std::vector<int64_t> out(t.expected.size() / 8);
  std::memcpy(out.data(), t.expected.data(), t.expected.size());
  const size_t n = x.size();
  int wraps = 0, truncated = 0;
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(x[i]) < 0x1p62f)
      wraps += static_cast<int8_t>(static_cast<int64_t>(x[i])) != out[i];
    if (x[i] == x[i])
      truncated += static_cast<int64_t>(bits(x[i]) >> 16) != out[9 * n + i];  // bf16 by cutting
  }
  EXPECT_GT(wraps, 100);
  EXPECT_GT(truncated, 100);
}

}  // namespace
}  // namespace ost::kir::testing
