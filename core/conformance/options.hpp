// The command line of ost-conform.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ost::conform {

// Levels [first, last].
struct LevelRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool has(uint32_t level) const { return first <= level && level <= last; }
};
// "2" or "0-2"; nothing if it is neither, or names a level that does not exist.
std::optional<LevelRange> parse_levels(std::string_view text);

struct Options {
  std::string subject;  // a plugin's file or a device
  uint32_t device = 0;
  std::optional<LevelRange> levels;         // only these
  std::string only;                         // a glob of case names
  std::vector<std::string> driver_options;  // NAME=VALUE
  std::string expect_file;
  std::string junit_file;
  bool json = false;
  bool verbose = false;
  bool list = false;
  bool in_process = false;
  uint64_t seed = 0;
  uint32_t timeout_s = 120;
  // Of a worker: the first case to run, and the descriptor for its findings.
  std::optional<uint64_t> worker_from;
  int worker_fd = -1;
};

// Exit codes, those of `ost` where they mean the same.
enum ExitCode {
  kOk = 0,
  kFindings = 1,  // a case failed, or an expected failure did not
  kUsage = 2,
  kBadInput = 3,
  kUnavailable = 4,  // no such file, plugin or device, or it does not load
  kInternal = 70,
};

// An exit code if the program should end.
std::optional<int> parse_options(int argc, char** argv, Options& out);

}  // namespace ost::conform
