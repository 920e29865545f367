// Drivers that are `ref` with a changed table: what a host must do with drivers that have less, or
// fail.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/runtime/driver.hpp"
#include "core/runtime/ref_driver.hpp"

namespace ost::test {

// `Tag` makes a driver_create of its own, since a process has one driver for each of these
// functions. `change` gets the table before it is completed. Call once per Tag.
template <typename Tag, typename Change>
runtime::DevicePtr changed_ref(const std::string& name, Change&& change) {
  auto ref = runtime::negotiate_with(&runtime::ref_negotiate);
  EXPECT_TRUE(ref.has_value());
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
  EXPECT_EQ(runtime::ref_negotiate(&in, &out), static_cast<ost_status_t>(OST_OK));
  static ost_driver_table_t original;
  original = *out.table;
  ost_driver_table_t table = original;
  table.driver_create = [](const ost_host_table_t* host, ost_driver_t** driver,
                           ost_error_t* error) {
    return original.driver_create(host, driver, error);
  };
  change(table);
  auto complete = runtime::complete_table(&table);
  EXPECT_TRUE(complete.has_value()) << (complete ? "" : complete.error().message);
  ref->name = name;
  ref->table = *complete;
  auto driver =
      runtime::Driver::create(std::make_shared<const runtime::Plugin>(std::move(*ref)), {});
  EXPECT_TRUE(driver.has_value()) << (driver ? "" : driver.error().message);
  runtime::OpenOptions options;
  options.self_test = false;
  auto device = (*driver)->open(0, options);
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return *device;
}

// Nothing optional, and memory that the host cannot see.
inline runtime::DevicePtr plain_ref() {
  struct Plain {};
  return changed_ref<Plain>("plain", [](ost_driver_table_t& t) {
    t.buffer_map = nullptr;
    t.buffer_unmap = nullptr;
    t.buffer_import_host = nullptr;
    t.buffer_flush = nullptr;
    t.buffer_invalidate = nullptr;
    t.cmdlist_create = nullptr;
    t.cmdlist_destroy = nullptr;
    t.profile_enable = nullptr;
    t.profile_drain = nullptr;
    t.link_query = nullptr;
    t.get_extension = nullptr;
    t.heap_info = [](ost_device_t*, uint32_t, ost_heap_info_t* info, ost_error_t*) -> ost_status_t {
      *info = {sizeof *info, OST_HEAP_DEVICE_LOCAL, 0};
      return OST_OK;
    };
  });
}

}  // namespace ost::test
