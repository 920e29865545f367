#include "core/base/sym.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace ost {
namespace {

const Var kN{"n", 0, 9};
const Var kM{"m", 1, 7};
const Var kK{"k", -4, 5};
const std::vector<Var> kVars{kN, kM, kK};

Sym n() { return Sym::var(kN); }
Sym m() { return Sym::var(kM); }
Sym k() { return Sym::var(kK); }

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// A random expression with its meaning as a function, which is undefined (nothing) where it divides
// by zero.
struct Random {
  using Meaning = std::function<std::optional<int64_t>(int64_t, int64_t, int64_t)>;
  Sym sym;
  Meaning meaning;
};

Random make(std::mt19937& rng, int depth) {
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  if (depth == 0 || pick(0, 5) == 0) {
    switch (pick(0, 3)) {
      case 0:
        return {n(), [](int64_t a, int64_t, int64_t) { return std::optional(a); }};
      case 1:
        return {m(), [](int64_t, int64_t b, int64_t) { return std::optional(b); }};
      case 2:
        return {k(), [](int64_t, int64_t, int64_t c) { return std::optional(c); }};
      default: {
        const int64_t c = pick(-5, 12);
        return {c, [c](int64_t, int64_t, int64_t) { return std::optional(c); }};
      }
    }
  }
  Random a = make(rng, depth - 1);
  Random b = make(rng, depth - 1);
  const auto both = [&](Sym s, auto f) {
    return Random{std::move(s),
                  [x = a.meaning, y = b.meaning, f](int64_t p, int64_t q,
                                                    int64_t r) -> std::optional<int64_t> {
                    const auto left = x(p, q, r);
                    const auto right = y(p, q, r);
                    return left && right ? f(*left, *right) : std::nullopt;
                  }};
  };
  using Out = std::optional<int64_t>;
  switch (pick(0, 8)) {
    case 0:
    case 1:
      return both(a.sym + b.sym, [](int64_t x, int64_t y) { return Out(x + y); });
    case 2:
      return both(a.sym - b.sym, [](int64_t x, int64_t y) { return Out(x - y); });
    case 3:
      return both(a.sym * b.sym, [](int64_t x, int64_t y) { return Out(x * y); });
    case 4:
    case 5:
      return both(floordiv(a.sym, b.sym),
                  [](int64_t x, int64_t y) { return y == 0 ? Out() : Out(floor_div(x, y)); });
    case 6:
      return both(mod(a.sym, b.sym), [](int64_t x, int64_t y) {
        return y == 0 ? Out() : Out(x - y * floor_div(x, y));
      });
    case 7:
      return both(min(a.sym, b.sym), [](int64_t x, int64_t y) { return Out(std::min(x, y)); });
    default:
      return both(max(a.sym, b.sym), [](int64_t x, int64_t y) { return Out(std::max(x, y)); });
  }
}

// Calls f with the bindings and the expected value at every point where the expression is defined.
template <typename F>
void for_each_value(const Random& r, const F& f) {
  for (int64_t a = kN.min; a <= kN.max; ++a) {
    for (int64_t b = kM.min; b <= kM.max; ++b) {
      for (int64_t c = kK.min; c <= kK.max; ++c) {
        if (const auto value = r.meaning(a, b, c))
          f(Bindings{{"n", a}, {"m", b}, {"k", c}}, *value);
      }
    }
  }
}

template <typename F>
void for_each_random(int count, int depth, const F& f) {
  for (uint32_t seed = 1; seed <= static_cast<uint32_t>(count) && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 rng(seed);
    f(rng, make(rng, depth));
  }
}

TEST(Sym, CanonicalFormKeepsTheValue) {
  for_each_random(600, 3, [](std::mt19937&, const Random& r) {
    if (!r.sym.is_valid()) return;
    for_each_value(r, [&](const Bindings& at, int64_t wanted) {
      const Result<int64_t> got = r.sym.eval(at);
      ASSERT_TRUE(got) << r.sym.str() << ": " << got.error().message;
      ASSERT_EQ(*got, wanted) << r.sym.str();
    });
  });
}

TEST(Sym, IsInvalidOnlyWhereItDividesByTheConstantZero) {
  for_each_random(600, 3, [](std::mt19937&, const Random& r) {
    if (r.sym.is_valid()) return;
    int defined = 0;
    for_each_value(r, [&](const Bindings&, int64_t) { ++defined; });
    EXPECT_EQ(defined, 0);
  });
}

TEST(Sym, BoundsHoldForEveryValue) {
  for_each_random(600, 3, [](std::mt19937&, const Random& r) {
    if (!r.sym.is_valid()) return;
    for_each_value(r, [&](const Bindings&, int64_t value) {
      ASSERT_LE(r.sym.lower(), value) << r.sym.str();
      ASSERT_GE(r.sym.upper(), value) << r.sym.str();
    });
  });
}

TEST(Sym, ProvablyLeNeverClaimsTooMuch) {
  int proved = 0;
  for_each_random(1500, 2, [&](std::mt19937& rng, const Random& r) {
    const Random s = make(rng, 2);
    if (!r.sym.is_valid() || !s.sym.is_valid() || !provably_le(r.sym, s.sym)) return;
    ++proved;
    for_each_value(r, [&](const Bindings& at, int64_t left) {
      if (const auto right = s.meaning(at.at("n"), at.at("m"), at.at("k"))) {
        ASSERT_LE(left, *right) << r.sym.str() << " <= " << s.sym.str();
      }
    });
  });
  EXPECT_GT(proved, 100);
}

TEST(Sym, TextReadsBackToTheSameExpression) {
  for_each_random(600, 3, [](std::mt19937&, const Random& r) {
    if (!r.sym.is_valid()) return;
    const Result<Sym> read = Sym::parse(r.sym.str(), kVars);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, r.sym) << r.sym.str() << " became " << read->str();
  });
}

TEST(Sym, SubstitutionIsEvaluationOfTheReplacement) {
  for_each_random(300, 3, [](std::mt19937& rng, const Random& r) {
    const Sym replacement = min(max(make(rng, 1).sym, 0), kN.max);
    if (!r.sym.is_valid() || !replacement.is_valid()) return;
    const Sym replaced = r.sym.substitute({{"n", replacement}});
    for_each_value(r, [&](const Bindings& at, int64_t) {
      Bindings inner = at;
      const Result<int64_t> value = replacement.eval(at);
      if (!value) return;
      inner["n"] = *value;
      const Result<int64_t> wanted = r.sym.eval(inner);
      if (!wanted || !replaced.is_valid()) return;
      const Result<int64_t> got = replaced.eval(at);
      ASSERT_TRUE(got) << got.error().message;
      ASSERT_EQ(*got, *wanted) << r.sym.str() << " with n = " << replacement.str();
    });
  });
}

TEST(Sym, OrderIsTotalAndAgreesWithEquality) {
  std::mt19937 rng(7);
  std::vector<Sym> all;
  for (int i = 0; i < 60; ++i) all.push_back(make(rng, 2).sym);
  for (const Sym& a : all) {
    EXPECT_TRUE(a == a);
    for (const Sym& b : all) {
      EXPECT_EQ(a<b, b> a);
      EXPECT_EQ(a == b, !(a < b) && !(b < a));
      for (const Sym& c : all) EXPECT_TRUE(!(a < b && b < c) || a < c);
    }
  }
}

TEST(Sym, EqualPolynomialsAreEqual) {
  EXPECT_EQ(64 * n() - 64 * n(), Sym(0));
  EXPECT_EQ((n() + 1) * (m() - 2), n() * m() - 2 * n() + m() - 2);
  EXPECT_EQ(n() * m() * k(), k() * n() * m());
  EXPECT_NE(n(), m());
}

TEST(Sym, DivisionTakesOutWhatItCan) {
  EXPECT_EQ(floordiv(64 * n() + 3, 64), n());
  EXPECT_EQ(mod(64 * n() + 3, 64), Sym(3));
  EXPECT_EQ(floordiv(n() * m() + m() - 1, m()), n());
  EXPECT_EQ(floordiv(floordiv(n(), 3), 4), floordiv(n(), 12));
  EXPECT_EQ(floordiv(6 * n() + 5, 4), floordiv(3 * n(), 2) + 1);
  EXPECT_EQ(floordiv(n(), 10), Sym(0));
  EXPECT_EQ(floordiv(n() * m(), m()), n());
  EXPECT_EQ(floordiv(m() * n(), n()).str(), "floordiv(m*n, n)") << "n may be 0";
  EXPECT_EQ(ceildiv(n(), 4).str(), "floordiv(n + 3, 4)");
}

TEST(Sym, MinAndMaxFoldWhereOneSideWins) {
  EXPECT_EQ(min(n(), n() + 1), n());
  EXPECT_EQ(max(n(), n() + 1), n() + 1);
  EXPECT_EQ(min(n(), m()), min(m(), n()));
  EXPECT_EQ(max(n(), 0), n());
}

TEST(Sym, ProofsUseEachVariableOnce) {
  EXPECT_TRUE(provably_le(n(), 4 * ceildiv(n(), 4)));
  EXPECT_TRUE(provably_le(n(), n() * m()));
  EXPECT_TRUE(provably_lt(n() * m() - n(), n() * m() + 1));
  EXPECT_TRUE(provably_le(min(n(), m()), m()));
  EXPECT_TRUE(provably_lt(mod(n(), m()), m()));
  EXPECT_FALSE(provably_le(m(), n() * m())) << "false for n = 0";
  EXPECT_FALSE(provably_lt(n(), n()));
}

TEST(Sym, OverflowMakesItInvalidForGood) {
  const Sym huge = INT64_MAX;
  EXPECT_FALSE((huge + 1).is_valid());
  EXPECT_FALSE((huge * 2 - huge * 2).is_valid());
  EXPECT_FALSE((huge * n() * 2).is_valid());
  EXPECT_FALSE((huge + 1 + n()).is_valid());
  EXPECT_FALSE(floordiv(Sym(INT64_MIN), -1).is_valid());
  EXPECT_FALSE(floordiv(n(), 0).is_valid());
  EXPECT_FALSE(mod(n(), 0).is_valid());
  EXPECT_FALSE(provably_le(huge + 1, huge));
  EXPECT_FALSE((huge + 1).eval({}));
  EXPECT_EQ((huge + n()).upper(), INT64_MAX);
}

TEST(Sym, EvalSaysWhatIsWrong) {
  EXPECT_EQ(n().eval({}).error().message, "variable 'n' has no value");
  EXPECT_EQ(n().eval({{"n", 10}}).error().message,
            "variable 'n' is 10, wanted a value from 0 to 9");
  EXPECT_EQ(floordiv(m(), n()).eval({{"n", 0}, {"m", 1}}).error().message,
            "division by zero in floordiv(m, n)");
  EXPECT_EQ((Sym(INT64_MAX) + n()).eval({{"n", 1}}).error().message,
            "overflow of 64 bits in n + 9223372036854775807");
  EXPECT_EQ(*(Sym(INT64_MAX) * n()).eval({{"n", 0}}), 0);
}

TEST(Sym, ParserSaysWhere) {
  const auto message = [](std::string_view text) {
    return Sym::parse(text, kVars).error().message;
  };
  EXPECT_EQ(message("n + q"),
            "symbolic expression 'n + q', position 4: variable 'q' is not declared");
  EXPECT_EQ(message("n +"),
            "symbolic expression 'n +', position 3: the text ends, wanted a number, a variable or "
            "a function");
  EXPECT_EQ(message("n )"), "symbolic expression 'n )', position 2: unexpected ')'");
  EXPECT_EQ(message("mod(n 3)"),
            "symbolic expression 'mod(n 3)', position 6: found '3', wanted ','");
  EXPECT_EQ(message("sin(n, 3)"),
            "symbolic expression 'sin(n, 3)', position 9: function 'sin' is unknown, wanted "
            "floordiv, ceildiv, mod, min or max");
  EXPECT_EQ(message("9223372036854775808"),
            "symbolic expression '9223372036854775808', position 0: the number does not fit into "
            "64 bits");
  EXPECT_EQ(message("floordiv(n, 0)"),
            "symbolic expression 'floordiv(n, 0)', position 14: the expression overflows or "
            "divides by zero");
  EXPECT_NE(message(std::string(100, '(')).find("nested deeper than 64"), std::string::npos);
  EXPECT_EQ(*Sym::parse("-9223372036854775808", {}), Sym(INT64_MIN));
  EXPECT_EQ(*Sym::parse(" -n*2 - (3 - m) ", kVars), m() - 2 * n() - 3);
}

TEST(Sym, SaysWhatItHolds) {
  EXPECT_EQ((64 * n() + 3).str(), "64*n + 3");
  EXPECT_EQ((m() - n()).str(), "m - n");
  EXPECT_EQ((0 - n()).str(), "-n");
  EXPECT_EQ(n().as_var()->name, "n");
  EXPECT_FALSE((n() + 1).as_var());
  EXPECT_EQ(Sym(5).constant(), 5);
  EXPECT_FALSE(n().constant());
  std::map<std::string, Var, std::less<>> found;
  floordiv(n(), m()).collect_vars(found);
  EXPECT_EQ(found.size(), 2u);
  const Shape shape{n(), 64};
  EXPECT_EQ(to_string(shape), "[n, 64]");
  EXPECT_EQ(numel(shape), 64 * n());
  EXPECT_EQ(numel({}), Sym(1));
}

}  // namespace
}  // namespace ost
