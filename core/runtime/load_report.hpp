// What became of each plugin that was looked at: the load report of `ost plugins` and `ost doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ost::runtime {

enum class LoadStatus : uint8_t { loaded, skipped, failed };

// The step of loading that a candidate reached, in the order in which they happen.
enum class LoadStage : uint8_t {
  discover,   // finding the discovery file or the library
  manifest,   // reading the discovery file
  filter,     // OSTINATO_PLUGINS
  open,       // dlopen
  entry,      // ost_plugin_negotiate is exported
  negotiate,  // ABI version, name, sanitizer
  table,      // the driver table is complete
  driver,     // driver_create
  devices,    // device_count and device_info; where a loaded plugin ends
};

struct LoadRecord {
  std::string
      path;  // of the discovery file, or of the library if it was given directly; "(built in)"
  std::string library;  // absolute, as far as known
  std::string driver;   // driver name, as far as known
  LoadStatus status = LoadStatus::failed;
  LoadStage stage = LoadStage::discover;
  uint32_t rule = 0;   // rule of plugin.h that is broken, 0 if none
  std::string reason;  // the cause in full; for a loaded plugin its version and devices
};

std::string_view name_of(LoadStatus status);
std::string_view name_of(LoadStage stage);

// "path: failed at open (rule 14): libfoo.so.1: cannot open shared object file".
std::string to_string(const LoadRecord& record);

}  // namespace ost::runtime
