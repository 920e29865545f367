#include "case.hpp"

namespace ost::conform {

std::string_view level_name(uint32_t level) {
  constexpr std::string_view kNames[kLevels] = {"load and rules",         "memory, map, copy, fill",
                                                "compile and run",        "queues and timelines",
                                                "command lists, capture", "pairs of devices"};
  return level < kLevels ? kNames[level] : "unknown";
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  add_load_cases(out);
  add_memory_cases(out);
  add_kernel_cases(out);
  add_queue_cases(out);
  add_list_cases(out);
  add_pair_cases(out);
  return out;
}

}  // namespace ost::conform
