// docs/kir.md is compared with the sources: its tables, and the kernels that it shows.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

constexpr std::string_view kAttrNames[] = {"none",    "bits",      "access",   "slot",
                                           "role",    "rare",      "rounding", "reduction",
                                           "extreme", "dimension", "count",    "unroll"};

std::string page() {
  std::ifstream file("docs/kir.md");  // tests run in the source folder
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows of every table whose header starts with this cell.
std::vector<std::vector<std::string>> table(const std::string& text,
                                            const std::string& first_header) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| " + first_header + " |")) {
      inside = true;
      std::getline(lines, line);  // the dashes
      continue;
    }
    inside = inside && line.starts_with("|");
    if (!inside) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) {
      const size_t from = cell.find_first_not_of(" `");
      const size_t to = cell.find_last_not_of(" `");
      cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
    }
    rows.push_back(cells);
  }
  return rows;
}

TEST(KirPage, ListsEveryOperationAsTheSourcesDo) {
  const auto rows = table(page(), "name");
  ASSERT_EQ(rows.size(), all_ops().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const OpInfo& op = all_ops()[i];
    EXPECT_EQ(rows[i][0], op.name);
    EXPECT_EQ(rows[i][1], fmt::format("{}", static_cast<uint16_t>(op.op))) << op.name;
    EXPECT_EQ(rows[i][2], fmt::format("{}..{}", op.min_src, op.max_src)) << op.name;
    EXPECT_EQ(rows[i][3], kAttrNames[static_cast<size_t>(op.attr)]) << op.name;
  }
}

TEST(KirPage, ListsEveryCombination) {
  std::set<std::string> names;
  for (const auto& row : table(page(), "combination")) {
    const auto combine = combine_from_name(row[0]);
    ASSERT_TRUE(combine) << row[0];
    EXPECT_EQ(row[1], fmt::format("{}", static_cast<uint32_t>(*combine)));
    names.insert(row[0]);
  }
  EXPECT_EQ(names.size(), 7u);
}

// The pairs of types of each row, checked against the one rounding that the verifier accepts.
TEST(KirPage, RoundingsAreThoseOfTheVerifier) {
  std::set<std::string> names;
  for (const auto& row : table(page(), "rounding")) {
    const auto rounding = rounding_from_name(row[0]);
    ASSERT_TRUE(rounding) << row[0];
    EXPECT_EQ(row[1], fmt::format("{}", *rounding));
    names.insert(row[0]);
  }
  EXPECT_EQ(names.size(), 3u);
  for (DType to : kAllDTypes) {
    for (DType from : kAllDTypes) {
      const bool exact = to == from || to == DType::boolean || from == DType::boolean ||
                         (is_int(to) && is_int(from));
      EXPECT_EQ(cast_rounding(to, from), exact          ? OST_KIR_CAST_WRAP
                                         : is_float(to) ? OST_KIR_CAST_RNE
                                                        : OST_KIR_CAST_SAT);
    }
  }
}

TEST(KirPage, RolesHaveTheirNames) {
  for (const auto& row : table(page(), "role")) EXPECT_TRUE(role_from_name(row[0])) << row[0];
}

TEST(KirPage, ShowsKernelsThatAreValid) {
  const std::string text = page();
  int kernels = 0;
  for (size_t at = text.find("```kir\n"); at != std::string::npos;
       at = text.find("```kir\n", at + 1)) {
    const size_t start = at + 7;
    const Result<Kernel> k = from_text(text.substr(start, text.find("```", start) - start));
    ASSERT_TRUE(k) << k.error().message;
    EXPECT_TRUE(verify(*k)) << verify(*k).error().message;
    if (k->level == 1) {
      EXPECT_TRUE(prove_bounds(*k)) << prove_bounds(*k).error().message;
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 0);
}

}  // namespace
}  // namespace ost::kir
