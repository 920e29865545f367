// What a program can be linked for: a device of this process, one that only compiles, or any target
// that a driver's compiler knows.
#pragma once

#include <string_view>

#include "core/runtime/registry.hpp"

namespace ost::runtime {

struct Target {
  DriverPtr driver;
  ost_device_info_t
      info;  // what kernels are lowered for; info.target is what they are compiled for
};

// "hip:gfx90a" and "cpu:0": a device. "cpu": its first one. "cpu:KEY": a target that no device has,
// with what the device says whose target KEY refines ("hip:gfx90a:xnack+"), else the first one.
// "gfx90a" and "gfx90a:xnack+": the same, of the only driver that has such a target.
Result<Target> find_target(const DeviceRegistry& registry, std::string_view text);

}  // namespace ost::runtime
