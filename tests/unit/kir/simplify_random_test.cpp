// The builder's simplifications change no value: random index expressions, compared with their own
// meaning at every point of small spaces.
#include <gtest/gtest.h>

#include "tests/unit/kir/index_expression.hpp"

namespace ost::kir::testing {
namespace {

constexpr uint32_t kFirstSeed = 1;
constexpr uint32_t kSeeds = 1500;

void compare(const Builder& b, const Space& space, const Tree& tree, Value built, uint32_t seed) {
  bool equal = true;
  space.for_each_point(b, [&](const Point& point) {
    if (!equal) return;
    const int64_t wanted = tree.eval(point);
    const int64_t got = eval(b, built, point);
    equal = wanted == got;
    EXPECT_EQ(wanted, got) << "seed " << seed;
  });
}

TEST(BuilderSimplify, KeepsTheValueOfRandomIndexExpressions) {
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFailure(); ++seed) {
    std::mt19937 rng(seed);
    Builder b;
    const Space space = Space::random(b, rng);
    const Tree tree = TreeMaker(b, space, rng).index(4);
    compare(b, space, tree, tree.build(b), seed);
  }
}

TEST(BuilderSimplify, KeepsTheValueOfRandomReshapes) {
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFailure(); ++seed) {
    std::mt19937 rng(seed);
    Builder b;
    const Space space = Space::random(b, rng);
    const Tree tree = TreeMaker(b, space, rng).reshaped();
    compare(b, space, tree, tree.build(b), seed);
  }
}

TEST(BuilderSimplify, KeepsTheValueOfRandomConditions) {
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFailure(); ++seed) {
    std::mt19937 rng(seed);
    Builder b;
    const Space space = Space::random(b, rng);
    const Tree tree = TreeMaker(b, space, rng).condition(2);
    compare(b, space, tree, tree.build(b), seed);
  }
}

TEST(BuilderSimplify, RangesHoldAtEveryPoint) {
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSeeds && !HasFailure(); ++seed) {
    std::mt19937 rng(seed);
    Builder b;
    const Space space = Space::random(b, rng);
    const Tree tree = TreeMaker(b, space, rng).index(3);
    const Value built = tree.build(b);
    const Builder::Range range = b.range(built);
    space.for_each_point(b, [&](const Point& point) {
      const int64_t value = eval(b, built, point);
      EXPECT_TRUE(value >= range.lo && value <= range.hi)
          << value << " is outside of " << range.lo << ".." << range.hi << ", seed " << seed;
    });
  }
}

}  // namespace
}  // namespace ost::kir::testing
