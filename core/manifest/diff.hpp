// What differs between two verified programs, by structure: kernels are compared by hash, steps as
// a sequence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/manifest/json.hpp"
#include "core/schedule/program.hpp"

namespace ost::manifest {

struct Difference {
  std::string section;  // "input", "kernel", "step", ...
  std::string name;
  std::optional<std::string> before;  // absent: added
  std::optional<std::string> after;   // absent: removed
  std::vector<std::string> lines;  // of a changed kernel: instructions with "- " or "+ " in front
};

// Empty if the programs do the same thing in the same way. Reasons (groups) are not compared.
std::vector<Difference> diff(const Program& a, const Program& b);

std::string diff_text(
    const std::vector<Difference>& differences);  // "- input x: ...\n+ input x: ...\n"
json::array diff_json(const std::vector<Difference>& differences);

}  // namespace ost::manifest
