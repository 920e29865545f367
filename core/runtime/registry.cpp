#include "core/runtime/registry.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/runtime/env.hpp"
#include "core/runtime/log.hpp"
#include "core/runtime/ref_driver.hpp"

namespace ost::runtime {
namespace {

// "a=1;cpu.b=2" into options; what has no '=' is ignored with a warning.
void add_options(std::string_view text, DriverOptions& out) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = text.substr(0, end);
    const size_t equals = part.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      out[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    } else if (!part.empty()) {
      log(LogLevel::warning, "OSTINATO_OPTIONS: \"{}\" is not name=value and is ignored", part);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

DriverOptions effective_options(const RegistryOptions& options) {
  DriverOptions out;
  if (options.loader.environment) {
    if (const auto threads = env("OSTINATO_THREADS")) out["threads"] = *threads;
    add_options(env("OSTINATO_OPTIONS").value_or(""), out);
  }
  for (const auto& [name, value] : options.driver_options) out[name] = value;
  return out;
}

// "auto" takes the highest that opens and is exact.
int rank(const ost_device_info_t& info) {
  switch (info.kind) {
    case OST_DEVICE_KIND_GPU:
      return 3;
    case OST_DEVICE_KIND_ACCELERATOR:
      return 2;
    case OST_DEVICE_KIND_CPU:
      return 1;
    default:
      return 0;
  }
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

std::string driver_part(std::string_view id) { return std::string(id.substr(0, id.find(':'))); }

std::string device_list(std::span<const DriverPtr> drivers) {
  std::string out;
  for (const DriverPtr& d : drivers)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", d->name(), d->runnable());
  return out;
}

// The built-in driver, behind the others.
void add_ref(LoadResult& loaded) {
  LoadRecord record;
  record.path = "(built in)";
  record.driver = "ref";
  if (auto ref = negotiate_with(&ref_negotiate)) {
    ref->path = record.path;
    loaded.plugins.push_back(std::make_shared<const Plugin>(std::move(*ref)));
    loaded.record_of.push_back(loaded.records.size());
  } else {
    record.stage = ref.error().stage;
    record.rule = ref.error().rule;
    record.reason = ref.error().reason;
  }
  loaded.records.push_back(std::move(record));
}

}  // namespace

std::shared_ptr<DeviceRegistry> DeviceRegistry::create(const RegistryOptions& options) {
  std::shared_ptr<DeviceRegistry> out(new DeviceRegistry);
  out->cache_ = options.cache ? options.cache : CompileCache::open_default();
  LoadResult loaded = load_plugins(options.loader);
  add_ref(loaded);
  out->set_ = std::make_unique<DriverSet>(std::move(loaded), effective_options(options));
  return out;
}

std::vector<DeviceChoice> DeviceRegistry::choices() const {
  const std::scoped_lock lock(mutex_);
  return choices_;
}

Result<DevicePtr> DeviceRegistry::get(std::string_view id, const OpenOptions& options) {
  if (id.empty() || id == "auto") {
    const auto named = env("OSTINATO_DEVICE");
    if (!named || *named == "auto") return choose(options);
    auto device = get(*named, options);
    if (!device) return std::unexpected(device.error().in("OSTINATO_DEVICE"));
    return device;
  }
  const std::string full =
      id.find(':') == std::string_view::npos ? fmt::format("{}:0", id) : std::string(id);
  if (const DriverPtr driver = find_driver(driver_part(id))) {
    for (const DeviceEntry& e : entries_of(*driver))
      if (e.id == full) return open(e, options);
  }
  return std::unexpected(unknown_device(id));
}

Result<DriverPtr> DeviceRegistry::driver(std::string_view name) const {
  if (DriverPtr driver = find_driver(name)) return driver;
  return std::unexpected(unknown_device(name));
}

Result<DevicePtr> DeviceRegistry::open(const DeviceEntry& entry, OpenOptions options) {
  if (!options.cache) options.cache = cache_;
  if (const DriverPtr driver = find_driver(entry.driver)) return driver->open(entry.index, options);
  return fail(OST_INTERNAL, "device {} has no driver", entry.id);
}

Result<DevicePtr> DeviceRegistry::choose(const OpenOptions& options) {
  std::vector<const DeviceEntry*> order;
  for (const DeviceEntry& e : devices()) order.push_back(&e);
  std::ranges::stable_sort(order, [](auto* a, auto* b) { return rank(a->info) > rank(b->info); });
  DeviceChoice choice;
  Result<DevicePtr> out = fail(OST_UNAVAILABLE, "no device can be opened");
  for (const DeviceEntry* e : order) {
    auto device = e->available ? open(*e, options) : fail(OST_UNAVAILABLE, "{}", e->reason);
    if (device && (*device)->self_test().ran && !(*device)->self_test().exact) {
      device = fail(OST_UNAVAILABLE, "it is inexact ({}); name it to use it all the same",
                    (*device)->self_test().reason);
    }
    if (device) {
      choice.chosen = e->id;
      out = std::move(device);
      break;
    }
    // A compile-only device was never a candidate.
    if (!e->compile_only)
      choice.passed.push_back(fmt::format("{}: {}", e->id, device.error().message));
  }
  if (!choice.passed.empty()) {
    log(LogLevel::warning, "auto took {} and passed over {}",
        choice.chosen.empty() ? "nothing" : choice.chosen, fmt::join(choice.passed, "; "));
    if (env("OSTINATO_REQUIRE") == "1") {
      out = fail(OST_UNAVAILABLE, "OSTINATO_REQUIRE=1 and a better device does not open: {}",
                 fmt::join(choice.passed, "; "));
    }
  }
  const std::scoped_lock lock(mutex_);
  choices_.push_back(std::move(choice));
  return out;
}

Error DeviceRegistry::unknown_device(std::string_view id) const {
  const std::string driver = driver_part(id);
  std::string why;
  for (const LoadRecord& r : report()) {
    if (r.driver == driver && r.status != LoadStatus::loaded)
      why = fmt::format("; plugin {}", to_string(r));
  }
  const DriverPtr named = find_driver(driver);
  if (why.empty() && named != nullptr && !named->can_run())
    why = fmt::format("; {} has none that runs: {}", driver, named->no_device_reason());
  if (why.empty()) {
    const DeviceEntry* nearest = nullptr;
    size_t distance = 3;  // more than two letters apart is another name
    for (const DeviceEntry& e : devices()) {
      const size_t d = std::min(
          {edit_distance(id, e.id), edit_distance(id, e.driver), edit_distance(id, e.info.target)});
      if (d < distance) nearest = &e;
      distance = std::min(d, distance);
    }
    if (nearest != nullptr) why = fmt::format("; did you mean {}?", nearest->id);
  }
  return Error{OST_UNAVAILABLE,
               fmt::format("there is no device {}{} (drivers and their number of devices: {}; `ost "
                           "doctor` lists what was tried)",
                           id, why, device_list(drivers())),
               0, 0, 0};
}

}  // namespace ost::runtime
