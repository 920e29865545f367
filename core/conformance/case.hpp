// One check of the kit and its verdict. A check never throws; what it finds is an Outcome, and an
// Error of the runtime turns into a failed one, so OST_TRY works inside a check.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ost::conform {

class Lab;

enum class Verdict : uint8_t { passed, failed, unsupported };

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string reason;  // for failed and unsupported: never empty
  std::string detail;  // more lines for whoever mends it: the kernel as text

  Outcome() = default;
  Outcome(Verdict v, std::string why) : verdict(v), reason(std::move(why)) {}
  Outcome(Error e)  // NOLINT: what OST_TRY returns
      : verdict(Verdict::failed), reason(std::move(e.message)) {
    if (e.rule != 0) reason += fmt::format(" (rule {})", e.rule);
  }
};

using Check = std::expected<void, Outcome>;

template <typename... Args>
std::unexpected<Outcome> failed(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(
      Outcome(Verdict::failed, fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
std::unexpected<Outcome> unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(
      Outcome(Verdict::unsupported, fmt::format(format, std::forward<Args>(args)...)));
}

struct Case {
  uint32_t level = 0;
  std::string name;  // unique within its level: "add.f32.fixed"
  std::string cell;  // level 2: "add.f32", what the coverage figure counts; "" otherwise
  std::function<Check(Lab&)> run;
};

inline constexpr uint32_t kLevels = 6;
std::string_view level_name(uint32_t level);

// In the order in which they run; the same for every process of this build.
std::vector<Case> all_cases();
void add_load_cases(std::vector<Case>& out);    // L0
void add_memory_cases(std::vector<Case>& out);  // L1
void add_kernel_cases(std::vector<Case>& out);  // L2
void add_queue_cases(std::vector<Case>& out);   // L3
void add_list_cases(std::vector<Case>& out);    // L4
void add_pair_cases(std::vector<Case>& out);    // L5

}  // namespace ost::conform

// CONFORM_EXPECT(x == 3, "x is {}, wanted 3", x);
#define CONFORM_EXPECT(condition, ...)                            \
  do {                                                            \
    if (!(condition)) return ::ost::conform::failed(__VA_ARGS__); \
  } while (0)
