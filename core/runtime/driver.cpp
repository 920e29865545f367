#include "core/runtime/driver.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>

#include "core/runtime/call.hpp"
#include "core/runtime/device.hpp"
#include "core/runtime/guarded.hpp"
#include "core/runtime/layers/layers.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {
namespace {

constexpr uint32_t kMaxDevices = 1024;

template <size_t N>
bool has_end(const char (&array)[N]) {
  return std::memchr(array, 0, N) != nullptr;
}

// Drivers by their driver_create, which is a different one in each library. `alive` outlasts the
// last reference until driver_destroy has returned, so that there are never two drivers of one
// plugin.
struct LiveDrivers {
  struct Slot {
    std::weak_ptr<Driver> driver;
    bool alive = false;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<void*, Slot> slots;
};

LiveDrivers& live_drivers() {
  static LiveDrivers* const instance =
      new LiveDrivers;  // leaked: the last driver may go while the process ends
  return *instance;
}

void* identity_of(const Plugin& plugin) {
  return reinterpret_cast<void*>(plugin.table.entries.driver_create);
}

Result<> check_info(const ost_device_info_t& info, uint32_t index) {
  const auto bad = [index](std::string what, uint32_t rule) {
    return std::unexpected(
        Error{OST_INCOMPATIBLE, fmt::format("device {}: {}", index, what), 0, rule, 0});
  };
  if (!has_end(info.name) || !has_end(info.target) || !has_end(info.reason))
    return bad("a text has no end", 5);
  if (std::ranges::any_of(info.reserved, [](uint32_t field) { return field != 0; }))
    return bad("uses a reserved field of ost_device_info_t, which this host does not know", 2);
  if (info.form_count > OST_MAX_FORMS)
    return bad(fmt::format("has {} forms, wanted at most {}", info.form_count, OST_MAX_FORMS), 1);
  if ((info.flags & OST_DEVICE_UNUSABLE) != 0) return {};
  if (info.form_count == 0) return bad("accepts no kernel form", 9);
  if (info.min_align == 0 || (info.min_align & (info.min_align - 1)) != 0) {
    return bad(fmt::format("min_align is {}, wanted a power of two", info.min_align), 8);
  }
  return {};
}

}  // namespace

// What the plugin gets as ost_host_table_t; lives as long as the driver.
struct Driver::HostContext {
  ost_host_table_t table{};
  std::string driver;
  DriverOptions options;

  HostContext(const Plugin& plugin, const DriverOptions& all) : driver(plugin.name), options(all) {
    table.size = sizeof table;
    table.abi = plugin.abi;
    table.context = this;
    table.log = [](void* context, uint32_t level, ost_str_t message) {
      const auto& self = *static_cast<HostContext*>(context);
      const auto known = static_cast<LogLevel>(std::min<uint32_t>(level, OST_LOG_DEBUG));
      if (message.data == nullptr || !log_enabled(known)) return;
      log(known, "{}: {}", self.driver, std::string_view(message.data, message.size));
    };
    table.should_abort = [](void*) -> uint32_t { return 0; };
    table.option = [](void* context, const char* name) -> const char* {
      const auto& self = *static_cast<HostContext*>(context);
      if (name == nullptr) return nullptr;
      auto found = self.options.find(self.driver + "." + name);
      if (found == self.options.end()) found = self.options.find(name);
      return found == self.options.end() ? nullptr : found->second.c_str();
    };
  }
};

Error error_of(ost_status_t status, const ost_error_t& error, std::string_view where) {
  const std::string_view text(error.message, strnlen(error.message, sizeof error.message));
  Error e;
  e.status = status;
  e.message =
      fmt::format("{}: {}", where, text.empty() ? std::string_view(status_name(status)) : text);
  e.native_code = error.native_code;
  e.rule = error.rule;
  e.flags = error.flags;
  return e;
}

Result<DriverPtr> Driver::create(const PluginPtr& bare, const DriverOptions& options) {
  OST_TRY_ASSIGN(const PluginPtr plugin, with_layers(bare));
  LiveDrivers& live = live_drivers();
  std::unique_lock lock(live.mutex);
  LiveDrivers::Slot& slot = live.slots[identity_of(*plugin)];
  for (;;) {
    if (DriverPtr existing = slot.driver.lock()) return existing;
    if (!slot.alive) break;
    live.changed.wait(lock);
  }
  OST_TRY_ASSIGN(std::unique_ptr<Driver> made, make(plugin, options));
  const auto destroy = [&live, &slot](Driver* driver) {
    delete driver;
    const std::scoped_lock gone(live.mutex);
    slot.alive = false;
    live.changed.notify_all();
  };
  DriverPtr driver(made.release(), destroy);
  slot.driver = driver;
  slot.alive = true;
  return driver;
}

Result<std::unique_ptr<Driver>> Driver::make(const PluginPtr& plugin,
                                             const DriverOptions& options) {
  std::unique_ptr<Driver> driver(new Driver);
  driver->plugin_ = plugin;
  driver->host_ = std::make_unique<HostContext>(*plugin, options);
  OST_TRY(call(plugin->name, "driver_create", [&](ost_error_t* e) {
    return driver->table().driver_create(&driver->host_->table, &driver->handle_, e);
  }));
  if (driver->handle_ == nullptr)
    return fail(OST_INTERNAL, "{}: driver_create gave no driver", plugin->name);
  if (auto ok = driver->read_devices(); !ok) {
    log(LogLevel::warning, "{}", ok.error().message);
    driver->devices_.clear();
    driver->no_device_reason_ = ok.error().message;
    driver->no_device_rule_ = ok.error().rule;
  }
  driver->open_.resize(driver->devices_.size());
  driver->self_tests_.resize(driver->devices_.size());
  return driver;
}

Driver::~Driver() {
  if (handle_ != nullptr) call_quietly([this] { table().driver_destroy(handle_); });
}

Result<> Driver::read_devices() {
  uint32_t count = 0;
  Collect<std::string> reason;
  OST_TRY(call(name(), "device_count", [&](ost_error_t* e) {
    return table().device_count(handle_, &count, reason.sink(), e);
  }));
  no_device_reason_ = reason.take();
  if (count > kMaxDevices)
    return fail(OST_INCOMPATIBLE, "{}: {} devices, wanted at most {}", name(), count, kMaxDevices);
  for (uint32_t i = 0; i < count; ++i) {
    Guarded<ost_device_info_t> info;
    const auto done = call(name(), "device_info", [&](ost_error_t* e) {
      return table().device_info(handle_, i, info.get(), e);
    });
    if (auto ok = info.check("device_info"); !ok) return std::unexpected(ok.error().in(name()));
    OST_TRY(done);
    if (auto ok = check_info(info.value(), i); !ok) return std::unexpected(ok.error().in(name()));
    devices_.push_back(info.value());
  }
  if (can_run())
    no_device_reason_.clear();
  else if (no_device_reason_.empty())
    no_device_reason_ = "the driver found no device and did not say why";
  return {};
}

size_t Driver::runnable() const {
  return static_cast<size_t>(std::ranges::count_if(devices_, [](const ost_device_info_t& info) {
    return (info.flags & OST_DEVICE_COMPILE_ONLY) == 0;
  }));
}

std::string Driver::device_id(uint32_t index) const {
  const auto target_of = [this](uint32_t i) {
    const ost_device_info_t& info = devices_[i];
    return (info.flags & OST_DEVICE_COMPILE_ONLY) != 0 ? std::string_view(info.target) : "";
  };
  const std::string_view target = target_of(index);
  bool named = target.find_first_not_of("0123456789") != std::string_view::npos;
  for (uint32_t i = 0; i < index && named; ++i) named = target_of(i) != target;
  return named ? fmt::format("{}:{}", name(), target) : fmt::format("{}:{}", name(), index);
}

Result<std::string> Driver::compiler_key(std::string_view target) const {
  Collect<std::string> key;
  OST_TRY(call(name(), "compiler_key", [&](ost_error_t* e) {
    return table().compiler_key(handle_, str(target), key.sink(), e);
  }));
  return key.take();
}

Result<std::vector<uint8_t>> Driver::compile(const CompileRequest& request,
                                             std::string* log_text) const {
  Collect<std::vector<uint8_t>> image;
  Collect<std::string> messages;
  ost_compile_t job{};
  job.size = sizeof job;
  job.form = request.form;
  job.code = {request.code.data(), request.code.size()};
  job.entry = str(request.entry);
  job.target = str(request.target);
  job.options = str(request.options);
  job.image = image.sink();
  job.log = messages.sink();
  auto done =
      call(name(), "compile", [&](ost_error_t* e) { return table().compile(handle_, &job, e); });
  std::string said = messages.take();
  if (!done && !said.empty()) done.error().message += "\n" + said;
  if (log_text != nullptr) *log_text = std::move(said);
  OST_TRY(done);
  if (image.failed())
    return fail(OST_OUT_OF_MEMORY, "{}: compile: no memory for the image", name());
  std::vector<uint8_t> bytes = image.take();
  if (bytes.empty())
    return fail(OST_COMPILE_FAILED, "{}: compile: the compiler made an empty image", name());
  return bytes;
}

Result<Fit> Driver::image_check(const ost_device_info_t& info,
                                std::span<const uint8_t> image) const {
  Fit out;
  Collect<std::string> reason;
  OST_TRY(call(name(), "image_check", [&](ost_error_t* e) {
    return table().image_check(handle_, &info, {image.data(), image.size()}, &out.fit,
                               reason.sink(), e);
  }));
  out.reason = reason.take();
  if (out.fit > OST_FIT_UNUSABLE)
    return fail(OST_INCOMPATIBLE, "{}: image_check: unknown answer {}", name(), out.fit);
  return out;
}

std::string_view device_kind_name(uint32_t kind) {
  switch (kind) {
    case OST_DEVICE_KIND_CPU:
      return "CPU";
    case OST_DEVICE_KIND_GPU:
      return "GPU";
    case OST_DEVICE_KIND_ACCELERATOR:
      return "accelerator";
    case OST_DEVICE_KIND_REFERENCE:
      return "reference";
    default:
      return "unknown kind";
  }
}

}  // namespace ost::runtime
