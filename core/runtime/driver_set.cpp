#include "core/runtime/driver_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/runtime/log.hpp"

namespace ost::runtime {
namespace {

// "version 1.0, ABI 1.0, devices: 1", and what else the driver can do.
std::string loaded_text(const Driver& driver) {
  const Plugin& plugin = driver.plugin();
  const size_t count = driver.devices().size(), run = driver.runnable();
  std::string text = fmt::format("version {}, ABI {}.{}, devices: {}", plugin.version,
                                 plugin.abi >> 16, plugin.abi & 0xffffu, run);
  if (count > run) text += fmt::format(", compiles for: {}", count - run);
  if (!driver.can_run()) text += "; " + driver.no_device_reason();
  return text;
}

}  // namespace

std::vector<DeviceEntry> entries_of(const Driver& driver) {
  std::vector<DeviceEntry> out;
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
    out.push_back(std::move(e));
  }
  return out;
}

DriverSet::DriverSet(LoadResult loaded, DriverOptions options)
    : options_(std::move(options)), records_(std::move(loaded.records)) {
  for (size_t i = 0; i < loaded.plugins.size(); ++i)
    slots_.push_back({std::move(loaded.plugins[i]), loaded.record_of[i]});
}

void DriverSet::make(Slot& slot) {
  if (std::exchange(slot.made, true)) return;
  LoadRecord& record = records_[slot.record];
  auto driver = Driver::create(slot.plugin, options_);
  if (!driver) {
    record.status = LoadStatus::failed;
    record.stage = LoadStage::driver;
    record.rule = driver.error().rule;
    record.reason = driver.error().message;
    log(LogLevel::warning, "plugin {}", to_string(record));
    return;
  }
  slot.driver = std::move(*driver);
  record.stage = LoadStage::devices;
  const bool has_devices = !slot.driver->devices().empty();
  record.status = has_devices ? LoadStatus::loaded : LoadStatus::failed;
  record.rule = has_devices ? 0 : slot.driver->no_device_rule();
  record.reason = has_devices ? loaded_text(*slot.driver) : slot.driver->no_device_reason();
  log(LogLevel::info, "plugin {}", to_string(record));
}

void DriverSet::make_all() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(complete_, true)) return;
  for (Slot& slot : slots_) {
    make(slot);
    if (slot.driver == nullptr) continue;
    all_.push_back(slot.driver);
    std::ranges::move(entries_of(*slot.driver), std::back_inserter(devices_));
  }
}

DriverPtr DriverSet::find(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const auto slot =
      std::ranges::find_if(slots_, [&](const Slot& s) { return s.plugin->name == name; });
  if (slot == slots_.end()) return nullptr;
  make(*slot);
  return slot->driver;
}

std::span<const DriverPtr> DriverSet::all() {
  make_all();
  return all_;
}

std::span<const DeviceEntry> DriverSet::devices() {
  make_all();
  return devices_;
}

std::span<const LoadRecord> DriverSet::report() {
  make_all();
  return records_;
}

}  // namespace ost::runtime
