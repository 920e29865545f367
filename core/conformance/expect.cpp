#include "expect.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace ost::conform {

bool glob_fits(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

Result<std::vector<Expectation>> read_expectations(const std::string& file) {
  std::ifstream in(file);
  if (!in) return fail(OST_IO_ERROR, "{}: {}", file, std::strerror(errno));
  std::vector<Expectation> out;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first.starts_with('#')) continue;
    Expectation e;
    e.line = line;
    const bool is_level =
        first.size() == 1 && first[0] >= '0' && first[0] < static_cast<char>('0' + kLevels);
    if (is_level) e.level = static_cast<uint32_t>(first[0] - '0');
    words >> e.glob;
    std::getline(words >> std::ws, e.reason);
    if (!is_level || e.glob.empty() || e.reason.empty()) {
      return fail(
          OST_INVALID_ARGUMENT,
          "{}:{}: found \"{}\", wanted a level (0 to {}), a glob of case names and a reason", file,
          number, line, kLevels - 1);
    }
    out.push_back(std::move(e));
  }
  return out;
}

void mark_expected(std::span<const Expectation> expectations, Report& report) {
  for (const Expectation& e : expectations) {
    if (std::ranges::find(report.levels, e.level) == report.levels.end()) continue;
    bool used = false;
    for (Finding& f : report.findings) {
      // What the device has not got cannot fail, so it is not part of the expectation.
      if (f.level != e.level || !glob_fits(e.glob, f.name) ||
          f.outcome.verdict == Verdict::unsupported)
        continue;
      used = true;
      if (f.expected.empty()) f.expected = e.reason;
    }
    if (!used) report.stale.push_back(e.line);
  }
}

}  // namespace ost::conform
