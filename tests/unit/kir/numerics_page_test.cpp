// docs/numerics.md names the tests that hold its rules: they must exist.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace ost::kir::testing {
namespace {

std::set<std::string> all_tests() {
  std::set<std::string> names;
  const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k)
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(k)->name());
  }
  return names;
}

TEST(NumericsPage, NamesOnlyTestsThatExist) {
  std::ifstream page("docs/numerics.md");
  ASSERT_TRUE(page) << "run the tests from the root of the source tree";
  const std::set<std::string> known = all_tests();
  const std::regex name("`([A-Za-z0-9/]+\\.[A-Z][A-Za-z0-9]+(/[a-z0-9]+)?)`");
  int found = 0;
  for (std::string line; std::getline(page, line);) {
    for (std::sregex_iterator m(line.begin(), line.end(), name), end; m != end; ++m, ++found)
      EXPECT_TRUE(known.contains((*m)[1]))
          << (*m)[1] << " is named in docs/numerics.md and does not exist";
  }
  EXPECT_GT(found, 25);
}

}  // namespace
}  // namespace ost::kir::testing
