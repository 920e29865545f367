#include "core/runtime/target.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>

namespace ost::runtime {
namespace {

using Info = ost_device_info_t;

bool only_compiles(const Info& info) { return (info.flags & OST_DEVICE_COMPILE_ONLY) != 0; }

// How much of `key` is the target of the device: all of it, or what comes before a ':'; 0: nothing.
size_t shared(const Info& info, std::string_view key) {
  const std::string_view target = info.target;
  if (target.empty() || !key.starts_with(target)) return 0;
  return key.size() == target.size() || key[target.size()] == ':' ? target.size() : 0;
}

// The device whose target the key is, or refines by the most; null if there is none.
const Info* nearest(std::span<const Info> devices, std::string_view key) {
  const Info* best = nullptr;
  for (const Info& info : devices) {
    if (shared(info, key) > (best == nullptr ? 0 : shared(*best, key))) best = &info;
  }
  return best;
}

Result<Target> with_key(const DriverPtr& driver, const Info& like, std::string_view key) {
  Target out{driver, like};
  out.info.size = sizeof out.info;
  if (key.empty() || key.size() >= sizeof out.info.target)
    return fail(OST_INVALID_ARGUMENT, "target '{}:{}': wanted DRIVER, DRIVER:INDEX or DRIVER:KEY",
                driver->name(), key);
  std::memset(out.info.target, 0, sizeof out.info.target);
  std::memcpy(out.info.target, key.data(), key.size());
  return out;
}

std::optional<uint32_t> index_of(std::string_view text) {
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.size() > 3 || error != std::errc() || end != text.data() + text.size()) return {};
  return index;
}

// All that can be named, with those of one driver together.
std::string candidates(const DeviceRegistry& registry) {
  std::vector<std::string> ids;
  for (const DeviceEntry& e : registry.devices()) ids.push_back(e.id);
  return fmt::format("{}", fmt::join(ids, ", "));
}

Result<Target> of_driver(const DriverPtr& driver, std::string_view text, std::string_view rest) {
  const auto devices = driver->devices();
  if (const auto index = index_of(rest)) {
    if (*index < devices.size() && !only_compiles(devices[*index]))
      return Target{driver, devices[*index]};
    const auto count = std::ranges::count_if(devices, std::not_fn(only_compiles));
    return fail(OST_UNAVAILABLE,
                "target '{}': driver {} found {} devices{}{}; name a target key instead: {}:KEY",
                text, driver->name(), count, driver->can_run() ? "" : ": ",
                driver->no_device_reason(), driver->name());
  }
  const Info* like = nearest(devices, rest);
  if (like == nullptr && !devices.empty()) like = &devices[0];
  return with_key(driver, like == nullptr ? Info{} : *like, rest);
}

// A target key without its driver.
Result<Target> of_any_driver(const DeviceRegistry& registry, std::string_view text) {
  std::optional<Result<Target>> found;
  std::vector<std::string> names;
  for (const DriverPtr& driver : registry.drivers()) {
    const Info* like = nearest(driver->devices(), text);
    if (like == nullptr) continue;
    names.push_back(fmt::format("{}:{}", driver->name(), text));
    if (!found) found = with_key(driver, *like, text);
  }
  if (names.size() > 1)
    return fail(OST_INVALID_ARGUMENT, "target '{}' is one of several drivers; name one: {}", text,
                fmt::join(names, ", "));
  if (found) return std::move(*found);
  Error error = registry.unknown_device(text);
  error.message =
      fmt::format("target '{}': {}; targets here: {}", text, error.message, candidates(registry));
  return std::unexpected(std::move(error));
}

}  // namespace

Result<Target> find_target(const DeviceRegistry& registry, std::string_view text) {
  const size_t colon = text.find(':');
  if (const DriverPtr driver = registry.find_driver(text.substr(0, colon)))
    return of_driver(driver, text, colon == std::string_view::npos ? "0" : text.substr(colon + 1));
  return of_any_driver(registry, text);
}

}  // namespace ost::runtime
