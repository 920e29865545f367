// Every rule of the verifier has a kernel that breaks just it. The kernels are text, so a reader
// sees what is wrong.
#include <gtest/gtest.h>

#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

// Records 0..9 of the cases below: everything that they need, and a valid kernel by itself.
constexpr const char* kPrelude =
    "kir 1.0 l1 strict\n"
    "%0 = const i64 0\n"
    "%1 = const i64 8\n"
    "%2 = var i64 slot=0 %0, %1\n"
    "%3 = param f32 slot=0 r %2\n"
    "%4 = param f32 slot=1 w %2\n"
    "%5 = axis i64 parallel %2\n"
    "%6 = axis i64 reduce %1\n"
    "%7 = load f32 %3, %5\n"
    "%8 = const bool true\n"
    "%9 = const i32 3\n";

std::string verdict(const std::string& text) {
  const Result<Kernel> k = from_text(text);
  if (!k) return "unreadable: " + k.error().message;
  const Result<> verified = verify(*k);
  return verified ? "verified" : verified.error().message;
}

std::string after_prelude(const std::string& records) { return verdict(kPrelude + records); }

TEST(Verify, ThePreludeIsValid) { EXPECT_EQ(after_prelude(""), "verified"); }

struct Case {
  const char* records;
  const char* message;  // without "kir record 10: " if it starts there
};

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    std::string message = after_prelude(c.records);
    if (message.starts_with("kir record 10: ")) message = message.substr(15);
    EXPECT_EQ(message, c.message) << c.records;
  }
}

TEST(Verify, TypesOfElementwiseOperations) {
  check({
      {"%10 = neg f32 %7", "verified"},
      {"%10 = neg bool %8", "neg: the type is bool, wanted an integer or f32 or f64"},
      {"%10 = neg i64 %9", "neg: operand 0 is i32, wanted the type of the result, i64"},
      {"%10 = sqrt i32 %9", "sqrt: the type is i32, wanted f32 or f64"},
      {"%10 = add bool %8, %8", "add: the type is bool, wanted an integer or f32 or f64"},
      {"%10 = add i64 %0, %9", "add: operand 1 is i32, wanted the type of the result, i64"},
      {"%10 = rem f32 %7, %7", "rem: the type is f32, wanted an integer"},
      {"%10 = shl f32 %7, %7", "shl: the type is f32, wanted an integer"},
      {"%10 = max bool %8, %8", "verified"},
      {"%10 = and f32 %7, %7", "and: the type is f32, wanted bool or an integer"},
      {"%10 = not f32 %7", "not: the type is f32, wanted bool or an integer"},
      {"%10 = lt i64 %0, %1", "lt: the type is i64, wanted bool"},
      {"%10 = lt bool %0, %9", "lt: the operands are i64 and i32, wanted one type"},
      {"%10 = where f32 %0, %7, %7", "where: operand 0 is i64, wanted bool"},
      {"%10 = where f32 %8, %7, %9", "where: operand 2 is i32, wanted the type of the result, f32"},
      {"%10 = fma i32 %9, %9, %9", "fma: the type is i32, wanted f32 or f64"},
      {"%10 = ldexp f32 %7, %0", "ldexp: operand 1 is i64, wanted i32"},
      {"%10 = ldexp f32 %7, %9", "verified"},
  });
}

TEST(Verify, HalfTypesAreForStorageOnly) {
  check({
      {"%10 = cast f16 rne %7", "verified"},
      {"%10 = cast f16 rne %7\n%11 = where f16 %8, %10, %10", "verified"},
      {"%10 = cast f16 rne %7\n%11 = bitcast u16 %10", "verified"},
      {"%10 = cast f16 rne %7\n%11 = add f16 %10, %10",
       "kir record 11: add: the type is f16, wanted an integer or f32 or f64"},
      {"%10 = cast bf16 rne %7\n%11 = lt bool %10, %10",
       "kir record 11: lt: operand 0 is bf16, wanted bool or an integer or f32 or f64"},
      {"%10 = cast bf16 rne %7\n%11 = reduce bf16 max any %10, %6",
       "kir record 11: reduce: the type is bf16, wanted bool or an integer or f32 or f64"},
  });
}

TEST(Verify, CastsStateTheRoundingOfTheirPairOfTypes) {
  check({
      {"%10 = cast i64 wrap %9", "verified"},
      {"%10 = cast i64 sat %9", "cast: rounding is 2, wanted wrap from i32 to i64"},
      {"%10 = cast i32 wrap %7", "cast: rounding is 0, wanted sat from f32 to i32"},
      {"%10 = cast f32 wrap %9", "cast: rounding is 0, wanted rne from i32 to f32"},
      {"%10 = cast f64 rne %7", "verified"},
      {"%10 = cast f32 wrap %7", "verified"},
      {"%10 = cast bool rne %7", "cast: rounding is 1, wanted wrap from f32 to bool"},
      {"%10 = cast f32 wrap %8", "verified"},
      {"%10 = bitcast i32 %7", "verified"},
      {"%10 = bitcast i64 %7", "bitcast: from f32 to i64, wanted equal widths"},
      {"%10 = bitcast bool %8",
       "bitcast: the type is bool, wanted an integer or f16 or bf16 or f32 or f64"},
      {"%10 = bitcast i8 %8",
       "bitcast: operand 0 is bool, wanted an integer or f16 or bf16 or f32 or f64"},
  });
}

TEST(Verify, OperandClasses) {
  check({
      {"%10 = neg f32 %3", "neg: operand 0 is a param, which only load and store may use"},
      {"%10 = load f32 %7, %5", "load: operand 0 is a load, wanted a param"},
      {"%10 = load i32 %3, %5", "load: operand 0 is f32, wanted the type of the result, i32"},
      {"%10 = load f32 %3, %9", "load: operand 1 is i32, wanted i64"},
      {"%10 = load f32 %3, %5, %0", "load: operand 2 is i64, wanted bool"},
      {"%10 = load f32 %4, %5", "load: the param is not declared for reading"},
      {"%10 = store f32 %3, %5, %7", "store: the param is not declared for writing"},
      {"%10 = store f32 %4, %5, %7", "verified"},
      {"%10 = store f32 %4, %5, %9", "store: operand 2 is i32, wanted the type of the result, f32"},
      {"%10 = store f32 %4, %5, %7, %5", "store: operand 3 is i64, wanted bool"},
      {"%10 = store f32 %4, %5, %7\n%11 = neg f32 %10",
       "kir record 11: neg: operand 0 is a store, which has no result"},
      {"%10 = param f32 slot=2 r %9", "param: operand 0 is i32, wanted i64"},
      {"%10 = axis i64 parallel %9", "axis: operand 0 is i32, wanted i64"},
      {"%10 = axis i32 parallel %1", "axis: the type is i32, wanted i64"},
      {"%10 = var i64 slot=1 %0, %2", "var: operand 1 is a var, wanted a const"},
      {"%10 = var i32 slot=1 %0, %1", "var: the type is i32, wanted i64"},
      {"%10 = var i64 slot=1 %9, %1", "var: operand 0 is i32, wanted i64"},
  });
}

TEST(Verify, ReductionsAndTheirOrders) {
  check({
      {"%10 = reduce f32 sum tree %7, %6", "verified"},
      {"%10 = reduce f32 prod blk256 %7, %6", "verified"},
      {"%10 = reduce f32 max any %7, %6", "verified"},
      {"%10 = reduce i64 sum any %0, %6", "verified"},
      {"%10 = reduce f32 sum any %7, %6",
       "reduce: order is any, wanted tree or blk256 for a sum of f32"},
      {"%10 = reduce f32 sum attn %7, %6",
       "reduce: order is attn, wanted tree or blk256 for a sum of f32"},
      {"%10 = reduce f32 max tree %7, %6", "reduce: order is tree, wanted any for a max of f32"},
      {"%10 = reduce i64 sum tree %0, %6", "reduce: order is tree, wanted any for a sum of i64"},
      {"%10 = reduce f32 and any %7, %6", "reduce: the type is f32, wanted bool or an integer"},
      {"%10 = reduce bool sum any %8, %6",
       "reduce: the type is bool, wanted an integer or f32 or f64"},
      {"%10 = reduce f32 sum tree %7, %5", "reduce: axis %5 has role parallel, wanted reduce"},
      {"%10 = reduce f32 sum tree %7, %1", "reduce: operand 1 is a const, wanted an axis"},
      {"%10 = contract f32 sum blk256 %7, %7, %6", "verified"},
      {"%10 = contract f32 max any %7, %7, %6", "contract: combine is max, wanted sum"},
      {"%10 = contract f32 sum any %7, %7, %6",
       "contract: order is any, wanted tree or blk256 for a sum of f32"},
      {"%10 = contract f32 sum tree %7, %9, %6",
       "contract: operand 1 is i32, wanted the type of the result, f32"},
      {"%10 = contract f32 sum tree %7, %7, %5",
       "contract: axis %5 has role parallel, wanted reduce"},
      {"%10 = argreduce i64 max %7, %6", "verified"},
      {"%10 = argreduce i32 max %7, %6", "argreduce: the type is i32, wanted i64"},
      {"%10 = argreduce i64 max %7, %5", "argreduce: axis %5 has role parallel, wanted reduce"},
      {"%10 = attn f32 attn %7, %8, %7, %6", "verified"},
      {"%10 = attn f32 attn %7, %0, %7, %6", "attn: operand 1 is i64, wanted bool"},
      {"%10 = const f64 0x0000000000000000\n%11 = attn f64 attn %10, %8, %10, %6",
       "kir record 11: attn: the type is f64, wanted f32"},
      {"%10 = attn f32 attn %7, %8, %7, %5", "attn: axis %5 has role parallel, wanted reduce"},
  });
}

TEST(Verify, DeclarationsAreDenseAndSensible) {
  check({
      {"%10 = param f32 slot=1 r %1", "param: slot 1 is declared twice"},
      {"%10 = param f32 slot=3 r %1", "param: slot 3 of 3: slots must be dense"},
      {"%10 = var i64 slot=0 %0, %1", "var: slot 0 is declared twice"},
      {"%10 = var i64 slot=2 %0, %1", "var: slot 2 of 2: slots must be dense"},
      {"%10 = var i64 slot=1 %1, %0", "var: the maximum 0 is below the minimum 8"},
      {"%10 = const i64 -1\n%11 = var i64 slot=1 %10, %1",
       "kir record 11: var: the minimum is -1, wanted at least 0"},
      {"%10 = axis i64 parallel id=5 %1",
       "axis: the id is 5, wanted 2: ids count the axes in order"},
  });
}

TEST(Verify, ScopesOfAxes) {
  check({
      {"%10 = axis i64 parallel %5", "axis: the extent depends on axis %5"},
      {"%10 = param i64 slot=2 r %1\n%11 = load i64 %10, %0\n%12 = axis i64 parallel %11",
       "kir record 12: axis: the extent depends on memory or on floats"},
      {"%10 = const f32 0x40000000\n%11 = cast i64 sat %10\n%12 = axis i64 parallel %11",
       "kir record 12: axis: the extent depends on memory or on floats"},
      {"%10 = param f32 slot=2 r %5", "param: the count depends on axis %5"},
      {"%10 = mul i64 %2, %1\n%11 = axis i64 carry %10", "verified"},
      {"%10 = add i64 %5, %6\n%11 = store f32 %4, %10, %7",
       "kir record 11: store: depends on the reduce axis %6 outside of a reduction over it"},
      {"%10 = load f32 %3, %6\n%11 = reduce f32 sum tree %10, %6\n%12 = store f32 %4, %5, %11",
       "verified"},
      {"%10 = load f32 %3, %6\n%11 = store f32 %4, %5, %10",
       "kir record 11: store: depends on the reduce axis %6 outside of a reduction over it"},
  });
}

// A statement may not read what another one writes, unless carry axes order them.
TEST(Verify, InPlaceUpdates) {
  const std::string both = "%10 = param f32 slot=2 rw %2\n";
  const auto rest = [&](const std::string& records) { return after_prelude(both + records); };
  EXPECT_EQ(rest("%11 = load f32 %10, %5\n%12 = neg f32 %11\n%13 = store f32 %10, %5, %12"),
            "verified");
  EXPECT_EQ(rest("%11 = load f32 %10, %5\n%12 = store f32 %4, %5, %11"), "verified")
      << "not stored to at all";
  EXPECT_EQ(rest("%11 = load f32 %10, %0\n%12 = store f32 %10, %5, %7"), "verified")
      << "nobody uses the load";
  EXPECT_EQ(rest("%11 = load f32 %10, %0\n%12 = store f32 %10, %5, %11"),
            "kir record 11: load: reads slot 2 at %0, but store %12 writes it at %5: wanted the "
            "same index or carry axes");
  EXPECT_EQ(rest("%11 = load f32 %10, %5\n%12 = add f32 %11, %7\n%13 = store f32 %4, %5, %12\n%14 "
                 "= store f32 %10, %5, %7"),
            "verified")
      << "two stores of one statement";
  EXPECT_EQ(rest("%11 = axis i64 parallel %1\n%12 = load f32 %10, %5\n%13 = store f32 %10, %5, "
                 "%12\n%14 = mul i64 %5, %11\n"
                 "%15 = store f32 %4, %14, %12"),
            "kir record 12: load: of slot 2, which store %13 writes in place, is used by store %15 "
            "over other axes");
  EXPECT_EQ(rest("%11 = load f32 %10, %5\n%12 = store f32 %4, %5, %11\n%13 = mul i64 %5, %1\n%14 = "
                 "store f32 %10, %13, %7"),
            "kir record 11: load: reads slot 2 at %5, but store %14 writes it at %13: wanted the "
            "same index or carry axes");
}

TEST(Verify, InPlaceUpdatesUnderCarryAxes) {
  const std::string both =
      "%10 = param f32 slot=2 rw %2\n%11 = axis i64 carry %2\n%12 = load f32 %3, %11\n%13 = load "
      "f32 %10, %0\n";
  const auto rest = [&](const std::string& records) { return after_prelude(both + records); };
  EXPECT_EQ(rest("%14 = add f32 %13, %12\n%15 = store f32 %10, %0, %14"), "verified")
      << "a running sum";
  EXPECT_EQ(rest("%14 = store f32 %10, %11, %12\n%15 = store f32 %4, %5, %13"),
            "kir record 13: load: of slot 2, which store %14 writes, is used by store %15: wanted "
            "both or none under a carry axis");
  EXPECT_EQ(
      rest("%14 = store f32 %10, %5, %7\n%15 = add f32 %13, %12\n%16 = store f32 %4, %11, %15"),
      "kir record 13: load: of slot 2, which store %14 writes, is used by store %16: wanted both "
      "or none under a carry axis");
}

TEST(Verify, LimitsAreChecked) {
  Kernel k;
  k.insts.push_back(Inst{OST_KIR_OP_CONST, OST_DTYPE_I64, 0, 0, {kNone, kNone, kNone, kNone}, 1});
  for (uint64_t id = 0; id < 64; ++id)
    k.insts.push_back(Inst{OST_KIR_OP_AXIS, OST_DTYPE_I64, 1, 0, {0, kNone, kNone, kNone}, id});
  EXPECT_TRUE(verify(k));
  k.insts.push_back(Inst{OST_KIR_OP_AXIS, OST_DTYPE_I64, 1, 0, {0, kNone, kNone, kNone}, 64});
  EXPECT_EQ(verify(k).error().message, "kir record 65: axis: the kernel has more than 64 axes");

  const Inst constant = k.insts[0];
  k.insts.assign(1, constant);
  for (uint64_t slot = 0; slot < 1025; ++slot)
    k.insts.push_back(Inst{OST_KIR_OP_PARAM, OST_DTYPE_F32, 1, 1, {0, kNone, kNone, kNone}, slot});
  EXPECT_EQ(verify(k).error().message, "kir: 1025 records of param are above the limit of 1024");

  k.insts.assign((size_t{1} << 20) + 1, constant);
  EXPECT_EQ(verify(k).error().message, "kir: 1048577 records are above the limit of 1048576");
  k.insts.pop_back();
  EXPECT_TRUE(verify(k));
}

TEST(Verify, RecordsMadeByHandAreCheckedAsEncodings) {
  Kernel k;
  k.insts.push_back(Inst{OST_KIR_OP_NEG, OST_DTYPE_I64, 1, 0, {0, kNone, kNone, kNone}, 0});
  EXPECT_EQ(verify(k).error().message,
            "kir record 0: operand 0 names record 0, wanted an earlier one");
  k.insts[0] = Inst{77, OST_DTYPE_I64, 0, 0, {kNone, kNone, kNone, kNone}, 0};
  EXPECT_EQ(verify(k).error().message,
            "kir record 0: opcode 77 is unknown; is the kernel from a newer version?");
}

}  // namespace
}  // namespace ost::kir
