// Programs: typed inputs, functions, several results, and the places that their errors point at.
#include <gtest/gtest.h>

#include "core/dsl/dsl.hpp"

namespace ost::dsl {
namespace {

Binding bound(std::string name, std::string_view type) {
  const auto decl = parse_type(type);
  EXPECT_TRUE(decl.has_value());
  return {std::move(name), decl->dtype, decl->shape, ir::InputKind::argument, nullptr};
}

// "x f32[n, 4], y f32[] -> out f32[n]"
std::string signature(std::string_view text, std::span<const Binding> inputs = {},
                      std::span<const Var> vars = {}) {
  const auto g = build(text, inputs, vars);
  if (!g) return g.error().message;
  std::string out;
  for (const ir::Input& in : g->inputs())
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", in.name, name_of(in.dtype),
                       to_string(in.shape));
  out += " ->";
  for (const auto& o : g->outputs())
    out += fmt::format(" {} {}{}", o.name, name_of(g->node(o.node).dtype),
                       to_string(g->node(o.node).shape));
  return out;
}

// The first line of an error.
std::string error_of(std::string_view text, std::span<const Binding> inputs = {}) {
  const auto g = build(text, inputs, {});
  return g ? "accepted" : g.error().message.substr(0, g.error().message.find('\n'));
}

std::string names(const Result<std::vector<std::string>>& list) {
  return list ? fmt::format("{}", fmt::join(*list, " ")) : list.error().message;
}

TEST(DslInputs, AreDeclaredWithTheirTypes) {
  EXPECT_EQ(signature("x: f32[n:1..64, 4]\nw: 4, 3\nx @ w"),
            "x f32[n, 4], w f32[4, 3] -> out f32[n, 3]");
  EXPECT_EQ(signature("a, b: f16[8]; s: i64; a + b * s"),
            "a f16[8], b f16[8], s i64[] -> out f64[8]");
  EXPECT_EQ(signature("x: [n:1..9, 2*n]   # a comment\nsum(x) / n"), "x f32[n, 2*n] -> out f32[]");
}

TEST(DslInputs, VariablesArePartOfThePrograms) {
  const auto g = build("x: f32[n:1..64]\ny: f32[n]\nx + y * n", {}, {});
  ASSERT_TRUE(g.has_value()) << g.error().message;
  const auto vars = g->vars();
  ASSERT_EQ(vars->size(), 1u);
  EXPECT_EQ((*vars)[0], (Var{"n", 1, 64}));
}

TEST(DslInputs, ABindingHasTheDeclaredTypeAndMayFixItsVariables) {
  const Binding fixed[] = {bound("x", "7,4")};
  EXPECT_EQ(signature("x: f32[n:1..64, 4]\ny: f32[n]\nsum(x, axis=1) + y", fixed),
            "x f32[7, 4], y f32[7] -> out f32[7]");
  EXPECT_EQ(error_of("x: f32[n:1..6, 4]\nx", fixed),
            "dsl: 1:1: 'x' is given as f32[7, 4], the program declares f32[n, 4]");
  EXPECT_EQ(error_of("x: f16[n:1..64, 4]\nx", fixed),
            "dsl: 1:1: 'x' is given as f32[7, 4], the program declares f16[n, 4]");
  EXPECT_EQ(error_of("x: f32[4, 4]\nx", fixed),
            "dsl: 1:1: 'x' is given as f32[7, 4], the program declares f32[4, 4]");
  const Binding two[] = {bound("x", "7,4"), bound("y", "8")};
  EXPECT_EQ(error_of("x: f32[n:1..64, 4]\ny: f32[n]\nx", two),
            "dsl: 2:1: 'y' is given as f32[8], the program declares f32[7]");
}

TEST(DslInputs, AreNotFreeNamesButListed) {
  const char* text = "x: f32[n:1..4]\ndef f(a): a + w\ny = f(x) * n\ny + v";
  EXPECT_EQ(names(free_names(text)), "w v");
  EXPECT_EQ(names(declared_inputs(text)), "x");
}

TEST(DslFunctions, AreExpressionsOrLinesUpToReturn) {
  EXPECT_EQ(signature("x: 4\ndef twice(t): t + t\ntwice(twice(x))"), "x f32[4] -> out f32[4]");
  EXPECT_EQ(signature("x: 4, 8\n"
                      "def stats(t, axis=1):\n"
                      "  m = mean(t, axis)       # of each row\n"
                      "  return m, max(t, axis)\n"
                      "low, high = stats(x)\n"
                      "a, b = stats(x, axis=0)\n"
                      "r1, r2, r3 = (low, high, a + b)\n"),
            "x f32[4, 8] -> r1 f32[4] r2 f32[4] r3 f32[8]");
}

TEST(DslFunctions, SeeTheNamesAroundThemAndKeepTheirOwn) {
  EXPECT_EQ(signature("x: 4\nw: 4\ndef f(t):\n  y = t * w\n  return y\ny = f(x)\nz = f(y) + y"),
            "x f32[4], w f32[4] -> z f32[4]");
  EXPECT_EQ(signature("x: 4\ndef f(x):\n  x = x[0:2]\n  return x\nf(x) + x[2:4]"),
            "x f32[4] -> out f32[2]");
}

TEST(DslFunctions, ReadAsMethodsToo) {
  EXPECT_EQ(signature("x: 4\ndef scale(t, by=2): t * by\nx.scale(3).scale()"),
            "x f32[4] -> out f32[4]");
}

TEST(DslFunctions, ErrorsPointIntoThemAndAtTheirCall) {
  const auto g = build("x: f32[4]\ndef f(t):\n  return t @ ones((3, 3))\n\ny = x + f(x)\n", {}, {});
  ASSERT_FALSE(g.has_value());
  EXPECT_EQ(g.error().message,
            "dsl: 3:12: matmul: inner sizes differ: a is f32[4], b is f32[3, 3]; wanted a's last "
            "axis (4) to equal b's second-last (3)\n"
            "    return t @ ones((3, 3))\n"
            "             ^\n"
            "  in 'f', called at 5:9");
}

TEST(DslFunctions, SayWhatIsWrong) {
  EXPECT_EQ(error_of("def f(a, a): a\nf(1)"), "dsl: 1:10: the parameter 'a' is there twice");
  EXPECT_EQ(error_of("def f(a=1, b): a\nf(1)"),
            "dsl: 1:12: 'b' has no default, but a parameter before it has one");
  EXPECT_EQ(error_of("def f(a):\n  b = a\n"), "dsl: 1:1: the function 'f' has no 'return'");
  EXPECT_EQ(error_of("def f(a):\n  a + 1\n  return a\nf(1)"),
            "dsl: 2:3: the value of this line is not used; wanted 'name = ...' or 'return'");
  EXPECT_EQ(error_of("def f(a): a\nf()"), "dsl: 2:1: 'a' of 'f' is missing");
  EXPECT_EQ(error_of("def f(a): a\nf(1, 2)"), "dsl: 2:6: 2 arguments for 'f'; wanted 1 at most");
  EXPECT_EQ(error_of("def f(ab): ab\nf(1, ac=2)"),
            "dsl: 2:6: 'f' has no parameter 'ac'; did you mean 'ab'?");
  EXPECT_EQ(error_of("def f(a): a\nf(1, a=2)"), "dsl: 2:6: 'a' of 'f' is given twice");
  EXPECT_EQ(error_of("def relu(a): a\nrelu(1)"),
            "dsl: 1:5: 'relu' is a function; choose another name");
  EXPECT_EQ(error_of("def f(a): a\nf = 3\nf"), "dsl: 2:1: 'f' is a function; choose another name");
  EXPECT_EQ(error_of("def f(a): f(a)\nf(1)"),
            "dsl: 1:11: functions call each other more than 64 deep");
  EXPECT_EQ(error_of("def f(a): a"), "dsl: 1:1: the last line has no value; wanted the result");
  EXPECT_EQ(error_of("def f a: a\nf"), "dsl: 1:7: unexpected 'a'; wanted '(' and the parameters");
  EXPECT_EQ(error_of("def f(a) a\nf"),
            "dsl: 1:10: unexpected 'a'; wanted ':' and the body of the function");
  EXPECT_EQ(error_of("def f(3): a\nf"),
            "dsl: 1:7: unexpected '3'; wanted the name of a parameter or ')'");
  EXPECT_EQ(error_of("return 3"),
            "dsl: 1:1: 'return' outside of a function; the last line is the result");
  EXPECT_EQ(error_of("def f(a):\n  def g(b): b\n  return g(a)\nf(1)"),
            "dsl: 2:3: a function within a function; define it before");
  EXPECT_EQ(error_of("def f(a):\n  y: f32[3]\n  return y\nf(1)"),
            "dsl: 2:3: an input within a function; declare it before the function");
  EXPECT_EQ(error_of("def frob(a): a\nfrobb(1)"),
            "dsl: 2:1: unknown function 'frobb'; did you mean 'frob'?");
}

TEST(DslFunctions, AreNotExpandedForEver) {
  std::string text = "def f0(t): t + 1\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("def f{}(t): f{}(f{}(t))\n", i, i - 1, i - 1);
  const std::string error = error_of(text + "f39(1)");
  EXPECT_NE(error.find("the functions of the program are expanded more than 100000 times"),
            std::string::npos)
      << error;
}

TEST(DslInputs, SayWhatIsWrong) {
  EXPECT_EQ(error_of("x: f33[4]\nx"),
            "dsl: 1:4: type 'f33[4]': unknown dtype 'f33'; wanted one of bool, i8..i64, u8..u64, "
            "f16, bf16, f32, f64");
  EXPECT_EQ(error_of("x: f32[4]\nx: f32[4]\nx"), "dsl: 2:1: 'x' is defined already");
  EXPECT_EQ(error_of("x: f32[n]\nx").substr(0, 40), "dsl: 1:4: type 'f32[n]': size 'n': symbo");
  EXPECT_EQ(error_of("x: f32[n:1..4]\ny: f32[n:1..5]\nx"),
            "dsl: 2:4: type 'f32[n:1..5]': variable 'n' is declared as 1..4 and as 1..5");
  EXPECT_EQ(error_of("relu: f32[4]\nrelu"), "dsl: 1:1: 'relu' is a function; choose another name");
  EXPECT_EQ(error_of("x: f32[4]"), "dsl: 1:1: the last line has no value; wanted the result");
  EXPECT_EQ(error_of("y = 3\ny: f32[4]\ny"), "dsl: 2:1: 'y' is defined already");
}

TEST(DslResults, HaveTheNamesOfTheLastLine) {
  EXPECT_EQ(signature("x: 4\n(x, x + 1)"), "x f32[4] -> out0 f32[4] out1 f32[4]");
  EXPECT_EQ(signature("x: 4\ny = (x, x + 1)"), "x f32[4] -> y0 f32[4] y1 f32[4]");
  EXPECT_EQ(signature("x: 4\na, b = x, x + 1"), "x f32[4] -> a f32[4] b f32[4]");
  EXPECT_EQ(error_of("x: 4\na, b = x"),
            "dsl: 2:1: 2 names for a tensor f32[4]; wanted a tuple of 2");
  EXPECT_EQ(error_of("x: 4\na, b = (x, x, x)\na"),
            "dsl: 2:1: 2 names for a tuple of 3; wanted a tuple of 2");
}

}  // namespace
}  // namespace ost::dsl
