// Level Zero: its loader, its devices, and the entries of the driver table that need one.
#pragma once

#include <ostinato/plugin.hpp>
#include <span>
#include <string>
#include <vector>

#include "api.hpp"

namespace levelzero {

// A device as it was found, with what it says about itself.
struct Candidate {
  ze::DriverHandle driver = nullptr;
  ze::DeviceHandle device = nullptr;
  ze::DeviceProperties properties{};
  bool ticks_are_cycles = false;  // timer_resolution is cycles a second, else nanoseconds a cycle
  bool relaxed_limits = false;    // allocations may be larger than properties.max_alloc
};

// What the user asks for: the driver's options, or else the environment.
struct Options {
  std::string library;         // levelzero.library, OSTINATO_LEVELZERO_LIBRARY
  bool large_buffers = false;  // levelzero.large_buffers=1
  bool pool = true;            // levelzero.pool=0 takes it away
  std::string target;          // levelzero.target: the GPU that this is, to be given its binaries
};

class Runtime {
 public:
  explicit Runtime(const ost::plugin::Host& host);

  const Api& api() const { return api_; }
  const Options& options() const { return options_; }
  std::span<const ost_device_info_t> devices() const { return devices_; }
  const Candidate& candidate(size_t index) const { return candidates_[index]; }
  const std::string& reason() const { return reason_; }  // why there is no device

 private:
  Options options_;
  Api api_;
  std::vector<Candidate> candidates_;
  std::vector<ost_device_info_t> devices_;
  std::string reason_;
};

// All entries but those of driver.cpp.
void runtime_entries(ost_driver_table_t& table);

}  // namespace levelzero
