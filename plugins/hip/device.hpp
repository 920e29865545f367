// The HIP devices of this machine, and what is open of one of them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "memory.hpp"

namespace hip {

// A device as it was found, with what it says about itself.
struct Candidate {
  int index = 0;
  ost_device_info_t info{};
};

// What holds for every device of this driver, of kernels and their memory.
ost_device_info_t kernel_info();

// In the order of HIP. `reason`: why there is none; `no_compiler`: why they are of no use.
std::vector<Candidate> find_devices(const Api& api, const std::string& no_compiler,
                                    std::string& reason);

struct Buffer;

// A device that is open. The first loss stays: from then on every call fails with it.
class Device {
 public:
  // `pool`: device memory comes from a pool in stream order, where HIP has one.
  Device(const Api& api, const Candidate& candidate, std::vector<ost_device_info_t> all, bool pool);

  const Api& api() const { return api_; }
  int index() const { return index_; }
  const ost_device_info_t& info() const { return info_; }
  const std::vector<ost_device_info_t>& all() const { return all_; }  // of this driver
  // Heap 0 is the device's.
  const std::vector<Place>& heaps() const { return heaps_; }
  StreamPool* pool() { return pool_.get(); }
  // HIP has a current device for each thread; this sets it. Fails if the device is lost.
  void use() const;
  void check(Error code, const char* call);  // keeps a loss

  // What the accepted work of its queues uses.
  ost::plugin::Uses& uses() { return uses_; }

  // Blocking transfers of bytes, behind all accepted work that uses the buffer.
  void write(const Buffer& to, uint64_t offset, const void* data, uint64_t size);
  void read(const Buffer& from, uint64_t offset, void* data, uint64_t size);

 private:
  void transfer(const Buffer& buffer, void* to, const void* from, uint64_t size);

  const Api& api_;
  int index_;
  ost_device_info_t info_;
  std::vector<ost_device_info_t> all_;
  std::vector<Place> heaps_;
  std::unique_ptr<StreamPool> pool_;
  OwnedStream transfers_;
  std::mutex transfer_mutex_;
  ost::plugin::Uses uses_;
  mutable std::mutex mutex_;  // of what follows
  std::optional<ost::plugin::Failure> loss_;
};
using DevicePtr = std::shared_ptr<Device>;

struct Buffer {
  DevicePtr device;  // destroyed last: its pool has the memory
  std::unique_ptr<Memory> memory;
  uint64_t size = 0;
};

// Fails if the buffer is another device's: only copies go from one to another.
void check_home(const Device& device, const Buffer& buffer);

constexpr uint32_t kAlign = 256;       // of what hipMalloc gives
constexpr uint32_t kImportAlign = 16;  // of the largest vector that a kernel loads

}  // namespace hip
