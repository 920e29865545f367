// Level Zero: its loader, its devices, and the entries of the driver table that need one.
#pragma once

#include <ostinato/plugin.hpp>
#include <span>
#include <string>
#include <vector>

namespace levelzero {

class Runtime {
 public:
  explicit Runtime(const ost::plugin::Host& host);

  std::span<const ost_device_info_t> devices() const { return devices_; }
  const std::string& reason() const { return reason_; }  // why there is no device

 private:
  std::vector<ost_device_info_t> devices_;
  std::string reason_;
};

// All entries but those of driver.cpp.
void runtime_entries(ost_driver_table_t& table);

}  // namespace levelzero
