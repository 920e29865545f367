// docs/graph.md lists every operation, and its example is a graph.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "core/ir/graph.hpp"

namespace ost::ir {
namespace {

std::string page() {
  std::ifstream file("docs/graph.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << "docs/graph.md is read relative to the source folder";
  return text.str();
}

TEST(GraphPage, ListsEveryOperation) {
  const std::string text = page();
  std::istringstream lines(text.substr(text.find("## Operations"),
                                       text.find("## Order tags") - text.find("## Operations")));
  std::vector<std::string> listed, all;
  const std::regex name("`([a-z_0-9]+)`");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string first_column = line.substr(0, line.find(" | "));
    for (std::sregex_iterator at(first_column.begin(), first_column.end(), name), end; at != end;
         ++at)
      listed.push_back((*at)[1]);
  }
  for (int op = 0; op <= static_cast<int>(Op::copy); ++op)
    all.emplace_back(name_of(static_cast<Op>(op)));
  std::sort(listed.begin(), listed.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(listed, all);
}

TEST(GraphPage, ShowsAGraph) {
  const std::string text = page();
  const size_t begin = text.find("```graph\n") + 9;
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  const auto graph = parse(example);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(to_text(*graph), example);
  EXPECT_TRUE(verify(*graph));
}

TEST(OpNames, RoundTrip) {
  for (int op = 0; op <= static_cast<int>(Op::copy); ++op)
    EXPECT_EQ(op_from_name(name_of(static_cast<Op>(op))), static_cast<Op>(op));
  EXPECT_EQ(op_from_name("relux"), std::nullopt);
}

}  // namespace
}  // namespace ost::ir
