// The expression language by topic: precedence, scalars, sizes, statements, names, types of inputs.
#include "core/dsl/dsl.hpp"

#include <gtest/gtest.h>

#include "tests/unit/ir/reference.hpp"

namespace ost::dsl {
namespace {

namespace reference = ir::reference;

// Builds with inputs given as "A=f32[2,3]"; variables are those that the types declare.
Result<ir::Graph> compile(std::string_view expression,
                          std::initializer_list<std::string_view> inputs = {}) {
  std::vector<Binding> bindings;
  std::vector<Var> vars;
  for (const std::string_view input : inputs) {
    const size_t equals = input.find('=');
    OST_TRY_ASSIGN(const TypeDecl type, parse_type(input.substr(equals + 1), vars));
    vars.insert(vars.end(), type.vars.begin(), type.vars.end());
    bindings.push_back({std::string(input.substr(0, equals)), type.dtype, type.shape,
                        ir::InputKind::argument, nullptr});
  }
  return build(expression, bindings, vars);
}

std::string type_of(std::string_view expression,
                    std::initializer_list<std::string_view> inputs = {}) {
  const auto graph = compile(expression, inputs);
  if (!graph) return graph.error().message;
  const ir::Node& node = graph->node(graph->outputs()[0].node);
  return fmt::format("{}{}", name_of(node.dtype), to_string(node.shape));
}

// The value of an expression without inputs.
double value_of(std::string_view expression) {
  const auto graph = compile(expression);
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return NAN;
  return reference::Evaluator(*graph, {}, {}).output().real(0);
}

TEST(DslPrecedence, IsPythons) {
  EXPECT_EQ(value_of("2 + 3 * 4"), 14);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(value_of("-2 ** 2"), -4);
  EXPECT_EQ(value_of("2 ** -1.0"), 0.5);
  EXPECT_EQ(value_of("2 ** 3 ** 2"), 512);
  EXPECT_EQ(value_of("10 - 4 - 3"), 3);
  EXPECT_EQ(value_of("100 / 10 / 5"), 2);
  EXPECT_EQ(value_of("7 // 2 * 2"), 6);
  EXPECT_EQ(value_of("-7 // 2"), -4);
  EXPECT_EQ(value_of("-7 % 3"), 2);
  EXPECT_EQ(value_of("1 + 1 < 3"), 1);
  EXPECT_EQ(value_of("1 | 6 & 3 ^ 1"), 3);
  EXPECT_EQ(value_of("1 << 2 + 1"), 8);
  EXPECT_EQ(value_of("- - 3"), 3);
  EXPECT_EQ(value_of("+3"), 3);
}

TEST(DslNumbers, AreReadAsPythonWritesThem) {
  EXPECT_EQ(value_of("1.5e-3"), 1.5e-3);
  EXPECT_EQ(value_of(".5"), 0.5);
  EXPECT_EQ(value_of("5."), 5);
  EXPECT_EQ(value_of("0x10"), 16);
  EXPECT_EQ(value_of("-inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(value_of("nan")));
  EXPECT_EQ(type_of("9223372036854775807"), "i64[]");
  EXPECT_EQ(type_of("1.0"), "f64[]");
  EXPECT_EQ(type_of("true"), "bool[]");
}

TEST(DslScalars, GiveWayToTheTensorsType) {
  EXPECT_EQ(type_of("x * 2", {"x=f16[3]"}), "f16[3]");
  EXPECT_EQ(type_of("x * 2.5", {"x=bf16[3]"}), "bf16[3]");
  EXPECT_EQ(type_of("x * 2", {"x=u8[3]"}), "u8[3]");
  EXPECT_EQ(type_of("x * 2.5", {"x=u8[3]"}), "f64[3]");
  EXPECT_EQ(type_of("x * n", {"x=f32[n:1..4]"}), "f32[n]");
  EXPECT_EQ(type_of("x * (1 / n)", {"x=f32[n:1..4]"}), "f32[n]");
  EXPECT_EQ(type_of("x * exp(2)", {"x=f32[3]"}), "f32[3]");
  EXPECT_EQ(type_of("maximum(x, 0)", {"x=f16[3]"}), "f16[3]");
  EXPECT_EQ(type_of("where(x > 0, x, 0)", {"x=i8[3]"}), "i8[3]");
}

TEST(DslSizes, AreExactExpressions) {
  EXPECT_EQ(type_of("x[1:n]", {"x=n:1..9,4"}), "f32[n - 1, 4]");
  EXPECT_EQ(type_of("reshape(x, n * 4)", {"x=n:0..9,4"}), "f32[4*n]");
  EXPECT_EQ(type_of("reshape(x, -1, 2)", {"x=n:0..9,4"}), "f32[2*n, 2]");
  EXPECT_EQ(type_of("concat(x, y)", {"x=n:0..9,4", "y=m:0..9,4"}), "f32[m + n, 4]");
  EXPECT_EQ(type_of("x[p:p+2]", {"x=8", "y=p:0..6"}), "f32[2]");
  EXPECT_EQ(type_of("x[n - 1]", {"x=n:1..9,4"}), "f32[4]");
  EXPECT_EQ(type_of("x[-1]", {"x=n:1..9,4"}), "f32[4]");
  EXPECT_EQ(type_of("zeros((n, x.shape[1]))", {"x=n:1..9,4"}), "f32[n, 4]");
  EXPECT_EQ(type_of("x @ x.T", {"x=n:0..9,4"}), "f32[n, n]");
  EXPECT_EQ(type_of("arange(n)", {"x=n:0..9"}), "i64[n]");
}

TEST(DslSizes, MeanDividesByTheBoundValue) {
  const auto graph = compile("mean(x)", {"x=n:0..9"});
  ASSERT_TRUE(graph) << graph.error().message;
  reference::Array x = reference::make(DType::f32, {4});
  for (size_t i = 0; i < 4; ++i) x.set(i, static_cast<double>(i));
  EXPECT_EQ(reference::Evaluator(*graph, {x}, {{"n", 4}}).output().real(0), 1.5);
  EXPECT_TRUE(
      std::isnan(reference::Evaluator(*graph, {reference::make(DType::f32, {0})}, {{"n", 0}})
                     .output()
                     .real(0)));
}

TEST(DslStatements, NameIntermediatesAndResults) {
  const auto graph = compile("h = relu(x)  # hidden\ny = h * 2; y, h", {"x=3"});
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->outputs()[0].name, "out0");
  EXPECT_EQ(graph->outputs()[1].name, "out1");
  const auto named = compile("y = x + 1", {"x=3"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->outputs()[0].name, "y");
  EXPECT_EQ(compile("x", {"x=3"})->outputs()[0].name, "out");
  EXPECT_EQ(type_of("x = relu(x)\nx = x @ w\nx", {"x=2,3", "w=3,5"}), "f32[2, 5]");
  EXPECT_EQ(type_of("(x\n +\n 1)", {"x=3"}), "f32[3]");
}

TEST(DslCalls, TakeKeywordsMethodsAndNone) {
  EXPECT_EQ(type_of("x.sum(axis=0)", {"x=2,3"}), "f32[3]");
  EXPECT_EQ(type_of("sum(x=x, keepdims=True, axis=1)", {"x=2,3"}), "f32[2, 1]");
  EXPECT_EQ(type_of("relu(x).T.reshape(6).softmax()", {"x=2,3"}), "f32[6]");
  EXPECT_EQ(type_of("layernorm(x, none, b)", {"x=2,3", "b=3"}), "f32[2, 3]");
  EXPECT_EQ(type_of("cast(x, dtype=float16)", {"x=2"}), "f16[2]");
  EXPECT_EQ(type_of("[x, x][0]", {"x=2"}), "f32[2]");
  EXPECT_EQ(type_of("matmul(x, y, dtype=i32)", {"x=i8[2,3]", "y=i8[3,2]"}), "i32[2, 2]");
}

TEST(DslInputs, KeepTheirOrderUsedOrNot) {
  const auto graph = compile("b", {"a=2", "b=3", "c=4"});
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->inputs().size(), 3u);
  EXPECT_EQ(graph->inputs()[0].name, "a");
  EXPECT_EQ(graph->inputs()[2].name, "c");
  EXPECT_EQ(graph->input(graph->outputs()[0].node).name, "b");
}

TEST(DslInputs, CarryConstantData) {
  auto data = std::make_shared<Literal>();
  data->dtype = DType::f32;
  data->shape = {1};
  data->bytes = {0, 0, 0x80, 0x3f};
  const Binding binding{"w", DType::f32, {Sym(1)}, ir::InputKind::constant, data};
  const auto graph = build("w + w", std::span(&binding, 1), {});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(reference::Evaluator(*graph, {}, {}).output().real(0), 2);
}

TEST(DslFreeNames, AreWhatMustBeBound) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(free_names("matmul(A,relu(B))+softmax(C)").value(), (Names{"A", "B", "C"}));
  EXPECT_EQ(free_names("h = x @ w; h + b[0:n] + x").value(), (Names{"x", "w", "b", "n"}));
  EXPECT_EQ(free_names("cast(x, f16) + inf").value(), (Names{"x"}));
  EXPECT_EQ(free_names("sum(x, axis=1)").value(), (Names{"x"}));
  EXPECT_EQ(free_names("x.sum(axis=k) + y.T").value(), (Names{"x", "k", "y"}));
  EXPECT_FALSE(free_names("x +"));
}

TEST(DslTypes, AreReadFromDeclarations) {
  const auto type = parse_type("f16[n:1..1797, 64, n*2]");
  ASSERT_TRUE(type) << type.error().message;
  EXPECT_EQ(type->dtype, DType::f16);
  EXPECT_EQ(to_string(type->shape), "[n, 64, 2*n]");
  EXPECT_EQ(type->vars, (std::vector<Var>{{"n", 1, 1797}}));
  EXPECT_EQ(to_string(parse_type("n:0..4,64")->shape), "[n, 64]");
  EXPECT_EQ(parse_type("8")->dtype, DType::f32);
  EXPECT_TRUE(parse_type("")->shape.empty());
  EXPECT_TRUE(parse_type("i64")->shape.empty());
  EXPECT_EQ(parse_type("i64[]")->dtype, DType::i64);
  const Var known{"n", 1, 9};
  EXPECT_EQ(to_string(parse_type("n, 2", std::span(&known, 1))->shape), "[n, 2]");
  EXPECT_TRUE(parse_type("n:1..9", std::span(&known, 1))->vars.empty());
}

TEST(DslTypes, NameWhatIsWrong) {
  const Var known{"n", 1, 9};
  const auto message = [&](std::string_view text) {
    const auto type = parse_type(text, std::span(&known, 1));
    return type ? std::string("accepted") : type.error().message;
  };
  EXPECT_EQ(message("n:1..8"), "type 'n:1..8': variable 'n' is declared as 1..9 and as 1..8");
  EXPECT_EQ(message("f33[2]"),
            "type 'f33[2]': unknown dtype 'f33'; wanted one of bool, i8..i64, u8..u64, f16, bf16, "
            "f32, f64");
  EXPECT_EQ(message("f32[2"), "type 'f32[2': wanted ']' at the end");
  EXPECT_EQ(message("2,,3"), "type '2,,3': a size is missing between commas");
  EXPECT_EQ(message("2,"), "type '2,': wanted a size after the last ','");
  EXPECT_EQ(message("k:5"), "type 'k:5': 'k:5': wanted NAME:MIN..MAX");
  EXPECT_EQ(message("k:5..2"), "type 'k:5..2': 'k:5..2': bounds 5..2; wanted 0 <= MIN <= MAX");
  EXPECT_EQ(message("k:-1..2"), "type 'k:-1..2': 'k:-1..2': bounds -1..2; wanted 0 <= MIN <= MAX");
  EXPECT_EQ(message("k:a..2"),
            "type 'k:a..2': 'k:a..2': 'a' is not a 64-bit integer; wanted NAME:MIN..MAX");
  EXPECT_EQ(message("2k:1..2"), "type '2k:1..2': '2k' is not a name that a variable can have");
  EXPECT_EQ(message("n-2"), "type 'n-2': size 'n-2' may be negative; wanted 0 or more");
  EXPECT_NE(message("m"), "accepted");
}

TEST(DslSignatures, ListEveryFunction) {
  const auto all = function_signatures();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const char* name :
       {"matmul",    "dot",       "relu",    "silu",      "gelu",    "sigmoid", "tanh",
        "erf",       "exp",       "exp2",    "log",       "log2",    "sqrt",    "rsqrt",
        "abs",       "neg",       "sin",     "cos",       "floor",   "ceil",    "round",
        "sign",      "maximum",   "minimum", "where",     "pow",     "sum",     "mean",
        "prod",      "max",       "min",     "argmax",    "argmin",  "softmax", "log_softmax",
        "logsumexp", "layernorm", "rmsnorm", "transpose", "reshape", "cast",    "concat",
        "gather"})
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& s) {
      return s.starts_with(std::string(name) + "(");
    })) << name;
}

}  // namespace
}  // namespace ost::dsl
