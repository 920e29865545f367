#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace levelzero {
namespace {

using ost::plugin::fail;

constexpr uint64_t kBlock = 1 << 20, kLargestPart = 64 << 10, kSmallestPart = 256;

// Level Zero's own allocations, given back to it.
class Allocation : public Memory {
 public:
  Allocation(Device& device, Heap heap, std::byte* data)
      : Memory(heap, data, next_id()), device_(device) {}
  ~Allocation() override { device_.api().zeMemFree(device_.context(), data()); }

 private:
  Device& device_;
};

// Intel's extension functions for host memory.
using ImportPointer = ze::Result (*)(ze::DriverHandle, void*, size_t);
using ReleasePointer = ze::Result (*)(ze::DriverHandle, void*);

void* extension(const Device& device, const char* name) {
  void* out = nullptr;
  const auto find = device.api().zeDriverGetExtensionFunctionAddress;
  if (find == nullptr || find(device.candidate().driver, name, &out) != ze::kSuccess)
    return nullptr;
  return out;
}

class Imported : public Memory {
 public:
  Imported(ze::DriverHandle driver, ReleasePointer release, std::byte* data)
      : Memory(Heap::host, data, next_id()), driver_(driver), release_(release) {}
  ~Imported() override {
    if (release_ != nullptr) release_(driver_, data());
  }

 private:
  ze::DriverHandle driver_;
  ReleasePointer release_;
};

}  // namespace

uint64_t Memory::next_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

MemoryPtr allocate(Device& device, Heap heap, uint64_t bytes, uint64_t align) {
  const Api& api = device.api();
  device.use();
  auto relaxed = typed<ze::FlagsDesc>(ze::kRelaxedLimitsDesc);
  relaxed.flags = ze::kRelaxedMaxSize;
  const bool large = bytes > device.candidate().properties.max_alloc;
  if (large && bytes > device.info().max_alloc)
    fail(OST_OUT_OF_MEMORY, bytes, " bytes, the largest buffer of this device has ",
         device.info().max_alloc,
         device.candidate().relaxed_limits ? "; the option levelzero.large_buffers=1 allows more"
                                           : "");
  const void* next = large ? &relaxed : nullptr;
  const auto device_desc = typed<ze::DeviceMemDesc>(ze::kDeviceMemDesc, next);
  const auto host_desc =
      typed<ze::FlagsDesc>(ze::kHostMemDesc, heap == Heap::host ? next : nullptr);
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  void* data = nullptr;
  if (heap == Heap::device)
    device.check(
        api.zeMemAllocDevice(device.context(), &device_desc, size, align, device.handle(), &data),
        "zeMemAllocDevice");
  else if (heap == Heap::host)
    device.check(api.zeMemAllocHost(device.context(), &host_desc, size, align, &data),
                 "zeMemAllocHost");
  else
    device.check(api.zeMemAllocShared(device.context(), &device_desc, &host_desc, size, align,
                                      device.handle(), &data),
                 "zeMemAllocShared");
  return std::make_unique<Allocation>(device, heap, static_cast<std::byte*>(data));
}

// Some devices use any memory of the process; for others Intel's driver imports it.
MemoryPtr import_host(Device& device, void* pointer, uint64_t bytes) {
  auto* data = static_cast<std::byte*>(pointer);
  ze::DriverHandle driver = device.candidate().driver;
  if ((device.access().shared_system & ze::kAccessRw) != 0)
    return std::make_unique<Imported>(driver, nullptr, data);
  const auto import =
      reinterpret_cast<ImportPointer>(extension(device, "zexDriverImportExternalPointer"));
  const auto release =
      reinterpret_cast<ReleasePointer>(extension(device, "zexDriverReleaseImportedPointer"));
  if (import == nullptr || release == nullptr || bytes == 0) return nullptr;
  if (import(driver, pointer, bytes) != ze::kSuccess) return nullptr;
  return std::make_unique<Imported>(driver, release, data);
}

class Pool::Part : public Memory {
 public:
  Part(Pool& pool, Heap heap, uint64_t size, Free part)
      : Memory(heap, part.data, part.id), pool_(pool), size_(size), heap_of_(heap) {}
  ~Part() override { pool_.give_back(heap_of_, size_, {data(), id()}); }

 private:
  Pool& pool_;
  uint64_t size_;
  Heap heap_of_;
};

MemoryPtr Pool::allocate(Heap heap, uint64_t bytes, uint64_t align) {
  if (!device_.options().pool || bytes > kLargestPart || align > kLargestPart)
    return levelzero::allocate(device_, heap, bytes, align);
  const uint64_t size = std::bit_ceil(std::max({bytes, align, kSmallestPart}));
  device_.use();
  const std::scoped_lock lock(mutex_);
  std::vector<Free>& free = free_[{heap, size}];
  if (free.empty()) {
    blocks_.push_back(levelzero::allocate(device_, heap, kBlock, kLargestPart));
    const Memory& block = *blocks_.back();
    for (uint64_t at = kBlock; at >= size; at -= size)
      free.push_back({block.data() + (at - size), block.id()});
  }
  const Free part = free.back();
  free.pop_back();
  return std::make_unique<Part>(*this, heap, size, part);
}

void Pool::give_back(Heap heap, uint64_t size, Free part) {
  const std::scoped_lock lock(mutex_);
  free_[{heap, size}].push_back(part);
}

}  // namespace levelzero
