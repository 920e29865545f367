// compile(): a text and types give a callable that is compiled once.
#include <gtest/gtest.h>
#include <ostinato/ostinato.hpp>

#include <cmath>
#include <memory>

namespace {

using namespace ostinato;

Context ref_context() {
  ContextOptions options;
  options.cache_folder = "off";
  options.flags = OST_CONTEXT_NO_PLUGIN_SEARCH | OST_CONTEXT_IGNORE_ENVIRONMENT;
  return Context(options);
}

const Array kA = Array::of<float>({2, 3}, {1, -2, 3, -4, 5, -6});
const Array kB = Array::of<float>({3, 2}, {1, 0, 0, 1, 1, 1});
const NamedTypes kTypes = {{"A", "2,3"}, {"B", "3,2"}};

TEST(Function, IsCalledWithItsInputs) {
  const Context context = ref_context();
  const Function f = compile(context, "relu(A @ B)", kTypes, {.device = "ref:0"});
  EXPECT_EQ(f({{"A", kA.view()}, {"B", kB.view()}})[0].values<float>(),
            (std::vector<float>{4, 1, 0, 0}));
  EXPECT_EQ(f.device(), "ref:0");
}

TEST(Function, GivesSeveralResultsAndTakesVariables) {
  const Context context = ref_context();
  const Function f = compile(context, "x: f32[n:1..9, 3]\ns, t = sum(x, axis=0), x * n", {});
  const auto out = f({{"x", kA.view()}});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].values<float>(), (std::vector<float>{-3, 3, -3}));
  EXPECT_EQ(out[1].values<float>(), (std::vector<float>{2, -4, 6, -8, 10, -12}));
}

TEST(Function, TellsWhatItIs) {
  const Context context = ref_context();
  const Function f = compile(context, "relu(A @ B)", kTypes);
  ASSERT_EQ(f.groups().size(), 1u);
  EXPECT_EQ(f.groups()[0].kind, "gemm_epilogue");
  EXPECT_EQ(f.tiles(), std::vector<std::string>{""});
  EXPECT_NE(f.ir().find("contract"), std::string::npos);
  EXPECT_NE(f.source().find("contract"), std::string::npos);
  EXPECT_NE(f.explain().find("gemm_epilogue"), std::string::npos);
  EXPECT_NE(f.explain(OST_FORMAT_JSON).find("\"gemm_epilogue\": 1"), std::string::npos)
      << f.explain(OST_FORMAT_JSON);
  const Program again = Program::parse(f.manifest());
  EXPECT_EQ(again.id(), f.program().id());
  EXPECT_EQ(again.groups()[0].kind, "gemm_epilogue");
}

TEST(Function, IsReusedForTheSameRequestOnly) {
  const Context context = ref_context();
  const auto compiled = [&] { return function_stats(context).compiled; };
  const auto reused = [&] { return function_stats(context).reused; };
  const std::string text = "relu(A @ B)";
  const Function f = compile(context, text, kTypes);
  EXPECT_EQ(compiled(), 1u);
  const Function same = compile(context, text, {{"A", "f32[2, 3]"}, {"B", "f32[3, 2]"}});
  EXPECT_EQ(compiled(), 1u);
  EXPECT_EQ(reused(), 1u);
  EXPECT_EQ(ost_function_instance(f.get()), ost_function_instance(same.get()));
  compile(context, text, {{"A", "4,3"}, {"B", "3,2"}});            // another shape
  compile(context, text, {{"A", "f64[2,3]"}, {"B", "f64[3,2]"}});  // another type
  compile(context, text, {{"A", "n:1..4,3"}, {"B", "3,2"}});       // a variable
  compile(context, text, {{"A", "n:1..5,3"}, {"B", "3,2"}});       // with other bounds
  compile(context, "relu( A @ B)", kTypes);                        // another text
  compile(context, text, kTypes, {.memory_budget = 10});           // other options
  compile(context, text, kTypes, {.tile_size = 1});
  compile(context, text, kTypes, {.fast = true});
  compile(context, text, kTypes, {.fuse = false});
  EXPECT_EQ(compiled(), 10u);
  EXPECT_EQ(reused(), 1u);
}

TEST(Function, FloatsInTheTextAreKeptApartByTheirSign) {
  const Context context = ref_context();
  const Array x = Array::of<float>({1}, {1});
  const auto inverse = [&](const char* text) {
    return evaluate(context, text, {{"x", x.view()}})[0].values<float>()[0];
  };
  EXPECT_EQ(inverse("1 / (x * 0.0)"), HUGE_VALF);
  EXPECT_EQ(inverse("1 / (x * -0.0)"), -HUGE_VALF);
  EXPECT_EQ(inverse("1 / (x * 0.0)"), HUGE_VALF);
}

TEST(Function, LimitsAreOptions) {
  const Context context = ref_context();
  const NamedTypes types = {{"A", "100,100"}, {"B", "100,100"}, {"C", "100,100"}};
  EXPECT_EQ(compile(context, "A+B+C", types, {.memory_budget = 1000}).groups().size(), 2u);
  EXPECT_EQ(compile(context, "A+B+C", types, {.memory_budget = 100000}).groups().size(), 1u);
  EXPECT_EQ(compile(context, "A+B+C", types, {.tile_size = 32}).tiles(),
            std::vector<std::string>{"100 as 4 x 32; 100 as 4 x 32"});
  try {
    compile(context, "(A@B)@C", types, {.arena_limit = 1000});
    FAIL() << "an arena of 40000 bytes fits no limit of 1000";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the smallest limit that works is 10240"),
              std::string::npos)
        << e.what();
  }
}

TEST(Function, OutlivesItsContext) {
  std::unique_ptr<Context> context = std::make_unique<Context>(ref_context());
  const Function f = compile(*context, "relu(A @ B)", kTypes);
  context.reset();
  EXPECT_EQ(f({{"A", kA.view()}, {"B", kB.view()}})[0].values<float>(),
            (std::vector<float>{4, 1, 0, 0}));
}

TEST(Function, EvaluateIsOneCall) {
  const Context context = ref_context();
  const auto out = evaluate(context, "A * 2 - A", {{"A", kA.view()}});
  EXPECT_EQ(out[0].bytes, kA.bytes);
  EXPECT_EQ(function_stats(context).compiled, 1u);
}

}  // namespace
