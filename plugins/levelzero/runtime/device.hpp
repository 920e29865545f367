// A device that is open: its context, its engines, whether it was lost.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "runtime.hpp"

namespace levelzero {

// Queues of one kind; a copy engine runs no kernels.
struct Engine {
  uint32_t ordinal = 0;
  uint32_t queues = 1;
  uint64_t max_pattern = 1;  // bytes of the largest pattern that it fills
};

struct Buffer;
class Pool;
class Staging;

// The first loss stays: from then on every call fails with it.
class Device {
 public:
  Device(const Runtime& runtime, size_t index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  const Api& api() const { return api_; }
  const Candidate& candidate() const { return candidate_; }
  const Options& options() const { return options_; }
  const ost_device_info_t& info() const { return info_; }
  ze::ContextHandle context() const { return context_; }
  ze::DeviceHandle handle() const { return candidate_.device; }
  const ze::MemoryAccessProperties& access() const { return access_; }
  const Engine& compute() const { return compute_; }
  const std::optional<Engine>& copy() const { return copy_; }
  uint32_t next_queue(const Engine& engine);  // an index for a new queue: in turn

  void use() const;  // fails if the device is lost
  // Fails with what the code means, and keeps a loss. `use` is called first.
  void check(ze::Result code, const char* call);

  // What the accepted work of its queues uses.
  ost::plugin::Uses& uses() { return uses_; }
  Pool& pool() { return *pool_; }

  // Blocking transfers of bytes, behind all accepted work that uses the buffer.
  void write(const Buffer& to, uint64_t offset, const void* data, uint64_t size);
  void read(const Buffer& from, uint64_t offset, void* data, uint64_t size);

 private:
  void find_engines();

  const Api& api_;
  const Candidate& candidate_;
  const Options& options_;
  const ost_device_info_t& info_;
  ze::MemoryAccessProperties access_{};
  Engine compute_;
  std::optional<Engine> copy_;
  ze::ContextHandle context_ = nullptr;
  ost::plugin::Uses uses_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Staging> staging_;
  mutable std::mutex mutex_;  // of what follows
  std::optional<ost::plugin::Failure> loss_;
  uint32_t next_queue_ = 0;
};
using DevicePtr = std::shared_ptr<Device>;

}  // namespace levelzero
