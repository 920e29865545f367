// The failures that somebody knows of: a file with one a line, "LEVEL GLOB REASON...". A case that
// fits and passes is a finding, and so is a line that fits no case: the list never rots.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report.hpp"

namespace ost::conform {

struct Expectation {
  uint32_t level = 0;
  std::string glob;
  std::string reason;
  std::string line;  // as written
};

Result<std::vector<Expectation>> read_expectations(const std::string& file);
bool glob_fits(const std::string& glob, const std::string& name);

// Marks the findings that an expectation fits, and collects the lines that fit none.
void mark_expected(std::span<const Expectation> expectations, Report& report);

}  // namespace ost::conform
