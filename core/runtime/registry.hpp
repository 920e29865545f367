// All devices of this process: those of the plugins that loaded, and `ref`, which is always there.
//
// A device that is named is mandatory: it is that one or an error with the reason, and no other
// driver is made for it. "auto" may choose, and what it chose and passed over is recorded.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/compile_cache.hpp"
#include "core/runtime/device.hpp"
#include "core/runtime/driver_set.hpp"

namespace ost::runtime {

struct RegistryOptions {
  LoaderOptions loader;
  DriverOptions driver_options;         // over OSTINATO_OPTIONS and OSTINATO_THREADS
  std::shared_ptr<CompileCache> cache;  // for self-tests; null: the default one
};

// One decision that "auto" took.
struct DeviceChoice {
  std::string chosen;               // "" if none could be opened
  std::vector<std::string> passed;  // "hip:0: reason", better ones that were not taken
};

class DeviceRegistry {
 public:
  static std::shared_ptr<DeviceRegistry> create(const RegistryOptions& options = {});

  // These make the drivers of all plugins.
  std::span<const DeviceEntry> devices() const { return set_->devices(); }  // `ref` last
  std::span<const DriverPtr> drivers() const { return set_->all(); }
  std::span<const LoadRecord> report() const { return set_->report(); }
  std::vector<DeviceChoice> choices() const;

  // "cpu:0"; "cpu" is "cpu:0"; "auto" or "" choose (OSTINATO_DEVICE first, which is then
  // mandatory).
  Result<DevicePtr> get(std::string_view id, const OpenOptions& options = {});
  // For compiling without a device.
  Result<DriverPtr> driver(std::string_view name) const;
  DriverPtr find_driver(std::string_view name) const { return set_->find(name); }  // null: none
  // Why there is no such device: the load report knows, or it is misspelled.
  Error unknown_device(std::string_view id) const;

 private:
  DeviceRegistry() = default;
  Result<DevicePtr> open(const DeviceEntry& entry, OpenOptions options);
  Result<DevicePtr> choose(const OpenOptions& options);

  std::unique_ptr<DriverSet> set_;
  std::shared_ptr<CompileCache> cache_;
  mutable std::mutex mutex_;  // of choices_
  std::vector<DeviceChoice> choices_;
};

}  // namespace ost::runtime
