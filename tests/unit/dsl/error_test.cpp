// Every kind of wrong input, with the position that its message points at.
#include <gtest/gtest.h>

#include "core/dsl/dsl.hpp"

namespace ost::dsl {
namespace {

// The message of a failing build with A f32[2,3], B f32[3,4], I i32[2,3], v f32[3], b bool[2,3] and
// the variable n 0..9.
std::string error_of(std::string_view expression) {
  const Var n{"n", 0, 9};
  const auto type = [](std::string_view name, std::string_view text) {
    const auto decl = parse_type(text);
    return Binding{std::string(name), decl->dtype, decl->shape, ir::InputKind::argument, nullptr};
  };
  const Binding inputs[] = {type("A", "2,3"), type("B", "3,4"), type("I", "i32[2,3]"),
                            type("v", "3"), type("b", "bool[2,3]")};
  const auto graph = build(expression, inputs, std::span(&n, 1));
  if (graph) return "accepted";
  EXPECT_EQ(graph.error().status, OST_INVALID_ARGUMENT);
  return graph.error().message;
}

struct Bad {
  const char* expression;
  int column;
  const char* message;
};

class DslErrors : public testing::TestWithParam<Bad> {};

TEST_P(DslErrors, PointAtTheirCause) {
  const Bad& bad = GetParam();
  const std::string column(static_cast<size_t>(bad.column - 1), ' ');
  EXPECT_EQ(error_of(bad.expression), fmt::format("dsl: 1:{}: {}\n  {}\n  {}^", bad.column,
                                                  bad.message, bad.expression, column));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, DslErrors,
    testing::Values(
        Bad{"", 1, "the expression is empty"}, Bad{"  # nothing", 12, "the expression is empty"},
        Bad{"A +", 4, "the expression ends here; wanted a name, a number, a function or '('"},
        Bad{"(A + B", 1, "'(' is never closed; wanted ',' or ')'"},
        Bad{"relu(A", 5, "'(' is never closed; wanted ',' or ')'"},
        Bad{"A[0", 2, "'[' is never closed; wanted ',' or ']'"},
        Bad{"A)", 2, "unexpected ')'; wanted an operator or the end of the expression"},
        Bad{"A B", 3, "unexpected 'B'; wanted an operator or the end of the expression"},
        Bad{"* A", 1, "unexpected '*'; wanted a name, a number, a function or '('"},
        Bad{"A + * v", 5, "unexpected '*'; wanted a name, a number, a function or '('"},
        Bad{"A $ v", 3, "unexpected character '$'"}, Bad{"A ? v", 3, "unexpected character '?'"},
        Bad{"3x", 2, "'x' right after a number; put an operator between"},
        Bad{"1e", 2, "wanted the digits of an exponent"},
        Bad{"0x", 1, "wanted hexadecimal digits after '0x'"},
        Bad{"1e999", 1, "the number 1e999 is outside of f64; write inf or 0"},
        Bad{"9223372036854775808", 1, "the integer 9223372036854775808 does not fit into 64 bits"},
        Bad{"1 < 2 < 3", 7, "comparisons do not chain; write (a < b) & (b < c)"},
        Bad{"A + B = 2", 7,
            "unexpected '='; wanted an operator or the end of the expression (a comparison is "
            "written '==')"},
        Bad{"sum(axis=0, A)", 13, "a positional argument after a keyword"},
        Bad{"A.", 3, "the expression ends here; wanted the name of an attribute or function"},
        Bad{"relu(A;)", 7, "';' within brackets"}));

INSTANTIATE_TEST_SUITE_P(
    Names, DslErrors,
    testing::Values(Bad{"matmul(A,relux(B))", 10, "unknown function 'relux'; did you mean 'relu'?"},
                    Bad{"sotfmax(A)", 1, "unknown function 'sotfmax'; did you mean 'softmax'?"},
                    Bad{"frobnicate(A)", 1, "unknown function 'frobnicate'"},
                    Bad{"A + C", 5, "unknown name 'C'; did you mean 'A'?"},
                    Bad{"A + weights", 5, "unknown name 'weights'; wanted one of A, B, I, b, n, v"},
                    Bad{"relu + A", 1, "'relu' is a function; call it: relu(x)"},
                    Bad{"A(2)", 1, "'A' is not a function"},
                    Bad{"A.S", 3, "unknown attribute 'S'; did you mean 'T'?"},
                    Bad{"A.sum", 3, "'sum' is a function; call it: x.sum(...)"},
                    Bad{"A; v", 1,
                        "the value of this line is not used; wanted 'name = ...', or an expression "
                        "on the last line only"},
                    Bad{"relu = A; relu", 1, "'relu' is a function; choose another name"},
                    Bad{"()", 1, "the result is an empty tuple; wanted one tensor or more"},
                    Bad{"f32", 1, "wanted a tensor, found the type f32"}));

INSTANTIATE_TEST_SUITE_P(
    Calls, DslErrors,
    testing::Values(
        Bad{"relu()", 1, "'x' of relu(x) is missing"},
        Bad{"relu(A, v)", 9, "2 arguments for relu(x); wanted 1 at most"},
        Bad{"sum(A, axes=0)", 8,
            "sum(x, axis=none, keepdims=false) has no parameter 'axes'; did you mean 'axis'?"},
        Bad{"sum(A, 0, axis=0)", 11, "'axis' of sum(x, axis=none, keepdims=false) is given twice"},
        Bad{"sum(A, axis=1.5)", 13,
            "sum: 'axis' is the number 1.5, wanted an integer or a tuple of integers"},
        Bad{"sum(A, axis=A)", 13,
            "sum: 'axis' is a tensor f32[2, 3], wanted an integer or a tuple of integers"},
        Bad{"sum(A, axis=())", 1,
            "sum: the tuple of axes is empty; leave axis= out to reduce over all"},
        Bad{"sum(A, keepdims=2)", 17, "sum: 'keepdims' is the integer 2, wanted true or false"},
        Bad{"softmax(A, axis=0.5)", 17, "softmax: 'axis' is the number 0.5, wanted an integer"},
        Bad{"cast(A, 3)", 9, "cast: 'dtype' is the integer 3, wanted a type such as f32"},
        Bad{"layernorm(A, eps=A)", 18, "layernorm: 'eps' is a tensor f32[2, 3], wanted a number"},
        Bad{"reshape(A, 1.5)", 12,
            "reshape: 'shape' is the number 1.5, wanted integers and variables only"},
        Bad{"relu((A, v))", 6, "relu: 'x' is a tuple of 2, wanted a tensor"},
        Bad{"relu(none)", 1, "relu: 'x' is none, wanted a tensor"},
        Bad{"clip(A)", 1, "clip: neither 'low' nor 'high' is given"},
        Bad{"pad(A, (1, 2, 3))", 9, "pad: wanted a pair (before, after), found the integer 1"},
        Bad{"arange(3, 5, 0)", 1, "arange: step 0 is not allowed"}));

INSTANTIATE_TEST_SUITE_P(
    Shapes, DslErrors,
    testing::Values(
        Bad{"relu(A) @ relu(A)", 9,
            "matmul: inner sizes differ: a is f32[2, 3], b is f32[2, 3]; wanted a's last axis (3) "
            "to equal b's second-last (2)"},
        Bad{"1 + matmul(A, A)", 5,
            "matmul: inner sizes differ: a is f32[2, 3], b is f32[2, 3]; wanted a's last axis (3) "
            "to equal b's second-last (2)"},
        Bad{"A + B", 3,
            "add: shapes [2, 3] and [3, 4] do not broadcast: axis -1 has sizes 3 and 4; wanted "
            "equal sizes or a 1"},
        Bad{"zeros(n) + v", 10,
            "add: shapes [n] and [3] do not broadcast: sizes n and 3 of axis -1 are not provably "
            "equal and neither is the constant 1"},
        Bad{"softmax(A, axis=2)", 1, "softmax: axis 2 is out of range for f32[2, 3]"},
        Bad{"sum(A, axis=(0, 0))", 1, "sum: axis 0 of f32[2, 3] is named twice"},
        Bad{"reshape(A, 4)", 1,
            "reshape: f32[2, 3] has 6 elements, the new shape [4] has 4; wanted them equal for all "
            "values of the variables"},
        Bad{"reshape(A, -1, 4)", 1,
            "reshape: f32[2, 3] has 6 elements, which is not provably a multiple of 4; no size "
            "fits -1 in [-1, 4]"},
        Bad{"reshape(A, -1, -1)", 1, "reshape: [-1, -1] has more than one -1"},
        Bad{"transpose(A, 0, 0)", 1, "permute: (0, 0) is not an order of the 2 axes of f32[2, 3]"},
        Bad{"squeeze(A, 0)", 1, "squeeze: axis 0 of f32[2, 3] has size 2, wanted the constant 1"},
        Bad{"concat(A, B)", 1,
            "concat: f32[3, 4] does not fit f32[2, 3] along axis 0; wanted all other sizes equal"},
        Bad{"expand(A, 3, 3)", 1,
            "broadcast_to: shapes [2, 3] and [3, 3] do not broadcast: axis -2 has sizes 2 and 3; "
            "wanted equal sizes or a 1"},
        Bad{"max(zeros(0))", 1,
            "max: over no elements: axes (0) of f32[0] are empty, and it has no identity"},
        Bad{"gather(A, v)", 1, "gather: the index is f32[3], wanted an integer type"},
        Bad{"layernorm(A, B)", 1,
            "layernorm: gamma is f32[3, 4], which does not broadcast to f32[2, 3]"}));

INSTANTIATE_TEST_SUITE_P(
    Types, DslErrors,
    testing::Values(
        Bad{"-b", 1, "neg: operand is bool[2, 3], wanted numbers; cast it first"},
        Bad{"b - b", 3, "sub: operands are bool[2, 3]; wanted numbers, or bit_xor for bool"},
        Bad{"A & A", 3, "bit_and: operand is f32[2, 3], wanted bool or an integer type"},
        Bad{"A << 1", 3, "shl: operand is f32[2, 3], wanted an integer type"},
        Bad{"~A", 1, "bit_not: operand is f32[2, 3], wanted bool or an integer type"},
        Bad{"I ** I", 3,
            "pow: i32[2, 3] to the power of i32[2, 3]: integers take only a constant exponent of "
            "at least 0; cast one "
            "operand to a float"},
        Bad{"I + 3000000000", 5, "full: the integer 3000000000 is out of range for i32"},
        Bad{"bitcast(A, f64)", 1, "bitcast: from f32 to f64; wanted types of one width, not bool"},
        Bad{"A + f32", 3, "'+' wants tensors or numbers, found the type f32"},
        Bad{"A + (A, v)", 3, "'+' wants tensors or numbers, found a tuple of 2"}));

INSTANTIATE_TEST_SUITE_P(
    Subscripts, DslErrors,
    testing::Values(Bad{"A[2]", 3, "index 2 is out of range for an axis of size 2"},
                    Bad{"A[-3]", 3, "index -3 is out of range for an axis of size 2"},
                    Bad{"A[n]", 3,
                        "index n is not provably inside of an axis of size 2; tighten the bounds "
                        "of its variables"},
                    Bad{"A[0, 0, 0]", 2, "3 indices for f32[2, 3], which has 2 axes"},
                    Bad{"A[..., ...]", 2, "more than one '...'"},
                    Bad{"A[::0]", 5, "a step must not be 0"},
                    Bad{"A[::n]", 5, "a step must be a constant, found n"},
                    Bad{"A[1.5]", 3,
                        "wanted an integer, a slice, none or '...' as index, found the number 1.5"},
                    Bad{"A[1.5:]", 3,
                        "wanted an integer or a variable as slice bound, found the number 1.5"},
                    Bad{"A[b]", 3,
                        "a bool mask selects a number of elements that is not known here; use "
                        "where(mask, x, 0)"},
                    Bad{"v[n - 5:]", 2,
                        "slice: the sign of bound n - 5 of axis 0 is not known (it lies in -5..4); "
                        "wanted one that never changes sign"},
                    Bad{"A.shape[2]", 9, "index 2 is out of range for a tuple of 2"},
                    Bad{"n[0]", 2, "the size n has no elements to select"}));

INSTANTIATE_TEST_SUITE_P(
    Scalars, DslErrors,
    testing::Values(Bad{"1 // 0", 3, "integer division by zero"},
                    Bad{"n % 0", 3, "integer division by zero"},
                    Bad{"10 ** 30", 4, "10 ** 30 does not fit into 64 bits"},
                    Bad{"9223372036854775807 + 1", 21,
                        "'+' of 9223372036854775807 and 1 does not fit into 64 bits"},
                    Bad{"zeros(n - 1)", 1,
                        "full: the size n - 1 of axis 0 may be negative (down to -1); tighten the "
                        "bounds of its variables"}));

TEST(DslErrorPlaces, CountLinesAndCharacters) {
  EXPECT_EQ(
      error_of("h = relu(A)\nh + nope"),
      "dsl: 2:5: unknown name 'nope'; wanted one of A, B, I, b, h, n, v\n  h + nope\n      ^");
  EXPECT_EQ(error_of("A + # \xc3\xa4\n B"),
            "dsl: 1:8: the expression ends here; wanted a name, a number, a function or '('\n  A + "
            "# \xc3\xa4\n         ^");
}

TEST(DslErrorPlaces, ShowNoControlCharacters) {
  EXPECT_EQ(error_of("A\x01"), "dsl: 1:2: unexpected byte 0x01\n  A \n   ^");
  EXPECT_EQ(error_of("A\xff"), "dsl: 1:2: unexpected byte 0xff\n  A\xff\n   ^");
}

TEST(DslErrorPlaces, ShowAWindowOfALongLine) {
  std::string text = "A";
  for (int i = 0; i < 500; ++i) text += " + A";
  const std::string message = error_of(text + " + nope");
  EXPECT_LT(message.size(), 400u);
  EXPECT_NE(message.find("  ...+ A + A"), std::string::npos) << message;
  const size_t caret = message.rfind('^') - message.rfind('\n');
  const size_t name = message.rfind("nope") - message.rfind('\n', message.rfind("nope"));
  EXPECT_EQ(caret, name) << message;
}

TEST(DslLimits, DeepNestingIsAnErrorAndLongChainsAreNot) {
  const std::string deep = std::string(5000, '(') + "A" + std::string(5000, ')');
  EXPECT_NE(error_of(deep).find("nests deeper than 200"), std::string::npos);
  EXPECT_NE(error_of(std::string(5000, '-') + "A").find("nests deeper than 200"),
            std::string::npos);
  std::string power = "A";
  for (int i = 0; i < 5000; ++i) power += "**A";
  EXPECT_NE(error_of(power).find("nests deeper than 200"), std::string::npos);
  std::string methods = "A";
  for (int i = 0; i < 5000; ++i) methods += ".T";
  EXPECT_NE(error_of(methods).find("nests deeper than 200"), std::string::npos);
  std::string sum = "A";
  for (int i = 0; i < 20000; ++i) sum += "+A";
  EXPECT_EQ(error_of(sum), "accepted");
  EXPECT_EQ(error_of(std::string(100, '(') + "A" + std::string(100, ')')), "accepted");
}

TEST(DslBindings, RefuseBadNamesAndDuplicates) {
  const Binding twice[] = {{"A", DType::f32, {}, ir::InputKind::argument, nullptr},
                           {"A", DType::f32, {}, ir::InputKind::argument, nullptr}};
  EXPECT_EQ(build("A", twice, {}).error().message,
            "dsl: 'A' is bound twice; wanted one input or variable of a name");
  const Binding bad{"a b", DType::f32, {}, ir::InputKind::argument, nullptr};
  EXPECT_EQ(build("1", std::span(&bad, 1), {}).error().message,
            "dsl: 'a b' is not a name that an input can have");
  const Var same[] = {{"n", 0, 1}, {"n", 0, 1}};
  EXPECT_EQ(build("1", {}, same).error().message, "dsl: variable 'n' is declared twice");
}

}  // namespace
}  // namespace ost::dsl
