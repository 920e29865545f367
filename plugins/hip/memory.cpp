#include "memory.hpp"

#include <algorithm>

namespace hip {

OwnedStream::OwnedStream(const Api& api, int device) : api_(api), device_(device) {
  api_.check(api_.hipSetDevice(device_), "hipSetDevice");
  api_.check(api_.hipStreamCreateWithFlags(&stream_, kStreamNonBlocking),
             "hipStreamCreateWithFlags");
}

OwnedStream::~OwnedStream() {
  api_.hipSetDevice(device_);
  api_.hipStreamDestroy(stream_);
}

StreamPool::StreamPool(const Api& api, int device) : api_(api), stream_(api, device) {
  Pool pool = nullptr;
  api_.check(api_.hipDeviceGetDefaultMemPool(&pool, device), "hipDeviceGetDefaultMemPool");
  uint64_t kept = uint64_t{256} << 20;
  api_.check(api_.hipMemPoolSetAttribute(pool, kPoolReleaseThreshold, &kept),
             "hipMemPoolSetAttribute");
}

void* StreamPool::allocate(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  void* memory = nullptr;
  api_.check(api_.hipMallocAsync(&memory, bytes, stream_.get()), "hipMallocAsync");
  // From here on every stream may use it.
  api_.check(api_.hipStreamSynchronize(stream_.get()), "hipStreamSynchronize");
  return memory;
}

void StreamPool::release(void* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  api_.hipFreeAsync(memory, stream_.get());
}

Memory::Memory(const Api& api, int device, uint64_t bytes, Place place, StreamPool* pool)
    : api_(api), device_(device), place_(place), pool_(pool) {
  api_.check(api_.hipSetDevice(device_), "hipSetDevice");
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  switch (place_) {
    case Place::pinned:
      api_.check(api_.hipHostMalloc(&data_, size, 0), "hipHostMalloc");
      break;
    case Place::managed:
      api_.check(api_.hipMallocManaged(&data_, size, kAttachGlobal), "hipMallocManaged");
      break;
    default:
      if (pool_ != nullptr)
        data_ = pool_->allocate(size);
      else
        api_.check(api_.hipMalloc(&data_, size), "hipMalloc");
      return;
  }
  host_ = data_;
}

Memory::Memory(const Api& api, int device, void* host, uint64_t bytes)
    : api_(api), device_(device), place_(Place::imported), host_(host) {
  api_.check(api_.hipSetDevice(device_), "hipSetDevice");
  const Error code = api_.hipHostRegister(host, bytes, kRegisterMapped);
  // Two buffers of the same memory, or of two parts of one page.
  if (code == kAlreadyRegistered)
    ost::plugin::fail(OST_INVALID_ARGUMENT, "hipHostRegister gives ", api_.name_of(code));
  api_.check(code, "hipHostRegister");
  const Error mapped = api_.hipHostGetDevicePointer(&data_, host, 0);
  if (mapped == kSuccess) return;
  api_.hipHostUnregister(host);
  api_.check(mapped, "hipHostGetDevicePointer");
}

Memory::~Memory() {
  api_.hipSetDevice(device_);
  if (place_ == Place::imported)
    api_.hipHostUnregister(host_);
  else if (place_ == Place::pinned)
    api_.hipHostFree(data_);
  else if (pool_ != nullptr)
    pool_->release(data_);
  else
    api_.hipFree(data_);
}

}  // namespace hip
