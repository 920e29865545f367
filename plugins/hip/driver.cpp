// The driver table: each entry is a few lines around the objects of the other files.
#include <algorithm>
#include <cstdlib>

#include "compiler.hpp"
#include "entries.hpp"
#include "queue.hpp"
#include "target.hpp"

namespace hip {
namespace {

using ost::plugin::fail_rule;
using ost::plugin::fence;
using ost::plugin::handle_of;
using ost::plugin::object;

bool is_on(const ost::plugin::Host& host, const char* option, bool otherwise) {
  const std::string value(host.option(option));
  if (value.empty()) return otherwise;
  if (value != "on" && value != "off")
    fail(OST_INVALID_ARGUMENT, "option ", option, " is '", value, "', wanted on or off");
  return value == "on";
}

// HIP 5 has the functions of pools, but they are young there.
constexpr int kPoolsSince = 60;

struct Driver {
  Driver(Api found, const ost::plugin::Host& host)
      : api(std::move(found)), compiler(api, host.option("clang"), host.option("sqrt")) {
    pool = is_on(host, "pool", api.version() >= kPoolsSince);
    devices = find_devices(api, compiler.missing(), reason);
    for (const ost_device_info_t& info : compiler.targets()) devices.push_back({-1, info});
  }
  Api api;
  Compiler compiler;
  bool pool = false;
  std::vector<Candidate> devices;  // those that only compile behind the others
  std::string reason;
};
using ExecutableHandle = std::shared_ptr<Executable>;

const Candidate& candidate(Driver& driver, uint32_t index) {
  if (index >= driver.devices.size())
    fail(OST_NOT_FOUND, "device ", index, " of ", driver.devices.size());
  return driver.devices[index];
}
// The option, or else the environment variable.
std::string setting(const ost::plugin::Host& host, const char* option, const char* variable) {
  const std::string value(host.option(option));
  if (!value.empty()) return value;
  const char* set = secure_getenv(variable);
  return set != nullptr ? set : "";
}

// --- driver and devices

ost_status_t driver_create(const ost_host_table_t* host, ost_driver_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const ost::plugin::Host h(host);
    handle_of(
        std::make_unique<Driver>(load_api(setting(h, "library", "OSTINATO_HIP_LIBRARY"),
                                          setting(h, "rtc_library", "OSTINATO_HIPRTC_LIBRARY")),
                                 h),
        out);
  });
}
ost_status_t device_count(ost_driver_t* d, uint32_t* out, ost_sink_t reason, ost_error_t* e) {
  return fence(e, [&] {
    *out = static_cast<uint32_t>(object<Driver>(d).devices.size());
    if (!object<Driver>(d).reason.empty()) ost::plugin::put(reason, object<Driver>(d).reason);
  });
}
ost_status_t device_info(ost_driver_t* d, uint32_t index, ost_device_info_t* out, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::fill_out(out, candidate(object<Driver>(d), index).info, "ost_device_info_t");
  });
}
ost_status_t device_create(ost_driver_t* d, uint32_t index, ost_device_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const Candidate& c = candidate(object<Driver>(d), index);
    if (c.info.flags & (OST_DEVICE_UNUSABLE | OST_DEVICE_COMPILE_ONLY))
      fail(OST_UNAVAILABLE, c.info.reason);
    const Driver& driver = object<Driver>(d);
    std::vector<ost_device_info_t> all;
    for (const Candidate& each : driver.devices)
      if (each.index >= 0) all.push_back(each.info);
    handle_of(std::make_unique<DevicePtr>(
                  std::make_shared<Device>(driver.api, c, std::move(all), driver.pool)),
              out);
  });
}
void device_destroy(ost_device_t* d) {
  if (d == nullptr) return;
  fence([&] { object<DevicePtr>(d)->uses().wait_until_idle(); });
  ost::plugin::destroy<DevicePtr>(d);
}
ost_status_t device_status(ost_device_t* d, ost_error_t* e) {
  return fence(e, [&] { object<DevicePtr>(d)->use(); });
}

// --- queues

ost_status_t queue_create(ost_device_t* d, ost_queue_t** out, ost_error_t* e) {
  return fence(e, [&] { handle_of(std::make_unique<Queue>(object<DevicePtr>(d)), out); });
}

ost_status_t queue_submit(ost_queue_t* q, const ost_point_t* waits, uint32_t wait_count,
                          const ost_command_t* commands, uint32_t command_count,
                          const ost_point_t* signals, uint32_t signal_count, ost_error_t* e) {
  return ost::plugin::submit_commands<Buffer, Executable>(
      waits, wait_count, commands, command_count, signals, signal_count, kAlign, e,
      [q](std::vector<Command> copied, ost::plugin::Worker::Job job) {
        object<Queue>(q).submit(std::move(copied), std::move(job));
      });
}

ost_status_t cmdlist_create(ost_device_t* d, const ost_command_t* commands, uint32_t count,
                            uint32_t slots, uint32_t vars, ost_cmdlist_t** out, ost_error_t* e) {
  using Handle = std::shared_ptr<ost::plugin::CommandList<Buffer, Executable>>;
  return fence(e, [&] {
    object<DevicePtr>(d)->use();
    auto list = std::make_shared<List>(object<DevicePtr>(d), commands, count, slots, vars);
    handle_of(std::make_unique<Handle>(std::move(list)), out);
  });
}
void cmdlist_destroy(ost_cmdlist_t* list) {
  ost::plugin::destroy<std::shared_ptr<ost::plugin::CommandList<Buffer, Executable>>>(list);
}

// Copies between devices of this driver need no host; which of several equal ones is meant cannot
// be known.
ost_status_t link_query(ost_device_t* d, const ost_device_info_t* info, ost_link_t* out,
                        ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::check_size(info, "ost_device_info_t");
    if (out == nullptr) fail_rule(5, "the out-parameter is null");
    const DevicePtr& device = object<DevicePtr>(d);
    const auto same = [&](const ost_device_info_t& other) {
      return std::string_view(info->name) == other.name &&
             std::string_view(info->target) == other.target && info->kind == other.kind;
    };
    uint32_t equal = 0;
    for (const ost_device_info_t& other : device->all()) equal += same(other) ? 1u : 0u;
    const bool itself = equal == 1 && same(device->info());
    *out = equal == 0 ? OST_LINK_NONE : itself ? OST_LINK_NATIVE : OST_LINK_COPY;
  });
}

ost_status_t profile_enable(ost_queue_t* q, uint32_t on, ost_error_t* e) {
  return fence(e, [&] { object<Queue>(q).enable_profile(on != 0); });
}
ost_status_t profile_drain(ost_queue_t* q, ost_profile_record_t* out, uint32_t capacity,
                           uint32_t* out_count, ost_error_t* e) {
  return fence(e, [&] { object<Queue>(q).drain_profile(out, capacity, out_count); });
}

// --- compilation and executables

ost_status_t compiler_key_entry(ost_driver_t* d, ost_str_t target, ost_sink_t out, ost_error_t* e) {
  return fence(
      e, [&] { ost::plugin::put(out, object<Driver>(d).compiler.key(ost::plugin::view(target))); });
}
ost_status_t compile(ost_driver_t* d, const ost_compile_t* job, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::check_size(job, "ost_compile_t");
    ost::plugin::put(job->image, object<Driver>(d).compiler.build(*job));
  });
}
std::span<const std::byte> bytes(ost_bytes_t b) {
  return {static_cast<const std::byte*>(b.data), b.size};
}
ost_status_t image_check(ost_driver_t*, const ost_device_info_t* info, ost_bytes_t image,
                         ost_fit_t* out, ost_sink_t reason, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::check_size(info, "ost_device_info_t");
    *out = OST_FIT_UNUSABLE;
    try {
      const Image parsed = parse_image(bytes(image));
      if (parsed.target == info->target)
        *out = OST_FIT_OPTIMAL;
      else if (runs_on(parse_target(parsed.target), parse_target(info->target)))
        *out = OST_FIT_USABLE;
      else
        ost::plugin::put(reason, ost::plugin::cat("the image is for ", parsed.target));
    } catch (const ost::plugin::Failure& why) {
      ost::plugin::put(reason, why.what());
    }
  });
}
ost_status_t executable_load(ost_device_t* d, ost_bytes_t image, ost_str_t, ost_executable_t** out,
                             ost_error_t* e) {
  return fence(e, [&] {
    handle_of(std::make_unique<ExecutableHandle>(
                  std::make_shared<Executable>(object<DevicePtr>(d), parse_image(bytes(image)))),
              out);
  });
}
ost_status_t executable_entry(ost_executable_t* x, ost_str_t name, uint32_t* out, ost_error_t* e) {
  return fence(e, [&] {
    const Executable& executable = *object<ExecutableHandle>(x);
    if (ost::plugin::view(name) != executable.entry())
      fail(OST_NOT_FOUND, "the image has no kernel ", ost::plugin::view(name), ", it has ",
           executable.entry());
    *out = 0;
  });
}

ost_driver_table_t make_table() {
  ost_driver_table_t t{};
  t.size = sizeof t;
  t.driver_create = driver_create;
  t.driver_destroy = [](ost_driver_t* d) { ost::plugin::destroy<Driver>(d); };
  t.device_count = device_count;
  t.device_info = device_info;
  t.device_create = device_create;
  t.device_destroy = device_destroy;
  t.device_status = device_status;
  memory_entries(t);
  t.queue_create = queue_create;
  t.queue_destroy = [](ost_queue_t* q) { ost::plugin::destroy<Queue>(q); };
  ost::plugin::timeline_entries(t);
  t.queue_submit = queue_submit;
  t.compiler_key = compiler_key_entry;
  t.compile = compile;
  t.image_check = image_check;
  t.executable_load = executable_load;
  t.executable_unload = [](ost_executable_t* x) { ost::plugin::destroy<ExecutableHandle>(x); };
  t.executable_entry = executable_entry;
  t.cmdlist_create = cmdlist_create;
  t.cmdlist_destroy = cmdlist_destroy;
  t.link_query = link_query;
  t.profile_enable = profile_enable;
  t.profile_drain = profile_drain;
  return t;
}

}  // namespace
}  // namespace hip

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  static const ost_driver_table_t table = hip::make_table();
  return ost::plugin::negotiate(in, out, {"hip", OST_HIP_VERSION, "Ostinato"}, &table);
}
