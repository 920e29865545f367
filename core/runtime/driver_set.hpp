// The drivers of the plugins that loaded. Each is made when somebody asks for it: making one opens
// its vendor's libraries, which a program on another device would pay for without use.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/driver.hpp"
#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime {

struct DeviceEntry {
  std::string id;  // "cpu:0", "hip:gfx90a" if it only compiles
  std::string driver;
  uint32_t index = 0;  // within the driver
  ost_device_info_t info{};
  bool available = false;  // as far as is known without opening it
  bool compile_only = false;
  std::string reason;  // why it is not available
};

std::vector<DeviceEntry> entries_of(const Driver& driver);

// Any thread. What all(), devices() and report() hand out stays as long as the set.
class DriverSet {
 public:
  DriverSet(LoadResult loaded, DriverOptions options);

  // Null if no plugin has this name, or its driver could not be made: report() says which.
  DriverPtr find(std::string_view name);

  // These make all drivers first. Drivers without a device are among them: they may compile.
  std::span<const DriverPtr> all();
  std::span<const DeviceEntry> devices();  // in the order found
  std::span<const LoadRecord> report();

 private:
  struct Slot {
    PluginPtr plugin;
    size_t record;  // index into records_
    bool made = false;
    DriverPtr driver = nullptr;  // it could not be made
  };
  void make(Slot& slot);
  void make_all();

  std::mutex mutex_;
  DriverOptions options_;
  std::vector<Slot> slots_;
  std::vector<LoadRecord> records_;
  bool complete_ = false;
  std::vector<DriverPtr> all_;  // once complete, as is what follows
  std::vector<DeviceEntry> devices_;
};

}  // namespace ost::runtime
