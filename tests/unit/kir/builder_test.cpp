// What the builder makes of the index arithmetic that movement operations are lowered to: the
// simple form itself, not only an equal value. (That values are kept is tested by
// simplify_random_test.)
#include <gtest/gtest.h>

#include <algorithm>

#include "core/kir/kernel.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

class BuilderIndex : public ::testing::Test {
 protected:
  Value c(int64_t v) { return b.i64(v); }
  Value axis(int64_t n) { return b.axis(c(n), Role::parallel); }
  Value axis_of(Value n) { return b.axis(n, Role::parallel); }
  Value add(Value x, Value y) { return b.add(x, y); }
  Value mul(Value x, Value y) { return b.mul(x, y); }
  Value linear(std::initializer_list<std::pair<Value, Value>> index_and_extent) {
    Value out = c(0);
    for (const auto& [index, extent] : index_and_extent) out = b.add(b.mul(out, extent), index);
    return out;
  }
  bool is(Value v, int64_t wanted) { return v == c(wanted); }

  Builder b;
};

TEST_F(BuilderIndex, EqualSumsAreOneValue) {
  const Value i = axis(3), j = axis(5), k = axis(7);
  EXPECT_EQ(add(add(i, j), k), add(k, add(j, i)));
  EXPECT_EQ(mul(add(i, j), c(4)), add(mul(c(4), j), mul(i, c(4))));
  EXPECT_EQ(b.sub(add(i, j), j), i);
  EXPECT_EQ(b.sub(b.sub(c(2), i), c(2)), b.unary(Op::neg, i));
  EXPECT_EQ(mul(mul(i, c(3)), c(4)), mul(i, c(12)));
  EXPECT_EQ(add(add(i, c(1)), c(2)), add(i, c(3)));
  EXPECT_TRUE(is(b.sub(mul(i, j), mul(j, i)), 0));
}

TEST_F(BuilderIndex, SplitOfALinearIndexGivesTheIndices) {
  const Value i = axis(3), j = axis(5), k = axis(7);
  const Value position = linear({{i, c(3)}, {j, c(5)}, {k, c(7)}});
  EXPECT_EQ(b.rem(position, c(7)), k);
  EXPECT_EQ(b.rem(b.div(position, c(7)), c(5)), j);
  EXPECT_EQ(b.div(b.div(position, c(7)), c(5)), i);
  EXPECT_EQ(b.div(position, c(35)), i);
  EXPECT_EQ(b.rem(position, c(35)), linear({{j, c(5)}, {k, c(7)}}));
}

TEST_F(BuilderIndex, SplitWithSymbolicExtentsGivesTheIndices) {
  const Value n = b.var(0, 0, 100), m = b.var(1, 0, 50);
  const Value i = axis(9), j = axis_of(n), k = axis_of(m);
  const Value position = linear({{i, c(9)}, {j, n}, {k, m}});
  EXPECT_EQ(b.rem(position, m), k);
  EXPECT_EQ(b.rem(b.div(position, m), n), j);
  EXPECT_EQ(b.div(b.div(position, m), n), i);
  EXPECT_EQ(b.div(position, mul(n, m)), i);
  const Value wide = axis_of(mul(n, c(64)));
  EXPECT_EQ(b.div(linear({{i, c(9)}, {wide, mul(n, c(64))}}), mul(n, c(64))), i);
}

TEST_F(BuilderIndex, SplitBySumsOfSymbolsGivesTheIndices) {
  const Value n = b.var(0, 0, 100);
  const Value padded = add(n, c(2));
  const Value i = axis(9), j = axis_of(padded);
  const Value position = linear({{i, c(9)}, {j, padded}});
  EXPECT_EQ(b.div(position, padded), i);
  EXPECT_EQ(b.rem(position, padded), j);
}

TEST_F(BuilderIndex, LinearIndexOfASplitIsThePosition) {
  const Value p = axis(24);
  const Value a = b.div(p, c(12)), m = b.rem(b.div(p, c(4)), c(3)), z = b.rem(p, c(4));
  EXPECT_EQ(linear({{a, c(2)}, {m, c(3)}, {z, c(4)}}), p);
  const Value n = b.var(0, 0, 100);
  const Value q = axis_of(mul(n, c(6)));
  EXPECT_EQ(add(mul(b.div(q, n), n), b.rem(q, n)), q);
  EXPECT_EQ(add(mul(b.div(q, c(6)), c(6)), b.rem(q, c(6))), q);
  EXPECT_EQ(add(mul(add(mul(b.div(q, c(6)), c(6)), b.rem(q, c(6))), c(5)), p),
            add(mul(q, c(5)), p));
}

TEST_F(BuilderIndex, NestedSplitsHaveOneSpelling) {
  const Value p = axis(240);
  EXPECT_EQ(b.div(b.div(p, c(3)), c(4)), b.div(p, c(12)));
  EXPECT_EQ(b.rem(b.rem(p, c(12)), c(4)), b.rem(p, c(4)));
  EXPECT_EQ(b.div(b.rem(p, c(12)), c(4)), b.rem(b.div(p, c(4)), c(3)));
  const Value i = axis(8), j = axis(64);
  const Value position = add(mul(i, c(64)), j);
  EXPECT_EQ(b.div(position, c(128)), b.div(i, c(2)));
  EXPECT_EQ(b.rem(position, c(128)), add(mul(b.rem(i, c(2)), c(64)), j));
}

TEST_F(BuilderIndex, ReversedIndicesAreSplitToo) {
  const Value n = b.var(0, 1, 100);
  const Value i = axis(4), j = axis_of(n);
  const Value reversed = b.sub(b.sub(n, c(1)), j);
  const Value position = add(mul(i, n), reversed);
  EXPECT_EQ(b.div(position, n), i);
  EXPECT_EQ(b.rem(position, n), reversed);
}

TEST_F(BuilderIndex, ComparisonsAreDecidedByRanges) {
  const Value n = b.var(0, 1, 100);
  const Value i = axis_of(n), j = axis(5);
  EXPECT_EQ(b.lt(i, n), b.boolean(true));
  EXPECT_EQ(b.le(c(0), i), b.boolean(true));
  EXPECT_EQ(b.lt(j, c(5)), b.boolean(true));
  EXPECT_EQ(b.lt(c(5), j), b.boolean(false));
  EXPECT_EQ(b.compare(Op::eq, j, c(7)), b.boolean(false));
  EXPECT_EQ(b.compare(Op::ne, add(i, n), i), b.boolean(true));
  EXPECT_EQ(b.op(b.lt(j, n)), Op::lt) << "not decided";
  EXPECT_EQ(b.binary(Op::min, i, n), i);
  EXPECT_EQ(b.binary(Op::max, b.sub(i, n), c(0)), c(0));
}

TEST_F(BuilderIndex, WrappingArithmeticIsLeftAlone) {
  const Value p = b.param(0, DType::i64, c(4), OST_KIR_READ);
  const Value x = b.load(p, axis(4));
  const Value sum = b.add(x, c(1));
  EXPECT_EQ(b.op(sum), Op::add);
  EXPECT_EQ(b.op(b.lt(x, sum)), Op::lt) << "x + 1 may wrap, so x < x + 1 is not always true";
  EXPECT_EQ(b.op(b.div(mul(x, c(4)), c(4))), Op::div);
  EXPECT_EQ(b.op(b.div(x, c(4))), Op::div) << "negative numbers round the other way";
}

TEST_F(BuilderIndex, AnEmptyAxisKeepsItsIndex) {
  const Value n = b.var(0, 0, 1);  // the only index is 0, but there may be none
  const Value i = axis_of(n);
  EXPECT_EQ(add(i, c(0)), i);
  EXPECT_EQ(b.op(mul(i, c(3))), Op::mul);
  EXPECT_TRUE(is(mul(axis(1), c(3)), 0));
}

TEST_F(BuilderIndex, RangesOfAxesAndVariables) {
  const Value n = b.var(0, 2, 100);
  EXPECT_EQ(b.range(n).lo, 2);
  EXPECT_EQ(b.range(n).hi, 100);
  EXPECT_EQ(b.range(axis_of(n)).hi, 99);
  EXPECT_EQ(b.range(b.rem(axis(50), c(8))).hi, 7);
}

TEST(Builder, FoldsIntegersOfEveryWidth) {
  Builder b;
  const auto k = [&](DType t, int64_t v) {
    return b.constant(t, static_cast<uint64_t>(v) &
                             (bits_of(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_of(t)) - 1));
  };
  EXPECT_EQ(b.add(k(DType::i8, 127), k(DType::i8, 1)), k(DType::i8, -128));
  EXPECT_EQ(b.mul(k(DType::u8, 200), k(DType::u8, 2)), k(DType::u8, 144));
  EXPECT_EQ(b.div(k(DType::i32, -7), k(DType::i32, 2)), k(DType::i32, -3));
  EXPECT_EQ(b.rem(k(DType::i32, -7), k(DType::i32, 2)), k(DType::i32, -1));
  EXPECT_EQ(b.div(k(DType::i32, 7), k(DType::i32, 0)), k(DType::i32, 0));
  EXPECT_EQ(b.rem(k(DType::i32, 7), k(DType::i32, 0)), k(DType::i32, 0));
  EXPECT_EQ(b.div(k(DType::i64, INT64_MIN), k(DType::i64, -1)), k(DType::i64, INT64_MIN));
  EXPECT_EQ(b.rem(k(DType::i64, INT64_MIN), k(DType::i64, -1)), k(DType::i64, 0));
  EXPECT_EQ(b.binary(Op::shl, k(DType::u16, 1), k(DType::u16, 16)), k(DType::u16, 0));
  EXPECT_EQ(b.binary(Op::shr, k(DType::i16, -4), k(DType::i16, 1)), k(DType::i16, -2));
  EXPECT_EQ(b.binary(Op::shr, k(DType::i16, -4), k(DType::i16, -1)), k(DType::i16, 0));
  EXPECT_EQ(b.binary(Op::min, k(DType::u8, 200), k(DType::u8, 100)), k(DType::u8, 100));
  EXPECT_EQ(b.binary(Op::max, k(DType::i8, -56), k(DType::i8, 100)), k(DType::i8, 100));
  EXPECT_EQ(b.unary(Op::abs, k(DType::i8, -128)), k(DType::i8, -128));
  EXPECT_EQ(b.unary(Op::bit_not, k(DType::u8, 1)), k(DType::u8, 254));
  EXPECT_EQ(b.lt(k(DType::u64, -1), k(DType::u64, 1)), b.boolean(false));
  EXPECT_EQ(b.lt(k(DType::i64, -1), k(DType::i64, 1)), b.boolean(true));
}

TEST(Builder, CastsOfConstantsAreFoldedWhenExact) {
  Builder b;
  EXPECT_EQ(b.cast(DType::f32, b.i64(7)), b.f32(7));
  EXPECT_EQ(b.op(b.cast(DType::f32, b.i64((1 << 24) + 1))), Op::cast);
  EXPECT_EQ(b.cast(DType::f64, b.f32(0.1F)), b.f64(0.1F));
  EXPECT_EQ(b.op(b.cast(DType::f32, b.f64(0.1))), Op::cast);
  EXPECT_EQ(b.cast(DType::i32, b.f32(-3)), b.constant(DType::i32, 0xfffffffd));
  EXPECT_EQ(b.op(b.cast(DType::i32, b.f32(2.5F))), Op::cast);
  EXPECT_EQ(b.op(b.cast(DType::i8, b.f32(300))), Op::cast) << "saturates";
  EXPECT_EQ(b.cast(DType::i8, b.i64(300)), b.constant(DType::i8, 44));
  EXPECT_EQ(b.cast(DType::f16, b.f32(1)), b.constant(DType::f16, 0x3c00));
  EXPECT_EQ(b.cast(DType::boolean, b.f32(-0.0F)), b.boolean(false));
  EXPECT_EQ(b.cast(DType::f32, b.boolean(true)), b.f32(1));
}

TEST(Builder, FloatArithmeticIsNeverFolded) {
  Builder b;
  const Value one = b.f32(1), zero = b.f32(0);
  EXPECT_EQ(b.op(b.add(one, zero)), Op::add);
  EXPECT_EQ(b.op(b.mul(one, one)), Op::mul);
  EXPECT_EQ(b.op(b.unary(Op::neg, one)), Op::neg);
  EXPECT_EQ(b.op(b.compare(Op::eq, one, one)), Op::eq);
  EXPECT_NE(b.add(one, zero), b.add(zero, one));
  EXPECT_NE(b.f32(0.0F), b.f32(-0.0F));
}

TEST(Builder, BooleansFollowTheirLaws) {
  Builder b;
  const Value p = b.param(0, DType::boolean, b.i64(2), OST_KIR_READ);
  const Value x = b.load(p, b.i64(0)), y = b.load(p, b.i64(1));
  const Value yes = b.boolean(true), no = b.boolean(false);
  EXPECT_EQ(b.bit_and(x, yes), x);
  EXPECT_EQ(b.bit_and(no, x), no);
  EXPECT_EQ(b.bit_or(x, no), x);
  EXPECT_EQ(b.bit_or(yes, x), yes);
  EXPECT_EQ(b.bit_and(x, x), x);
  EXPECT_EQ(b.bit_xor(x, x), no);
  EXPECT_EQ(b.bit_xor(x, yes), b.unary(Op::bit_not, x));
  EXPECT_EQ(b.unary(Op::bit_not, b.unary(Op::bit_not, x)), x);
  EXPECT_EQ(b.bit_and(x, y), b.bit_and(y, x));
  EXPECT_EQ(b.where(x, yes, no), x);
  EXPECT_EQ(b.where(x, no, yes), b.unary(Op::bit_not, x));
  EXPECT_EQ(b.where(x, y, y), y);
  EXPECT_EQ(b.where(no, x, y), y);
}

TEST(Builder, MasksThatAreConstantDisappear) {
  Builder b;
  const Value p = b.param(0, DType::f32, b.i64(4), OST_KIR_READ | OST_KIR_WRITE);
  const Value i = b.i64(1);
  EXPECT_EQ(b.load(p, i, b.boolean(true)), b.load(p, i));
  EXPECT_EQ(b.load(p, i, b.boolean(false)), b.f32(0));
  b.store(p, i, b.f32(1), b.boolean(false));
  b.store(p, i, b.f32(2), b.boolean(true));
  const auto k = b.build();
  ASSERT_TRUE(k) << k.error().message;
  ASSERT_EQ(k->op(static_cast<Value>(k->insts.size() - 1)), Op::store);
  EXPECT_EQ(k->insts.back().nsrc, 3);
  EXPECT_EQ(std::count_if(k->insts.begin(), k->insts.end(),
                          [](const Inst& r) { return r.op == OST_KIR_OP_STORE; }),
            1);
}

TEST(Builder, DropsWhatNoStoreNeeds) {
  Builder b;
  const Value n = b.var(0, 0, 4);
  const Value in = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value out = b.param(1, DType::f32, n, OST_KIR_WRITE);
  b.axis(b.i64(77), Role::reduce);
  const Value i = b.axis(n, Role::parallel);
  const Value x = b.load(in, i);
  b.unary(Op::sqrt, x);
  b.store(out, i, x);
  const auto k = b.build();
  ASSERT_TRUE(k) << k.error().message;
  EXPECT_EQ(to_text(*k).find("77"), std::string::npos);
  EXPECT_EQ(to_text(*k).find("sqrt"), std::string::npos);
  EXPECT_EQ(k->param_count(), 2u);
}

TEST(Builder, KeepsTheInterfaceThatIsNotUsed) {
  Builder b;
  b.param(0, DType::f32, b.var(0, 0, 4), OST_KIR_READ);
  const auto k = b.build();
  ASSERT_TRUE(k) << k.error().message;
  EXPECT_EQ(k->param_count(), 1u);
  EXPECT_EQ(k->var_count(), 1u);
}

TEST(Builder, OrderOfConstructionDoesNotShow) {
  const auto make = [](bool flip) {
    Builder b;
    const Value in = b.param(0, DType::f32, b.i64(8), OST_KIR_READ);
    const Value out = b.param(1, DType::f32, b.i64(8), OST_KIR_WRITE);
    const Value i = b.axis(b.i64(8), Role::parallel);
    const Value x = b.load(in, i);
    const Value first = flip ? b.f32(2) : b.f32(1);
    const Value second = flip ? b.f32(1) : b.f32(2);
    b.store(out, i, flip ? b.fma(x, second, first) : b.fma(x, first, second));
    return b.build();
  };
  EXPECT_EQ(*make(false), *make(true));
}

TEST(Builder, MisuseIsReportedByBuild) {
  Builder b;
  const Value p = b.param(0, DType::f32, b.i64(4), OST_KIR_READ);
  b.add(b.f32(1), b.i64(1));
  b.load(kNone, p);
  const auto k = b.build();
  ASSERT_FALSE(k);
  EXPECT_NE(k.error().message.find("add: operand 1 is i64, wanted the type of the result, f32"),
            std::string::npos)
      << k.error().message;
  EXPECT_TRUE(b.build()) << "the builder starts over";
}

TEST(Builder, ACopyIsTheSameBuilder) {
  Builder b;
  Builder other = b;
  const Value v = b.i64(3);
  EXPECT_EQ(other.i64(3), v);
}

}  // namespace
}  // namespace ost::kir
