// The entries of the driver table for memory.
#include "device.hpp"
#include "entries.hpp"

namespace hip {
namespace {

using ost::plugin::fail_rule;
using ost::plugin::fence;
using ost::plugin::handle_of;
using ost::plugin::object;

Place place_of(const Device& device, uint32_t heap) {
  if (heap >= device.heaps().size())
    fail(OST_NOT_FOUND, "heap ", heap, " of ", device.heaps().size());
  return device.heaps()[heap];
}

ost_status_t heap_info(ost_device_t* d, uint32_t heap, ost_heap_info_t* out, ost_error_t* e) {
  return fence(e, [&] {
    const Device& device = *object<DevicePtr>(d);
    device.use();
    const Place place = place_of(device, heap);
    ost_heap_info_t info{sizeof info, OST_HEAP_DEVICE_LOCAL, 0};
    if (place == Place::device) info.bytes = device.info().memory_bytes;
    if (place == Place::managed) info.flags |= OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT;
    if (place == Place::pinned)
      info.flags = OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT | OST_HEAP_CACHED;
    ost::plugin::fill_out(out, info, "ost_heap_info_t");
  });
}
ost_status_t buffer_alloc(ost_device_t* d, uint32_t heap, uint64_t size, uint32_t align,
                          ost_dbuffer_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    const Place place = place_of(*device, heap);
    if ((align & (align - 1)) != 0) fail_rule(8, "alignment ", align, " is no power of two");
    if (align > kAlign) fail(OST_INVALID_ARGUMENT, "alignment ", align, ", HIP has ", kAlign);
    if (size > device->info().max_alloc)
      fail(OST_OUT_OF_MEMORY, size, " bytes, this device has ", device->info().max_alloc);
    auto memory = std::make_unique<Memory>(device->api(), device->index(), size, place,
                                           place == Place::device ? device->pool() : nullptr);
    handle_of(std::make_unique<Buffer>(Buffer{device, std::move(memory), size}), out);
  });
}
ost_status_t buffer_import_host(ost_device_t* d, void* pointer, uint64_t size, ost_dbuffer_t** out,
                                ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    if (!device->api().has_import())
      fail(OST_UNIMPLEMENTED, device->api().path, " cannot register memory of the host");
    if (pointer == nullptr || size == 0) fail(OST_INVALID_ARGUMENT, "there is no memory to import");
    if (reinterpret_cast<uintptr_t>(pointer) % kImportAlign != 0)
      fail(OST_INVALID_ARGUMENT, "memory at an address that is no multiple of ", kImportAlign);
    auto memory = std::make_unique<Memory>(device->api(), device->index(), pointer, size);
    handle_of(std::make_unique<Buffer>(Buffer{device, std::move(memory), size}), out);
  });
}
const Buffer& part(ost_dbuffer_t* b, uint64_t offset, uint64_t size, const void* data) {
  const Buffer& buffer = object<Buffer>(b);
  if (offset > buffer.size || size > buffer.size - offset)
    fail_rule(8, "bytes ", offset, " to ", offset + size, " of a buffer of ", buffer.size);
  if (size > 0 && data == nullptr) fail_rule(8, "the host memory is null");
  return buffer;
}
ost_status_t buffer_write(ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, const void* data,
                          uint64_t size, ost_error_t* e) {
  return fence(e, [&] {
    const Buffer& buffer = part(b, offset, size, data);
    object<DevicePtr>(d)->write(buffer, offset, data, size);
  });
}
ost_status_t buffer_read(ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, void* data,
                         uint64_t size, ost_error_t* e) {
  return fence(e, [&] {
    const Buffer& buffer = part(b, offset, size, data);
    object<DevicePtr>(d)->read(buffer, offset, data, size);
  });
}

ost_status_t buffer_map(ost_dbuffer_t* b, uint64_t offset, uint64_t size, void** out,
                        ost_error_t* e) {
  return fence(e, [&] {
    if (out == nullptr) fail_rule(5, "the out-parameter is null");
    const Buffer& buffer = part(b, offset, size, out);
    buffer.device->use();
    if (buffer.memory->host() == nullptr) fail(OST_INVALID_ARGUMENT, "heap 0 cannot be mapped");
    *out = buffer.memory->host() + offset;
  });
}
ost_status_t buffer_unmap(ost_dbuffer_t* b, ost_error_t* e) {
  return fence(e, [&] { object<Buffer>(b); });
}

}  // namespace

void memory_entries(ost_driver_table_t& t) {
  t.heap_count = [](ost_device_t* d) {
    return static_cast<uint32_t>(object<DevicePtr>(d)->heaps().size());
  };
  t.heap_info = heap_info;
  t.buffer_alloc = buffer_alloc;
  t.buffer_import_host = buffer_import_host;
  t.buffer_map = buffer_map;
  t.buffer_unmap = buffer_unmap;
  t.buffer_write = buffer_write;
  t.buffer_read = buffer_read;
  t.buffer_free = [](ost_device_t*, ost_dbuffer_t* b) { ost::plugin::destroy<Buffer>(b); };
}

}  // namespace hip
