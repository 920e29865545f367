// docs/fusion.md: every example says what the compiler makes of it.
#include <fstream>
#include <sstream>

#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

struct Example {
  std::string before, types, after;
};

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// "x: 4,4; memory_budget = 1000"
void read_types(const std::string& text, std::vector<TypedName>& types, ScheduleOptions& options) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const std::string item = trimmed(part);
    const std::string budget = "memory_budget = ";
    if (item.starts_with(budget)) {
      options.memory_budget = std::stoll(item.substr(budget.size()));
    } else {
      const size_t colon = item.find(": ");
      types.push_back({item.substr(0, colon), item.substr(colon + 2)});
    }
  }
}

std::string kernels_of(const Example& e) {
  std::vector<TypedName> types;
  ScheduleOptions options;
  read_types(e.types, types, options);
  const auto program = program_of(e.before, types, options);
  if (!program) return program.error().message;
  std::string out;
  for (const Group& g : program->groups)
    out += fmt::format("{}{}({})", out.empty() ? "" : ", ", name_of(g.kind), fmt::join(g.ops, " "));
  return out;
}

TEST(FusionPage, SaysWhatTheCompilerDoes) {
  std::ifstream file("docs/fusion.md");
  ASSERT_TRUE(file) << "docs/fusion.md is read relative to the source folder";
  std::string page, line;
  size_t examples = 0;
  while (std::getline(file, line)) {
    page += line + "\n";
    if (line != "```fusion") continue;
    Example e;
    for (auto [key, value] : {std::pair("before  ", &e.before), std::pair("types   ", &e.types),
                              std::pair("after   ", &e.after)}) {
      ASSERT_TRUE(std::getline(file, line) && line.starts_with(key)) << line;
      *value = line.substr(8);
    }
    const std::string got = kernels_of(e);
    EXPECT_EQ(e.after, got) << e.before;
    page += fmt::format("before  {}\ntypes   {}\nafter   {}\n", e.before, e.types, got);
    ++examples;
  }
  EXPECT_GE(examples, 20u);
  if (std::getenv("OSTINATO_WRITE_PAGES") != nullptr) std::ofstream("docs/fusion.md") << page;
}

}  // namespace
}  // namespace ost::test
