#include "core/runtime/buffer.hpp"

#include <algorithm>

#include "core/runtime/call.hpp"

namespace ost::runtime {

Result<BufferPtr> Buffer::allocate(const DevicePtr& device, uint64_t bytes) {
  const ost_device_info_t& info = device->info();
  if (info.max_alloc != 0 && bytes > info.max_alloc) {
    return fail(OST_OUT_OF_MEMORY, "{}: a buffer of {} bytes is wanted, the largest is {}",
                device->id(), bytes, info.max_alloc);
  }
  BufferPtr out(new Buffer);
  out->device_ = device;
  out->bytes_ = bytes;
  OST_TRY(call(device->id(), "buffer_alloc", [&](ost_error_t* e) {
    return device->table().buffer_alloc(device->handle(), 0, bytes, info.min_align, &out->handle_,
                                        e);
  }));
  if (out->handle_ == nullptr)
    return fail(OST_INTERNAL, "{}: buffer_alloc gave no buffer", device->id());
  DeviceCounters& c = device->counters();
  c.allocations.fetch_add(1, std::memory_order_relaxed);
  c.allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
  c.live_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return out;
}

Result<BufferPtr> Buffer::import_host(const DevicePtr& device, void* data, uint64_t bytes,
                                      std::shared_ptr<const void> keep) {
  BufferPtr out(new Buffer);
  out->device_ = device;
  out->bytes_ = bytes;
  out->imported_ = true;
  out->keep_ = std::move(keep);
  OST_TRY(call(device->id(), "buffer_import_host", [&](ost_error_t* e) {
    return device->table().buffer_import_host(device->handle(), data, bytes, &out->handle_, e);
  }));
  if (out->handle_ == nullptr)
    return fail(OST_INTERNAL, "{}: buffer_import_host gave no buffer", device->id());
  return out;
}

Buffer::~Buffer() {
  if (handle_ == nullptr) return;
  if (mapped_.load() != nullptr)
    call_quietly([this] { device_->table().buffer_unmap(handle_, nullptr); });
  call_quietly([this] { device_->table().buffer_free(device_->handle(), handle_); });
  if (!imported_) device_->counters().live_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
}

Result<> Buffer::check_range(uint64_t offset, uint64_t size) const {
  if (offset <= bytes_ && size <= bytes_ - offset) return {};
  return fail(OST_INVALID_ARGUMENT, "{}: {} bytes at {} are outside a buffer of {} bytes",
              device_->id(), size, offset, bytes_);
}

Result<> Buffer::write(uint64_t offset, std::span<const uint8_t> data) {
  OST_TRY(check_range(offset, data.size()));
  return call(device_->id(), "buffer_write", [&](ost_error_t* e) {
    return device_->table().buffer_write(device_->handle(), handle_, offset, data.data(),
                                         data.size(), e);
  });
}

Result<> Buffer::read(uint64_t offset, std::span<uint8_t> out) const {
  OST_TRY(check_range(offset, out.size()));
  return call(device_->id(), "buffer_read", [&](ost_error_t* e) {
    return device_->table().buffer_read(device_->handle(), handle_, offset, out.data(), out.size(),
                                        e);
  });
}

Result<uint8_t*> Buffer::map() {
  constexpr uint32_t kDirect = OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT;
  if ((device_->heap_flags() & kDirect) != kDirect) return nullptr;
  if (uint8_t* known = mapped_.load(std::memory_order_acquire)) return known;
  void* data = nullptr;
  OST_TRY(call(device_->id(), "buffer_map", [&](ost_error_t* e) {
    return device_->table().buffer_map(handle_, 0, bytes_, &data, e);
  }));
  mapped_.store(static_cast<uint8_t*>(data), std::memory_order_release);
  return static_cast<uint8_t*>(data);
}

Result<> Buffer::copy(Buffer& to, uint64_t to_offset, const Buffer& from, uint64_t from_offset,
                      uint64_t bytes, std::span<uint8_t> staging) {
  OST_TRY(to.check_range(to_offset, bytes));
  OST_TRY(from.check_range(from_offset, bytes));
  OST_TRY_ASSIGN(const uint8_t* source, const_cast<Buffer&>(from).map());
  if (source != nullptr) {
    OST_TRY(from.read(0, {}));  // waits for what was submitted before
    return to.write(to_offset, {source + from_offset, bytes});
  }
  OST_TRY_ASSIGN(uint8_t* target, to.map());
  if (target != nullptr) {
    OST_TRY(to.write(0, {}));
    return from.read(from_offset, {target + to_offset, bytes});
  }
  std::vector<uint8_t> own;
  if (staging.empty()) {
    own.resize(std::min<uint64_t>(bytes, uint64_t{4} << 20));
    staging = own;
  }
  for (uint64_t done = 0; done < bytes;) {
    const std::span<uint8_t> part = staging.first(std::min<uint64_t>(bytes - done, staging.size()));
    OST_TRY(from.read(from_offset + done, part));
    OST_TRY(to.write(to_offset + done, part));
    done += part.size();
  }
  return {};
}

}  // namespace ost::runtime
