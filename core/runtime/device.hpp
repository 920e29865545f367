// A device that was opened, and what is made from it. All of these keep their device alive; a
// device keeps its driver. Threads: Device, Buffer and Timeline are free-threaded; a Queue and a
// CommandList belong to one thread at a time.
#pragma once

#include <ostinato/plugin.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/runtime/driver.hpp"

namespace ost::runtime {

class Buffer;
using BufferPtr = std::shared_ptr<Buffer>;
class Executable;
using ExecutablePtr = std::shared_ptr<Executable>;

// Counts since the device was opened; they only grow, except live_bytes.
struct DeviceCounters {
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> allocated_bytes{0};
  std::atomic<uint64_t> live_bytes{0};
  std::atomic<uint64_t> executables{0};  // loaded
  std::atomic<uint64_t> submits{0};
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  ~Device();
  const std::string& id() const { return id_; }  // "cpu:0"
  const ost_device_info_t& info() const { return info_; }
  std::string_view target() const { return info_.target; }
  Driver& driver() const { return *driver_; }
  const DriverPtr& driver_ptr() const { return driver_; }
  const ost_driver_table_t& table() const { return driver_->table(); }
  ost_device_t* handle() const { return handle_; }
  const SelfTestResult& self_test() const { return self_test_; }
  DeviceCounters& counters() { return counters_; }
  uint32_t heap_flags() const { return heap_flags_; }  // OST_HEAP_* of heap 0
  bool host_visible() const { return (heap_flags_ & OST_HEAP_HOST_VISIBLE) != 0; }

  Result<> status() const;  // an error once the device is lost

  // `image_path`: a file that holds exactly the image, or "".
  Result<ExecutablePtr> load(std::span<const uint8_t> image, std::string_view image_path,
                             std::string_view entry);

 private:
  friend class Driver;
  Device() = default;
  Result<> read_heaps();

  DriverPtr driver_;
  uint32_t index_ = 0;
  std::string id_;
  ost_device_info_t info_{};
  uint32_t heap_flags_ = 0;
  ost_device_t* handle_ = nullptr;
  SelfTestResult self_test_;
  DeviceCounters counters_;
};

class Executable {
 public:
  ~Executable();
  ost_executable_t* handle() const { return handle_; }
  uint32_t entry() const { return entry_; }
  Device& device() const { return *device_; }

 private:
  friend class Device;
  Executable() = default;
  DevicePtr device_;
  ost_executable_t* handle_ = nullptr;
  uint32_t entry_ = 0;
};

class Timeline {
 public:
  static Result<std::shared_ptr<Timeline>> create(DevicePtr device, uint64_t initial = 0);
  ~Timeline();
  ost_timeline_t* handle() const { return handle_; }
  Result<uint64_t> query() const;
  Result<> wait(uint64_t value, uint64_t timeout_ns = UINT64_MAX) const;
  Result<> signal(uint64_t value);
  Result<> fail(const Error& why);

 private:
  Timeline() = default;
  DevicePtr device_;
  ost_timeline_t* handle_ = nullptr;
};

// Work that can be submitted again and again with other buffers and variables.
class CommandList {
 public:
  static Result<std::unique_ptr<CommandList>> create(DevicePtr device,
                                                     std::span<const ost_command_t> commands,
                                                     uint32_t slot_count, uint32_t var_count);
  ~CommandList();
  ost_cmdlist_t* handle() const { return handle_; }

 private:
  CommandList() = default;
  DevicePtr device_;
  ost_cmdlist_t* handle_ = nullptr;
};

class Queue {
 public:
  static Result<std::unique_ptr<Queue>> create(DevicePtr device);
  ~Queue();
  Result<> submit(std::span<const ost_point_t> waits, std::span<const ost_command_t> commands,
                  std::span<const ost_point_t> signals);
  // OST_UNIMPLEMENTED if the driver cannot.
  Result<> profile(bool on);
  // Appends the records since the last drain to `out`.
  Result<> drain_profile(std::vector<ost_profile_record_t>& out);

 private:
  Queue() = default;
  DevicePtr device_;
  ost_queue_t* handle_ = nullptr;
};

}  // namespace ost::runtime
