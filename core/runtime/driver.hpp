// A driver: a plugin that was created in this process. One per plugin file and process, whoever
// asks (rule of driver_create); it lives as long as something made from it.
#pragma once

#include <ostinato/plugin.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime {

class Device;
using DevicePtr = std::shared_ptr<Device>;
class Driver;
using DriverPtr = std::shared_ptr<Driver>;

// "threads" -> "4" for all drivers, "cpu.threads" -> "4" for one, which wins. Read when a driver is
// created.
using DriverOptions = std::map<std::string, std::string, std::less<>>;

// Whether a device proved that it computes the bits that KIR defines.
struct SelfTestResult {
  bool ran = false;
  bool exact = false;
  std::string reason;  // first item that failed, with found and wanted; "" if exact
};

class CompileCache;

struct OpenOptions {
  bool self_test = true;
  std::shared_ptr<CompileCache>
      cache;  // for the kernels of the self-test; null: they are compiled each time
};

struct CompileRequest {
  uint32_t form = OST_FORM_KIR_L1;
  std::span<const uint8_t> code;
  std::string entry;
  std::string target;
  std::string options;
};

struct Fit {
  ost_fit_t fit = OST_FIT_UNUSABLE;
  std::string reason;
};

class Driver : public std::enable_shared_from_this<Driver> {
 public:
  // The driver of this plugin in this process, made if there is none. `options` matter only where
  // it is made.
  static Result<DriverPtr> create(const PluginPtr& plugin, const DriverOptions& options);
  ~Driver();

  const std::string& name() const { return plugin_->name; }
  const Plugin& plugin() const { return *plugin_; }
  const ost_driver_table_t& table() const { return plugin_->table.entries; }
  const DriverTable& features() const { return plugin_->table; }
  ost_driver_t* handle() const { return handle_; }

  // What the driver found when it was created.
  std::span<const ost_device_info_t> devices() const { return devices_; }
  // "cpu:0"; "hip:gfx90a" of a device that only compiles.
  std::string device_id(uint32_t index) const;
  size_t runnable() const;  // devices that are not compile-only
  bool can_run() const { return runnable() > 0; }
  // Why no device runs; "" if one does.
  const std::string& no_device_reason() const { return no_device_reason_; }
  uint32_t no_device_rule() const { return no_device_rule_; }  // the broken one, 0 if none

  // The device, opened once per process and shared by all who ask.
  Result<DevicePtr> open(uint32_t index, const OpenOptions& options = {});

  // These need no device and may be called from any thread.
  Result<std::string> compiler_key(std::string_view target) const;
  // `log`: what the compiler said, also when it succeeds; may be null.
  Result<std::vector<uint8_t>> compile(const CompileRequest& request, std::string* log) const;
  Result<Fit> image_check(const ost_device_info_t& info, std::span<const uint8_t> image) const;

 private:
  struct HostContext;
  Driver() = default;
  static Result<std::unique_ptr<Driver>> make(const PluginPtr& plugin,
                                              const DriverOptions& options);
  Result<> read_devices();

  PluginPtr plugin_;
  std::unique_ptr<HostContext> host_;
  ost_driver_t* handle_ = nullptr;
  std::vector<ost_device_info_t> devices_;
  std::string no_device_reason_;
  uint32_t no_device_rule_ = 0;
  std::mutex mutex_;  // of what follows
  std::vector<std::weak_ptr<Device>> open_;
  std::vector<SelfTestResult> self_tests_;
};

std::string_view device_kind_name(uint32_t kind);  // "CPU", "GPU", "accelerator", "reference"
// An error that a plugin returned, with its name in front.
Error error_of(ost_status_t status, const ost_error_t& error, std::string_view where);

}  // namespace ost::runtime
