// Device memory, shared by whoever needs it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/runtime/device.hpp"

namespace ost::runtime {

class Buffer {
 public:
  // Contents are undefined. Counted in the device's counters.
  static Result<BufferPtr> allocate(const DevicePtr& device, uint64_t bytes);
  // The caller's memory, used without a copy: `keep` (may be null) is released when the buffer is.
  // OST_UNIMPLEMENTED if the driver cannot, OST_INVALID_ARGUMENT if the pointer is not aligned
  // enough.
  static Result<BufferPtr> import_host(const DevicePtr& device, void* data, uint64_t bytes,
                                       std::shared_ptr<const void> keep);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const DevicePtr& device() const { return device_; }
  uint64_t bytes() const { return bytes_; }
  ost_dbuffer_t* handle() const { return handle_; }

  // Blocking; after all work that was submitted to the device before.
  Result<> write(uint64_t offset, std::span<const uint8_t> data);
  Result<> read(uint64_t offset, std::span<uint8_t> out) const;
  // Copies between buffers of any two devices, through the host where needed: through `staging`, or
  // memory of its own if that is empty. Blocking.
  static Result<> copy(Buffer& to, uint64_t to_offset, const Buffer& from, uint64_t from_offset,
                       uint64_t bytes, std::span<uint8_t> staging = {});

  // The memory itself where the heap is host visible: valid while the buffer lives. The caller
  // waits for the device first. Null otherwise.
  Result<uint8_t*> map();

 private:
  Buffer() = default;
  Result<> check_range(uint64_t offset, uint64_t size) const;

  DevicePtr device_;
  uint64_t bytes_ = 0;
  ost_dbuffer_t* handle_ = nullptr;
  std::atomic<uint8_t*> mapped_{nullptr};
  bool imported_ = false;
  std::shared_ptr<const void> keep_;
};

// A part of a buffer, as it is bound to a program.
struct BufferRef {
  BufferPtr buffer;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

}  // namespace ost::runtime
