// What the kit found, in the forms in which it is told: text, JSON, JUnit.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace ost::conform {

struct Finding {
  uint32_t level = 0;
  std::string name;
  std::string cell;
  Outcome outcome;
  std::string expected;  // the reason of the --expect file that fits, "" if none
  double seconds = 0;

  bool is_surprise() const {  // what makes the kit fail
    const bool fell = outcome.verdict == Verdict::failed;
    return expected.empty() ? fell : outcome.verdict == Verdict::passed;
  }
};

// What is being tested, as its driver says.
struct Description {
  std::string device, name, driver, version, target, form;
};

struct Report {
  Description what;
  std::string subject;
  uint64_t seed = 0;
  std::vector<Finding> findings;
  std::vector<uint32_t> levels;    // that were run
  std::vector<std::string> stale;  // lines of the --expect file that fit no case

  // Cells of the grid, operation x element type: all of KIR, and those where a case really ran.
  size_t cells = 0, cells_tried = 0;
  bool succeeded() const;
};

// Reasons and how many cases have them; the names are joined to a glob where they are many.
struct Reason {
  std::string what, reason;
  size_t cases = 0;
};
std::vector<Reason> unsupported_reasons(const Report& report, uint32_t level);

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_junit(const Report& report);

}  // namespace ost::conform
