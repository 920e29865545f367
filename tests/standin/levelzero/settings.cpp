// Settings, refusals on stderr, failures on request, and whether the device is lost.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "standin.hpp"

namespace standin {
namespace {

std::string text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}
uint64_t number(const char* name, uint64_t otherwise) {
  return std::strtoull(text(name, std::to_string(otherwise).c_str()).c_str(), nullptr, 0);
}

std::atomic<bool> lost{false};

Settings read_settings() {
  const uint64_t memory = number("OST_ZE_MEMORY", uint64_t{2} << 30);
  return {static_cast<int>(number("OST_ZE_DEVICES", 1)),
          number("OST_ZE_GUARD", 0) != 0,
          number("OST_ZE_REVERSE", 0) != 0,
          number("OST_ZE_LEAKS", 0) != 0,
          number("OST_ZE_NO_FP64", 0) == 0,
          number("OST_ZE_IMPORT", 0) != 0,
          static_cast<uint32_t>(number("OST_ZE_GROUP", 512)),
          memory,
          number("OST_ZE_MAX_ALLOC", memory / 4),
          text("OST_ZE_TRANSLATOR", OST_ZE_DEFAULT_TRANSLATOR),
          text("OST_ZE_CACHE", ""),
          text("OST_ZE_FAIL", "")};
}

}  // namespace

const Settings& settings() {
  static const Settings all = read_settings();
  return all;
}

void say(const char* call, const std::string& text) {
  std::fprintf(stderr, "levelzero test driver: %s: %s\n", call, text.c_str());
}

ze_result_t injected(const char* call) {
  static std::atomic<uint64_t> calls{0};
  const std::string& spec = settings().fail;
  const size_t first = spec.find(':'), second = spec.find(':', first + 1);
  if (second == std::string::npos || spec.compare(0, first, call) != 0) return ZE_RESULT_SUCCESS;
  if (++calls != std::strtoull(spec.c_str() + first + 1, nullptr, 0)) return ZE_RESULT_SUCCESS;
  const auto code = static_cast<ze_result_t>(std::strtoul(spec.c_str() + second + 1, nullptr, 0));
  if (code == ZE_RESULT_ERROR_DEVICE_LOST) lose_device(call, "fails as it was asked to");
  return code;
}

void lose_device(const char* call, const std::string& why) {
  if (!lost.exchange(true)) say(call, "the device is lost: " + why);
}
bool device_lost() { return lost; }

uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace standin
