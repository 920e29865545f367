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

ptrdiff_t runnable(const Driver& driver) {
  return std::ranges::count_if(driver.devices(), [](const ost_device_info_t& info) {
    return (info.flags & OST_DEVICE_COMPILE_ONLY) == 0;
  });
}

std::string device_list(const std::vector<DriverPtr>& drivers) {
  std::string out;
  for (const DriverPtr& d : drivers)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", d->name(), runnable(*d));
  return out;
}

// "version 1.0, ABI 1.0, devices: 1", and what else the driver can do.
std::string loaded_text(const Driver& driver) {
  const Plugin& plugin = driver.plugin();
  const auto count = static_cast<ptrdiff_t>(driver.devices().size());
  std::string text = fmt::format("version {}, ABI {}.{}, devices: {}", plugin.version,
                                 plugin.abi >> 16, plugin.abi & 0xffffu, runnable(driver));
  if (count > runnable(driver)) text += fmt::format(", compiles for: {}", count - runnable(driver));
  if (!driver.can_run()) text += "; " + driver.no_device_reason();
  return text;
}

}  // namespace

std::shared_ptr<DeviceRegistry> DeviceRegistry::create(const RegistryOptions& options) {
  std::shared_ptr<DeviceRegistry> out(new DeviceRegistry);
  out->cache_ = options.cache ? options.cache : CompileCache::open_default();
  const DriverOptions driver_options = effective_options(options);
  LoadResult loaded = load_plugins(options.loader);
  out->report_ = std::move(loaded.records);
  for (size_t i = 0; i < loaded.plugins.size(); ++i) {
    out->add_driver(loaded.plugins[i], driver_options, out->report_[loaded.record_of[i]]);
  }
  LoadRecord record;
  record.path = "(built in)";
  record.driver = "ref";
  if (auto ref = negotiate_with(&ref_negotiate)) {
    ref->path = record.path;
    out->add_driver(std::make_shared<const Plugin>(std::move(*ref)), driver_options, record);
  } else {
    record.stage = ref.error().stage;
    record.rule = ref.error().rule;
    record.reason = ref.error().reason;
  }
  out->report_.push_back(std::move(record));
  return out;
}

void DeviceRegistry::add_driver(const PluginPtr& plugin, const DriverOptions& options,
                                LoadRecord& record) {
  auto driver = Driver::create(plugin, options);
  if (!driver) {
    record.status = LoadStatus::failed;
    record.stage = LoadStage::driver;
    record.rule = driver.error().rule;
    record.reason = driver.error().message;
    log(LogLevel::warning, "plugin {}", to_string(record));
    return;
  }
  record.stage = LoadStage::devices;
  if ((*driver)->devices().empty()) {
    record.status = LoadStatus::failed;
    record.rule = (*driver)->no_device_rule();
    record.reason = (*driver)->no_device_reason();
    log(LogLevel::info, "plugin {}", to_string(record));
  } else {
    record.status = LoadStatus::loaded;
    record.reason = loaded_text(**driver);
    log(LogLevel::info, "plugin {}", to_string(record));
  }
  drivers_.push_back(*driver);  // without devices too: it may compile for targets that are not here
  add_devices(**driver);
}

void DeviceRegistry::add_devices(Driver& driver) {
  for (uint32_t i = 0; i < driver.devices().size(); ++i) {
    DeviceEntry e;
    e.info = driver.devices()[i];
    e.id = driver.device_id(i);
    e.driver = driver.name();
    e.index = i;
    e.compile_only = (e.info.flags & OST_DEVICE_COMPILE_ONLY) != 0;
    e.available = (e.info.flags & (OST_DEVICE_COMPILE_ONLY | OST_DEVICE_UNUSABLE)) == 0;
    e.reason = e.info.reason;
    if (!e.available && e.reason.empty()) e.reason = "the driver gives no reason";
    devices_.push_back(std::move(e));
  }
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
  for (const DeviceEntry& e : devices_) {
    if (e.id == full) return open(e, options);
  }
  return std::unexpected(unknown_device(id));
}

Result<DriverPtr> DeviceRegistry::driver(std::string_view name) const {
  for (const DriverPtr& d : drivers_) {
    if (d->name() == name) return d;
  }
  return std::unexpected(unknown_device(name));
}

Result<DevicePtr> DeviceRegistry::open(const DeviceEntry& entry, OpenOptions options) {
  if (!options.cache) options.cache = cache_;
  for (const DriverPtr& d : drivers_) {
    if (d->name() == entry.driver) return d->open(entry.index, options);
  }
  return fail(OST_INTERNAL, "device {} has no driver", entry.id);
}

Result<DevicePtr> DeviceRegistry::choose(const OpenOptions& options) {
  std::vector<const DeviceEntry*> order;
  for (const DeviceEntry& e : devices_) order.push_back(&e);
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
  for (const LoadRecord& r : report_) {
    if (r.driver == driver && r.status != LoadStatus::loaded)
      why = fmt::format("; plugin {}", to_string(r));
  }
  for (const DriverPtr& d : drivers_) {
    if (why.empty() && d->name() == driver && !d->can_run())
      why = fmt::format("; {} has none that runs: {}", driver, d->no_device_reason());
  }
  if (why.empty()) {
    const DeviceEntry* nearest = nullptr;
    size_t distance = 3;  // more than two letters apart is another name
    for (const DeviceEntry& e : devices_) {
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
                           id, why, device_list(drivers_)),
               0, 0, 0};
}

}  // namespace ost::runtime
