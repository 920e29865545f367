// Level 2: its verifier, rule by rule, and what its interpreter finds.
#include "core/kir/level2.hpp"

#include <gtest/gtest.h>

namespace ost::kir {
namespace {

Kernel kernel(const std::string& lines) {
  auto k = from_text("kir 1.0 l2 strict lanes=4\n" + lines);
  EXPECT_TRUE(k) << (k ? "" : k.error().message);
  return k.value_or(Kernel{});
}
std::string refusal(const std::string& lines) {
  const auto ok = verify(kernel(lines));
  return ok ? "accepted" : ok.error().message;
}

const std::string kHead =
    "%0 = const i64 4\n%1 = const i64 0\n%2 = const i64 1\n%3 = lane i64\n"
    "%4 = param i64 slot=0 rw %0\n%5 = eq bool %3, %1\n%6 = const i64 3\n";

TEST(Level2Verify, AcceptsRegionsThatNestAndEnd) {
  EXPECT_EQ(refusal(kHead + "%7 = loop i64 %1, %0, %2\n%8 = if bool %5\n%9 = store i64 %4, %7, %7\n"
                            "%10 = end bool %8\n%11 = barrier bool\n%12 = end bool %7\n"),
            "accepted");
}
TEST(Level2Verify, RefusesOperationsOfLevelOne) {
  EXPECT_EQ(refusal(kHead + "%7 = axis i64 parallel %0\n"),
            "kir record 7: axis exists in level 1 only");
}
TEST(Level2Verify, RefusesOpenRegionsAndWrongEnds) {
  EXPECT_EQ(refusal(kHead + "%7 = if bool %5\n"), "kir record 7: if: the region is never closed");
  EXPECT_EQ(refusal(kHead + "%7 = loop i64 %1, %0, %2\n%8 = if bool %5\n%9 = end bool %7\n"),
            "kir record 9: end: closes %7, but the innermost region is %8");
  EXPECT_EQ(refusal(kHead + "%7 = end bool %5\n"),
            "kir record 7: end: operand 0 is a eq, wanted a loop or an if");
}
TEST(Level2Verify, RefusesValuesOfRegionsThatHaveEnded) {
  EXPECT_EQ(refusal(kHead + "%7 = if bool %5\n%8 = add i64 %3, %0\n%9 = end bool %7\n"
                            "%10 = store i64 %4, %1, %8\n"),
            "kir record 10: store: operand %8 is inside of a region that has ended");
}
TEST(Level2Verify, RefusesBarriersThatSomeLanesMiss) {
  EXPECT_EQ(refusal(kHead + "%7 = if bool %5\n%8 = barrier bool\n%9 = end bool %7\n"),
            "kir record 8: barrier: in a region that some lanes of a group may not enter");
  EXPECT_EQ(refusal(kHead + "%7 = loop i64 %3, %0, %2\n%8 = barrier bool\n%9 = end bool %7\n"),
            "kir record 8: barrier: in a region that some lanes of a group may not enter");
}
TEST(Level2Verify, RefusesCountsThatAHostCannotKnow) {
  EXPECT_EQ(refusal(kHead + "%7 = grid i64 0 %3\n"),
            "kir record 7: grid: the count is not made of constants and variables alone");
  EXPECT_EQ(refusal(kHead + "%7 = grid i64 0 %0\n%8 = grid i64 0 %0\n"),
            "kir record 8: grid: dimension 0 is said twice");
}
TEST(Level2Verify, RefusesDeclarationsInRegions) {
  EXPECT_EQ(refusal(kHead + "%7 = if bool %5\n%8 = local f32 4\n%9 = end bool %7\n"),
            "kir record 8: local: inside of a region");
}
TEST(Level2Verify, HoldsVariablesAndSlotsToTheRulesOfLevelOne) {
  EXPECT_EQ(refusal(kHead + "%7 = const i64 -1\n%8 = var i64 slot=0 %7, %0\n"),
            "kir record 8: var: the minimum is -1, wanted at least 0");
  EXPECT_EQ(refusal(kHead + "%7 = var i64 slot=0 %0, %1\n"),
            "kir record 7: var: the maximum 0 is below the minimum 4");
  EXPECT_EQ(refusal(kHead + "%7 = param f32 slot=0 r %0\n"),
            "kir record 7: param: slot 0 is declared twice");
}
TEST(Level2Verify, RefusesStepsThatDoNotAdvance) {
  EXPECT_EQ(refusal(kHead + "%7 = loop i64 %1, %0, %1\n%8 = end bool %7\n"),
            "kir record 7: loop: operand 2 is 0, wanted a number above 0");
}
TEST(Level2Verify, LevelOneRefusesItsOperations) {
  const auto k = from_text("kir 1.0 l1 strict\n%0 = lane i64\n");
  ASSERT_TRUE(k);
  EXPECT_EQ(verify(*k).error().message, "kir record 0: lane exists in level 2 only");
}
TEST(Level2Verify, OnlyLevelOneHasAProofAndTheOldInterpreter) {
  const Kernel k = kernel(kHead);
  EXPECT_EQ(prove_bounds(k).error().message, "kir: bounds are proved of level 1, found level 2");
  EXPECT_EQ(interpret(k, {}, {}).error().message, "kir: a kernel of level 2, wanted level 1");
}

class Level2 : public ::testing::Test {
 protected:
  std::string run(const std::string& lines, const Level2Options& options = {},
                  std::span<const int64_t> vars = {}) {
    const Kernel k = kernel(kHead + lines);
    if (const auto ok = verify(k); !ok) return "refused: " + ok.error().message;
    const ParamData params[] = {{data.data(), data.size() * 8}};
    const auto done = interpret_level2(k, params, vars, options);
    return done ? "done" : done.error().message;
  }
  std::vector<int64_t> data{10, 11, 12, 13};
};

TEST_F(Level2, LanesRunALoopOfTheirOwnLength) {
  EXPECT_EQ(run("%7 = private i64 1\n%8 = store i64 %7, %1, %1\n%9 = loop i64 %1, %3, %2\n"
                "%10 = load i64 %7, %1\n%11 = add i64 %10, %9\n%12 = store i64 %7, %1, %11\n"
                "%13 = end bool %9\n%14 = load i64 %7, %1\n%15 = store i64 %4, %3, %14\n"),
            "done");
  EXPECT_EQ(data, (std::vector<int64_t>{0, 0, 1, 3}));
}
TEST_F(Level2, ABarrierOrdersSharedMemory) {
  const std::string before = "%7 = local i64 4\n%8 = store i64 %7, %3, %3\n";
  EXPECT_EQ(run(before + "%9 = barrier bool\n%10 = sub i64 %6, %3\n%11 = load i64 %7, %10\n"
                         "%12 = store i64 %4, %3, %11\n"),
            "done");
  EXPECT_EQ(data, (std::vector<int64_t>{3, 2, 1, 0}));
  EXPECT_EQ(
      run(before + "%9 = sub i64 %6, %3\n%10 = load i64 %7, %9\n%11 = store i64 %4, %3, %10\n"),
      "kir record 10: load of element 3 of %7 by lane 0 of group 0 races with another one");
}
TEST_F(Level2, GroupsAreNeverOrdered) {
  const std::string two = "%7 = const i64 2\n%8 = grid i64 0 %7\n%9 = group i64 0\n";
  EXPECT_EQ(run(two + "%10 = load i64 %4, %3\n%11 = if bool %5\n%12 = store i64 %4, %9, %1\n%13 = "
                      "end bool %11\n"),
            "kir record 10: load of element 0 of %4 by lane 0 of group 1 races with another one");
}
TEST_F(Level2, AccessesAreChecked) {
  EXPECT_EQ(run("%7 = add i64 %3, %2\n%8 = store i64 %4, %7, %3\n"),
            "kir record 8: store of lane 3 at index 4 of %4, which has 4 elements");
  EXPECT_EQ(run("%7 = add i64 %3, %2\n%8 = lt bool %7, %0\n%9 = load i64 %4, %7, %8\n"), "done");
}
TEST_F(Level2, TheOrderOfGroupsAndLanesDoesNotMatter) {
  const std::string square = "%7 = mul i64 %3, %3\n%8 = store i64 %4, %3, %7\n";
  EXPECT_EQ(run(square, {.reverse = true}), "done");
  EXPECT_EQ(data, (std::vector<int64_t>{0, 1, 4, 9}));
}
TEST_F(Level2, AGridFollowsVariables) {
  const Kernel k = kernel(
      "%0 = const i64 0\n%1 = const i64 100\n%2 = var i64 slot=0 %0, %1\n%3 = const i64 63\n"
      "%4 = add i64 %2, %3\n%5 = const i64 64\n%6 = div i64 %4, %5\n%7 = grid i64 1 %6\n");
  ASSERT_TRUE(verify(k)) << verify(k).error().message;
  LaunchGrid grid(k);
  EXPECT_FALSE(grid.is_const());
  for (const int64_t n : {0, 1, 64, 65}) {
    const int64_t vars[] = {n};
    EXPECT_EQ(grid.eval(vars),
              (std::array<uint64_t, 3>{1, static_cast<uint64_t>((n + 63) / 64), 1}));
  }
}

}  // namespace
}  // namespace ost::kir
