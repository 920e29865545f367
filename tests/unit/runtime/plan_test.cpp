#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/runtime/plugin_loader.hpp"
#include "core/runtime/run_plan.hpp"
#include "core/runtime/var_expr.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::runtime {
namespace {

// Random expressions over two variables: the prepared form gives what Sym::eval gives.
Sym random_sym(std::mt19937& rng, std::span<const Var> vars, int depth) {
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  if (depth == 0)
    return pick(2) == 0 ? Sym(static_cast<int64_t>(pick(9)) - 4)
                        : Sym::var(vars[pick(static_cast<uint32_t>(vars.size()))]);
  const Sym a = random_sym(rng, vars, depth - 1), b = random_sym(rng, vars, depth - 1);
  switch (pick(7)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return floordiv(a, b);
    case 4:
      return mod(a, b);
    case 5:
      return min(a, b);
    default:
      return max(a, b);
  }
}

TEST(VarExpr, EqualsSymOnRandomExpressions) {
  const std::vector<Var> vars = {{"m", -20, 20}, {"n", 0, 100}};
  std::mt19937 rng(20261130);
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    const Sym sym = random_sym(rng, vars, 3);
    const auto expr = VarExpr::compile(sym, vars);
    if (!sym.is_valid()) {
      EXPECT_FALSE(expr);
      continue;
    }
    ASSERT_TRUE(expr.has_value()) << sym.str();
    for (int k = 0; k < 5; ++k) {
      const int64_t values[] = {static_cast<int64_t>(rng() % 41) - 20,
                                static_cast<int64_t>(rng() % 101)};
      const auto want = sym.eval({{"m", values[0]}, {"n", values[1]}});
      const auto got = expr->eval(values);
      ASSERT_EQ(got.has_value(), want.has_value())
          << sym.str() << " at " << values[0] << ", " << values[1];
      if (!want) continue;
      EXPECT_EQ(*got, *want) << sym.str() << " at " << values[0] << ", " << values[1];
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000);
}

TEST(VarExpr, OverflowIsNothingAndUnknownVariablesAreErrors) {
  const std::vector<Var> vars = {{"n", 0, INT64_MAX}};
  const Sym n = Sym::var(vars[0]);
  const auto square = VarExpr::compile(n * n, vars);
  ASSERT_TRUE(square.has_value());
  const int64_t big = int64_t{1} << 40, small = 3;
  EXPECT_FALSE(square->eval({&big, 1}));
  EXPECT_EQ(square->eval({&small, 1}), 9);
  EXPECT_FALSE(VarExpr::compile(Sym::var({"k", 0, 1}), vars));
  EXPECT_EQ(VarExpr().eval({}), 0);
}

// A program of copies between two devices and one launch each, in a shuffled order of steps.
TEST(PlanRun, KeepsEveryEdgeAndCutsOnlyAtTransfers) {
  Program p;
  p.device_count = 2;
  const auto buffer = [&](uint32_t device) {
    p.buffers.push_back({.kind = BufferKind::temp,
                         .slot = 0,
                         .device = device,
                         .dtype = DType::f32,
                         .elements = Sym(1),
                         .arena = 0,
                         .offset = 0});
    return static_cast<uint32_t>(p.buffers.size() - 1);
  };
  const uint32_t a = buffer(0), b = buffer(0), c = buffer(1), d = buffer(1);
  const auto launch = [&](uint32_t device, std::vector<uint32_t> args, std::vector<uint32_t> after,
                          uint32_t level) {
    p.steps.push_back({StepKind::launch, device, 0, std::move(args), {}, std::move(after), level});
  };
  launch(0, {a}, {}, 0);                                                 // 0
  launch(1, {d}, {}, 0);                                                 // 1
  launch(0, {a, b}, {0}, 1);                                             // 2
  p.steps.push_back({StepKind::copy, 1, kNoIndex, {c, b}, {}, {2}, 2});  // 3: device 0 to 1
  launch(0, {a}, {2}, 2);        // 4: independent of the transfer
  launch(1, {c, d}, {3, 1}, 3);  // 5
  p.steps.push_back(
      {StepKind::copy, 1, kNoIndex, {d, c}, {}, {5}, 4});  // 6: on one device: a command
  const RunPlan plan = plan_run(p);

  std::vector<uint32_t> order;
  size_t transfers = 0;
  for (const Action& action : plan.actions) {
    if (action.kind == Action::Kind::transfer) {
      order.push_back(action.index);
      ++transfers;
      continue;
    }
    const Segment& s = plan.segments[action.index];
    for (size_t i = 0; i < s.steps.size(); ++i) {
      order.push_back(s.steps[i]);
      EXPECT_LE(p.steps[s.steps[i == 0 ? 0 : i - 1]].level, p.steps[s.steps[i]].level);
    }
  }
  EXPECT_EQ(transfers, 1u);
  EXPECT_EQ(plan.segments.size(), 4u);  // each device before and after the transfer
  ASSERT_EQ(order.size(), p.steps.size());
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t before : p.steps[order[i]].after) {
      EXPECT_LT(std::ranges::find(order, before) - order.begin(), static_cast<ptrdiff_t>(i))
          << "step " << order[i];
    }
  }
}

TEST(PluginFilter, GlobsSelectAndExclude) {
  EXPECT_FALSE(dropped_by("", "cpu"));
  EXPECT_FALSE(dropped_by("cpu", "cpu"));
  EXPECT_EQ(dropped_by("cpu", "hip"), "cpu");
  EXPECT_FALSE(dropped_by("c*,h?p", "hip"));
  EXPECT_EQ(dropped_by("!hip", "hip"), "!hip");
  EXPECT_FALSE(dropped_by("!hip", "cpu"));
  EXPECT_EQ(dropped_by("*,!hip", "hip"), "!hip");
  EXPECT_FALSE(dropped_by("*,!hip", "cpu"));
  EXPECT_FALSE(dropped_by(",,", "cpu"));
}

}  // namespace
}  // namespace ost::runtime
