// Blocking copies between memory of the process and of the device, through host memory that the
// device can reach: Level Zero need not know the process's own.
#pragma once

#include "memory.hpp"

namespace levelzero {

class Staging {
 public:
  explicit Staging(Device& device) : device_(device) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  void write(std::byte* to, const std::byte* from, uint64_t size);
  void read(std::byte* to, const std::byte* from, uint64_t size);

 private:
  void open();  // with the lock, at the first transfer
  void copy(void* to, const void* from, uint64_t size);

  Device& device_;
  std::mutex mutex_;  // of what follows
  ze::ListHandle list_ = nullptr;
  MemoryPtr memory_;
};

}  // namespace levelzero
