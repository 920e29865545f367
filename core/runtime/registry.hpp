// All devices of this process: those of the plugins that loaded, and `ref`, which is always there.
//
// A device that is named is mandatory: it is that one or an error with the reason. "auto" may
// choose, and what it chose and passed over is recorded.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/compile_cache.hpp"
#include "core/runtime/device.hpp"

namespace ost::runtime {

struct RegistryOptions {
  LoaderOptions loader;
  DriverOptions driver_options;         // over OSTINATO_OPTIONS and OSTINATO_THREADS
  std::shared_ptr<CompileCache> cache;  // for self-tests; null: the default one
};

struct DeviceEntry {
  std::string id;  // "cpu:0", "hip:gfx90a" if it only compiles
  std::string driver;
  uint32_t index = 0;  // within the driver
  ost_device_info_t info{};
  bool available = false;  // as far as is known without opening it
  bool compile_only = false;
  std::string reason;  // why it is not available
};

// One decision that "auto" took.
struct DeviceChoice {
  std::string chosen;               // "" if none could be opened
  std::vector<std::string> passed;  // "hip:0: reason", better ones that were not taken
};

class DeviceRegistry {
 public:
  static std::shared_ptr<DeviceRegistry> create(const RegistryOptions& options = {});

  std::span<const DeviceEntry> devices() const {
    return devices_;
  }  // in the order found, `ref` last
  std::span<const DriverPtr> drivers() const { return drivers_; }
  std::span<const LoadRecord> report() const { return report_; }
  std::vector<DeviceChoice> choices() const;

  // "cpu:0"; "cpu" is "cpu:0"; "auto" or "" choose (OSTINATO_DEVICE first, which is then
  // mandatory).
  Result<DevicePtr> get(std::string_view id, const OpenOptions& options = {});
  // For compiling without a device.
  Result<DriverPtr> driver(std::string_view name) const;
  // Why there is no such device: the load report knows, or it is misspelled.
  Error unknown_device(std::string_view id) const;

 private:
  DeviceRegistry() = default;
  void add_driver(const PluginPtr& plugin, const DriverOptions& options, LoadRecord& record);
  void add_devices(Driver& driver);
  Result<DevicePtr> open(const DeviceEntry& entry, OpenOptions options);
  Result<DevicePtr> choose(const OpenOptions& options);

  std::vector<DriverPtr> drivers_;
  std::vector<DeviceEntry> devices_;
  std::vector<LoadRecord> report_;
  std::shared_ptr<CompileCache> cache_;
  mutable std::mutex mutex_;  // of choices_
  std::vector<DeviceChoice> choices_;
};

}  // namespace ost::runtime
