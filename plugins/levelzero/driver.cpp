// The entries of the driver table that need no device: what there is, and how kernels are compiled.
#include "driver.hpp"

#include <algorithm>

namespace levelzero {
namespace {

using ost::plugin::fail;
using ost::plugin::fence;
using ost::plugin::object;

ost_device_info_t compile_only(const Target& target, std::string_view why) {
  ost_device_info_t info{};
  info.size = sizeof info;
  info.kind = OST_DEVICE_KIND_GPU;
  info.flags = OST_DEVICE_COMPILE_ONLY;
  info.dtypes = dtypes_of(target);
  ost::plugin::copy_text(info.name, target.name);
  ost::plugin::copy_text(info.target, target.key);
  ost::plugin::copy_text(info.reason, why);
  info.form_count = 1;
  info.forms[0] = OST_FORM_KIR_L2;
  info.max_group = kMaxGroup;
  info.subgroup = 1;
  info.local_bytes = kLocalBytes;
  info.min_align = 64;
  return info;
}

const ost_device_info_t& info_at(Driver& driver, uint32_t index) {
  if (index >= driver.infos.size())
    fail(OST_NOT_FOUND, "device ", index, " of ", driver.infos.size());
  return driver.infos[index];
}

ost_status_t driver_create(const ost_host_table_t* host, ost_driver_t** out, ost_error_t* e) {
  return fence(
      e, [&] { ost::plugin::handle_of(std::make_unique<Driver>(ost::plugin::Host(host)), out); });
}
ost_status_t device_count(ost_driver_t* d, uint32_t* out, ost_sink_t reason, ost_error_t* e) {
  return fence(e, [&] {
    const Driver& driver = object<Driver>(d);
    *out = static_cast<uint32_t>(driver.infos.size());
    if (driver.runtime.devices().empty()) ost::plugin::put(reason, driver.runtime.reason());
  });
}
ost_status_t device_info(ost_driver_t* d, uint32_t index, ost_device_info_t* out, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::fill_out(out, info_at(object<Driver>(d), index), "ost_device_info_t");
  });
}

ost_status_t compiler_key(ost_driver_t* d, ost_str_t target, ost_sink_t out, ost_error_t* e) {
  return fence(
      e, [&] { ost::plugin::put(out, object<Driver>(d).compiler.key(ost::plugin::view(target))); });
}
ost_status_t compile(ost_driver_t* d, const ost_compile_t* job, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::check_size(job, "ost_compile_t");
    ost::plugin::put(job->image, object<Driver>(d).compiler.build(*job));
  });
}
ost_status_t image_check(ost_driver_t*, const ost_device_info_t* info, ost_bytes_t image,
                         ost_fit_t* out, ost_sink_t reason, ost_error_t* e) {
  return fence(e, [&] {
    ost::plugin::check_size(info, "ost_device_info_t");
    *out = check_image(*info, {static_cast<const std::byte*>(image.data), image.size}, reason);
  });
}

ost_driver_table_t make_table() {
  ost_driver_table_t t{};
  t.size = sizeof t;
  runtime_entries(t);
  t.driver_create = driver_create;
  t.driver_destroy = [](ost_driver_t* d) { ost::plugin::destroy<Driver>(d); };
  t.device_count = device_count;
  t.device_info = device_info;
  t.compiler_key = compiler_key;
  t.compile = compile;
  t.image_check = image_check;
  return t;
}

}  // namespace

Driver::Driver(const ost::plugin::Host& host) : compiler(host), runtime(host) {
  const auto devices = runtime.devices();
  infos.assign(devices.begin(), devices.end());
  const std::string why = devices.empty() ? runtime.reason() : "a target of images, not a device";
  for (const Target& target : compiler.targets()) infos.push_back(compile_only(target, why));
}

}  // namespace levelzero

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  static const ost_driver_table_t table = levelzero::make_table();
  return ost::plugin::negotiate(in, out, {"levelzero", OST_LEVELZERO_VERSION, "Ostinato"}, &table);
}
