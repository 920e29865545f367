// Memory that kernels can use: device, host and shared allocations, parts of larger ones, and host
// memory of the program.
#pragma once

#include <map>

#include "device.hpp"

namespace levelzero {

enum class Heap : uint32_t { device = 0, host = 1, shared = 2 };

// A range of memory. `id` is never used twice, unlike its address.
class Memory {
 public:
  Memory(Heap heap, std::byte* data, uint64_t id) : heap_(heap), data_(data), id_(id) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;
  std::byte* data() const { return data_; }
  uint64_t id() const { return id_; }
  bool on_host() const { return heap_ != Heap::device; }  // the host may touch it

 protected:
  static uint64_t next_id();

 private:
  Heap heap_;
  std::byte* data_;
  uint64_t id_;
};
using MemoryPtr = std::unique_ptr<Memory>;

// An allocation of Level Zero.
MemoryPtr allocate(Device& device, Heap heap, uint64_t bytes, uint64_t align);
// Host memory of the program; null if this device cannot use it.
MemoryPtr import_host(Device& device, void* pointer, uint64_t bytes);

// Small buffers are parts of allocations of 1 MiB: an allocation of a GPU takes a page of 64 KiB or
// more and a system call. The parts of one allocation have one size, a power of two. Allocations
// stay until the device is closed: at most what was in use at one time, and the rounding.
class Pool {
 public:
  explicit Pool(Device& device) : device_(device) {}
  // What suits the pool comes from it, everything else from Level Zero.
  MemoryPtr allocate(Heap heap, uint64_t bytes, uint64_t align);

 private:
  class Part;
  struct Free {
    std::byte* data;
    uint64_t id;  // of the allocation
  };
  void give_back(Heap heap, uint64_t size, Free part);

  Device& device_;
  std::mutex mutex_;  // of what follows
  std::vector<MemoryPtr> blocks_;
  std::map<std::pair<Heap, uint64_t>, std::vector<Free>> free_;  // by size
};

struct Buffer {
  DevicePtr device;
  MemoryPtr memory;
  uint64_t size = 0;

  std::byte* data() const { return memory->data(); }
};

constexpr uint32_t kAlign = 64;  // of buffers, and of what kernels get

}  // namespace levelzero
