// Objects that others are made from.
#pragma once

#include <vector>

#include "handles.hpp"

namespace standin {

struct Driver : Object {
  static constexpr const char* kKind = "driver";
  Driver() : Object(kKind, nullptr, true) {}
};
struct Device : Object {
  static constexpr const char* kKind = "device";
  explicit Device(int i) : Object(kKind, nullptr, true), index(i) {}
  int index;
};
struct Context : Object {
  static constexpr const char* kKind = "context";
  Context() : Object(kKind, nullptr) {}
};

// Made once and never destroyed.
Driver& the_driver();
const std::vector<std::unique_ptr<Device>>& the_devices();

// Engines. Group 0 computes and copies, group 1 only copies, as on a discrete GPU.
constexpr uint32_t kComputeGroup = 0, kCopyGroup = 1, kGroups = 2;
constexpr uint32_t kQueuesOf[kGroups] = {4, 1};
constexpr size_t kFillPatternOf[kGroups] = {128, 4};
constexpr uint32_t kLocalBytes = 65536, kMaxArgumentBytes = 2048;

// The device's clock: ticks of 4 ns since an hour before the host's, cut to 36 bits in kernel
// timestamps, which wrap after some minutes.
constexpr uint64_t kTickNs = 4;
constexpr uint32_t kTimestampBits = 36;
constexpr uint64_t ticks_of(uint64_t host_ns) { return (host_ns + 3600000000000ull) / kTickNs; }

}  // namespace standin
