// docs/dsl.md is what the language does: its function table, its examples and its error are run
// here.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/dsl/dsl.hpp"

namespace ost::dsl {
namespace {

std::string page() {
  std::ifstream file("docs/dsl.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << "docs/dsl.md is read relative to the source folder";
  return text.str();
}

// The lines of the first block of a kind.
std::vector<std::string> block(const std::string& text, const std::string& kind) {
  const std::string fence = "```" + kind + "\n";
  const size_t begin = text.find(fence);
  EXPECT_NE(begin, std::string::npos);
  std::istringstream body(
      text.substr(begin + fence.size(), text.find("```", begin + 3) - begin - fence.size()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(body, line);) lines.push_back(line);
  return lines;
}

TEST(DslPage, ListsEveryFunctionAsItIs) {
  const std::string text = page();
  const std::string table = text.substr(text.find("## Functions"));
  std::set<std::string> listed;
  const std::regex signature("`([a-z_0-9]+\\([^`]*\\))`");
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    const std::string first_column = line.substr(0, line.find(" | "));
    for (std::sregex_iterator at(first_column.begin(), first_column.end(), signature), end;
         at != end; ++at)
      listed.insert((*at)[1]);
  }
  const auto all = function_signatures();
  EXPECT_EQ(listed, std::set<std::string>(all.begin(), all.end()));
}

TEST(DslPage, ExamplesHaveTheTypesThatItSays) {
  const Var n{"n", 1, 9};
  const auto type = [&](const char* name, const char* written) {
    const auto decl = parse_type(written, std::span(&n, 1));
    return Binding{name, decl->dtype, decl->shape, ir::InputKind::argument, nullptr};
  };
  const Binding inputs[] = {type("x", "n, 4"), type("w", "4, 3"), type("i", "i32[5]")};
  size_t examples = 0;
  for (const std::string& line : block(page(), "dsl")) {
    const size_t comment = line.find("  # ");
    ASSERT_NE(comment, std::string::npos) << line;
    const auto graph = build(line.substr(0, comment), inputs, std::span(&n, 1));
    ASSERT_TRUE(graph) << graph.error().message;
    const ir::Node& out = graph->node(graph->outputs()[0].node);
    EXPECT_EQ(std::string(name_of(out.dtype)) + to_string(out.shape), line.substr(comment + 4))
        << line;
    ++examples;
  }
  EXPECT_GE(examples, 15u);
}

TEST(DslPage, ShowsARealProgram) {
  std::string program;
  for (const std::string& line : block(page(), "program")) program += line + "\n";
  const auto graph = build(program, {}, {});
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->inputs().size(), 3u);
  ASSERT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->outputs()[0].name, "y");
  EXPECT_EQ(graph->outputs()[1].name, "total");
  EXPECT_EQ(to_string(graph->node(graph->outputs()[0].node).shape), "[s, 64]");
}

TEST(DslPage, ShowsARealError) {
  const auto lines = block(page(), "error");
  ASSERT_EQ(lines.size(), 3u);
  const auto graph = build(lines[1].substr(2), {}, {});
  ASSERT_FALSE(graph);
  // The page leaves out what an unbound A would be reported as: with inputs bound, the function is
  // the first offence.
  const Binding inputs[] = {{"A", DType::f32, {2, 2}, ir::InputKind::argument, nullptr},
                            {"B", DType::f32, {2, 2}, ir::InputKind::argument, nullptr}};
  EXPECT_EQ(build(lines[1].substr(2), inputs, {}).error().message,
            lines[0] + "\n" + lines[1] + "\n" + lines[2]);
}

}  // namespace
}  // namespace ost::dsl
