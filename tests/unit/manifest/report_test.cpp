#include "core/manifest/diff.hpp"
#include "core/manifest/inspect.hpp"
#include "tests/unit/manifest/temp_folder.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::manifest {
namespace {

void expect_has(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\n" << text;
}

TEST(Inspect, TextNamesEverything) {
  const std::string text = inspect_text({test::scaled_relu(), {}, {{"producer", "a test"}}});
  expect_has(text,
             {"strict, 1 device, 2 kernels, 2 steps, 1024 bytes of arenas\n", "producer: a test\n",
              "variable  n     1 .. 64\n", "input     x     f32 [n, 4] on device 0\n",
              "constant  c     f32 [4], 16 bytes, sha256 ", "arena 0 at 0",
              "axes [n, 4]; 3 parameters; 3 mul, 2 load, 1 store, 1 add\n",
              "scale(x, c, temp 2; n)\n", "relu(temp 2, y; n)\n", "1 <= n"});
  EXPECT_EQ(text.find("%0 ="), std::string::npos);
  expect_has(inspect_text({test::scaled_relu(), {}, {}}, true),
             {"kernel scale\n  kir 1.0 l1 strict\n"});
}

TEST(Inspect, DotHasStepsEdgesAndTerminals) {
  const std::string dot = inspect_dot(test::scaled_relu());
  expect_has(dot,
             {"digraph program {", "step1 [label=\"1: relu(temp 2, y; n)\"];", "step0 -> step1;",
              "input0 -> step0 [style=dashed];", "step1 -> output0 [style=dashed];"});
}

TEST(Inspect, HtmlEscapesForeignText) {
  Program p = test::scaled_relu();
  p.inputs[0].name = "<script>&\"";
  const std::string html = inspect_html({p, {}, {}});
  expect_has(
      html, {"&lt;script&gt;&amp;&quot;", "<h2>kernels</h2>", "<details><summary>scale</summary>"});
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  expect_has(inspect_dot(p), {"[label=\"<script>&\\\"\", shape=ellipse]"});
}

TEST(Inspect, JsonHasTheTables) {
  const json::object o = inspect_json({test::accumulate(), {}, {}});
  EXPECT_EQ(o.at("devices").to_number<int>(), 2);
  EXPECT_EQ(o.at("steps").as_array().size(), 2u);
  EXPECT_EQ(o.at("steps").as_array()[1].as_object().at("what").as_string(), "copy(sum, acc)");
}

TEST(Diff, EqualProgramsHaveNone) {
  EXPECT_TRUE(diff(test::scaled_relu(), test::scaled_relu()).empty());
  EXPECT_TRUE(diff(test::accumulate(), test::accumulate()).empty());
}

TEST(Diff, AChangedKernelIsShownByItsInstructions) {
  const auto d = diff(test::scaled_relu(kir::Op::neg), test::scaled_relu(kir::Op::abs));
  ASSERT_EQ(d.size(), 1u) << diff_text(d);
  EXPECT_EQ(d[0].section, "kernel");
  EXPECT_EQ(d[0].name, "pointwise");
  ASSERT_EQ(d[0].lines.size(), 2u) << diff_text(d);
  expect_has(diff_text(d), {"- kernel pointwise: ", "+ kernel pointwise: ", "    - %", "= neg f32",
                            "    + %", "= abs f32"});
}

TEST(Diff, SignatureConstantsAndSteps) {
  Program a = test::scaled_relu(), b = a;
  b.vars[0].max = 64;
  b.constants[0].data = test::floats({4}, {9, 9, 9, 9});
  b.inputs.push_back(
      {.name = "z", .dtype = DType::i32, .shape = {Sym(3)}, .device = 0, .written = false});
  b.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 1,
                     .args = {0, 3},
                     .vars = {0},
                     .after = {1},
                     .level = 2});
  const std::string text = diff_text(diff(a, b));
  expect_has(text, {"- constant c: f32 [4]", "+ constant c: f32 [4]",
                    "+ input z: i32 [3] on device 0, position 1\n",
                    "+ step 2: relu(x, y; n) on device 0, after relu(temp 2, y; n)\n"});
  EXPECT_EQ(text.find("step 0"), std::string::npos);
  const json::array j = diff_json(diff(a, b));
  ASSERT_EQ(j.size(), 3u);
  EXPECT_EQ(j[0].as_object().at("change").as_string(), "added");
  EXPECT_TRUE(j[0].as_object().at("before").is_null());
}

TEST(Diff, RenamedKernelsAreTheSameKernel) {
  Program b = test::scaled_relu();
  b.kernels[0].name = "other";
  const auto d = diff(test::scaled_relu(), b);
  ASSERT_EQ(d.size(), 1u) << diff_text(d);
  EXPECT_EQ(d[0].name, "scale");
  EXPECT_EQ(d[0].after.value_or(""), "named other; otherwise equal");
}

TEST(Diff, ChangedAndRenamedKernelsArePairedInOrder) {
  const auto d = diff(test::scaled_relu(kir::Op::max), test::scaled_relu(kir::Op::abs));
  ASSERT_EQ(d.size(), 1u) << diff_text(d);
  EXPECT_EQ(d[0].name, "relu");
  expect_has(d[0].after.value_or(""), {"named pointwise; "});
  EXPECT_FALSE(d[0].lines.empty());
}

TEST(Diff, AddedKernelsAndSteps) {
  Program b = test::scaled_relu();
  b.kernels.push_back({"extra", test::pointwise_kernel(kir::Op::neg), {}});
  b.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 2,
                     .args = {0, 3},
                     .vars = {0},
                     .after = {1},
                     .level = 2});
  const auto d = diff(test::scaled_relu(), b);
  ASSERT_EQ(d.size(), 2u) << diff_text(d);
  EXPECT_FALSE(d[0].before.has_value());
  EXPECT_EQ(d[1].after.value_or(""), "extra(x, y; n) on device 0, after relu(temp 2, y; n)");
  const auto back = diff(b, test::scaled_relu());
  ASSERT_EQ(back.size(), 2u);
  EXPECT_FALSE(back[0].after.has_value());
}

}  // namespace
}  // namespace ost::manifest
