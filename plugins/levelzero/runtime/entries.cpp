// The entries of the driver table that need a device: each is a few lines around the objects of the
// other files.
#include <algorithm>

#include "../driver.hpp"
#include "queue.hpp"

namespace levelzero {
namespace {

using ost::plugin::fail;
using ost::plugin::fail_rule;
using ost::plugin::fence;
using ost::plugin::handle_of;
using ost::plugin::object;

using ExecutableHandle = std::shared_ptr<Executable>;
using ListHandle = std::shared_ptr<RecordedCommands>;

// --- devices

ost_status_t device_create(ost_driver_t* d, uint32_t index, ost_device_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const Driver& driver = object<Driver>(d);
    if (index >= driver.infos.size())
      fail(OST_NOT_FOUND, "device ", index, " of ", driver.infos.size());
    const ost_device_info_t& info = driver.infos[index];
    if ((info.flags & (OST_DEVICE_UNUSABLE | OST_DEVICE_COMPILE_ONLY)) != 0)
      fail(OST_UNAVAILABLE, info.reason);
    handle_of(std::make_unique<DevicePtr>(std::make_shared<Device>(driver.runtime, index)), out);
  });
}
void device_destroy(ost_device_t* d) {
  if (d == nullptr) return;
  fence([&] { object<DevicePtr>(d)->uses().wait_until_idle(); });
  ost::plugin::destroy<DevicePtr>(d);
}
ost_status_t device_status(ost_device_t* d, ost_error_t* e) {
  return fence(e, [&] { object<DevicePtr>(d)->use(); });
}

// --- memory: heap 0 is the device's, 1 the host's, 2 moves between them, where devices have it

uint32_t heaps(const Device& device) {
  return (device.access().shared & ze::kAccessRw) != 0 ? 3 : 2;
}
uint32_t heap_count(ost_device_t* d) { return d != nullptr ? heaps(*object<DevicePtr>(d)) : 0; }

Heap checked_heap(const Device& device, uint32_t heap) {
  if (heap >= heaps(device)) fail(OST_NOT_FOUND, "heap ", heap, " of ", heaps(device));
  return static_cast<Heap>(heap);
}

ost_status_t heap_info(ost_device_t* d, uint32_t heap, ost_heap_info_t* out, ost_error_t* e) {
  return fence(e, [&] {
    const Device& device = *object<DevicePtr>(d);
    device.use();
    constexpr uint32_t kHost = OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT | OST_HEAP_CACHED;
    ost_heap_info_t info{sizeof *out, kHost, 0};
    const Heap which = checked_heap(device, heap);
    if (which != Heap::host) info.bytes = device.info().memory_bytes;
    if (which == Heap::device) info.flags = OST_HEAP_DEVICE_LOCAL;
    if (which == Heap::shared) info.flags |= OST_HEAP_DEVICE_LOCAL;
    ost::plugin::fill_out(out, info, "ost_heap_info_t");
  });
}

ost_status_t buffer_alloc(ost_device_t* d, uint32_t heap, uint64_t size, uint32_t align,
                          ost_dbuffer_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    const Heap which = checked_heap(*device, heap);
    if ((align & (align - 1)) != 0) fail_rule(8, "alignment ", align, " is no power of two");
    auto memory = device->pool().allocate(which, size, std::max(align, kAlign));
    handle_of(std::make_unique<Buffer>(Buffer{device, std::move(memory), size}), out);
  });
}

ost_status_t buffer_import_host(ost_device_t* d, void* pointer, uint64_t size, ost_dbuffer_t** out,
                                ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    if (pointer == nullptr && size > 0) fail_rule(8, "the imported pointer is null");
    if (reinterpret_cast<uintptr_t>(pointer) % kAlign != 0)
      fail_rule(8, "the imported pointer is not aligned to ", kAlign, " bytes");
    MemoryPtr memory = import_host(*device, pointer, size);
    if (memory == nullptr)
      fail(OST_UNIMPLEMENTED, "this device cannot use that memory of the process");
    handle_of(std::make_unique<Buffer>(Buffer{device, std::move(memory), size}), out);
  });
}

const Buffer& part(ost_dbuffer_t* b, uint64_t offset, uint64_t size, const void* data) {
  const Buffer& buffer = object<Buffer>(b);
  if (offset > buffer.size || size > buffer.size - offset)
    fail_rule(8, "bytes ", offset, " to ", offset, " + ", size, " of a buffer of ", buffer.size);
  if (size > 0 && data == nullptr) fail_rule(8, "the host memory is null");
  return buffer;
}
ost_status_t buffer_write(ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, const void* data,
                          uint64_t size, ost_error_t* e) {
  return fence(
      e, [&] { object<DevicePtr>(d)->write(part(b, offset, size, data), offset, data, size); });
}
ost_status_t buffer_read(ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, void* data,
                         uint64_t size, ost_error_t* e) {
  return fence(
      e, [&] { object<DevicePtr>(d)->read(part(b, offset, size, data), offset, data, size); });
}

ost_status_t buffer_map(ost_dbuffer_t* b, uint64_t offset, uint64_t size, void** out,
                        ost_error_t* e) {
  return fence(e, [&] {
    if (out == nullptr) fail_rule(5, "the out-parameter is null");
    const Buffer& buffer = part(b, offset, size, out);
    buffer.device->use();
    if (!buffer.memory->on_host()) fail(OST_INVALID_ARGUMENT, "heap 0 cannot be mapped");
    *out = buffer.data() + offset;
  });
}
ost_status_t buffer_unmap(ost_dbuffer_t* b, ost_error_t* e) {
  return fence(e, [&] { object<Buffer>(b); });
}

// --- queues and command lists

ost_status_t queue_create(ost_device_t* d, ost_queue_t** out, ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    handle_of(std::make_unique<Queue>(device), out);
  });
}

ost_status_t queue_submit(ost_queue_t* q, const ost_point_t* waits, uint32_t wait_count,
                          const ost_command_t* commands, uint32_t command_count,
                          const ost_point_t* signals, uint32_t signal_count, ost_error_t* e) {
  return ost::plugin::submit_commands<Buffer, Executable>(
      waits, wait_count, commands, command_count, signals, signal_count, kAlign, e,
      [q](std::vector<Command> copied, ost::plugin::Worker::Job job) {
        object<Queue>(q).submit(std::move(copied), std::move(job));
      });
}

ost_status_t cmdlist_create(ost_device_t* d, const ost_command_t* commands, uint32_t command_count,
                            uint32_t slot_count, uint32_t var_count, ost_cmdlist_t** out,
                            ost_error_t* e) {
  return fence(e, [&] {
    const DevicePtr& device = object<DevicePtr>(d);
    device->use();
    handle_of(std::make_unique<ListHandle>(std::make_shared<CommandList>(
                  device, commands, command_count, slot_count, var_count)),
              out);
  });
}

ost_status_t profile_enable(ost_queue_t* q, uint32_t on, ost_error_t* e) {
  return fence(e, [&] { object<Queue>(q).enable_profile(on != 0); });
}
ost_status_t profile_drain(ost_queue_t* q, ost_profile_record_t* out, uint32_t capacity,
                           uint32_t* out_count, ost_error_t* e) {
  return fence(e, [&] { object<Queue>(q).drain_profile(out, capacity, out_count); });
}

// --- executables

ost_status_t executable_load(ost_device_t* d, ost_bytes_t image, ost_str_t, ost_executable_t** out,
                             ost_error_t* e) {
  return fence(e, [&] {
    const Image parsed = parse_image({static_cast<const std::byte*>(image.data), image.size});
    handle_of(std::make_unique<ExecutableHandle>(
                  std::make_shared<Executable>(object<DevicePtr>(d), parsed)),
              out);
  });
}
ost_status_t executable_entry(ost_executable_t* x, ost_str_t name, uint32_t* out, ost_error_t* e) {
  return fence(e, [&] {
    const Executable& executable = *object<ExecutableHandle>(x);
    if (ost::plugin::view(name) != executable.entry())
      fail(OST_NOT_FOUND, "the image has no kernel ", ost::plugin::view(name), ", it has ",
           executable.entry());
    *out = 0;
  });
}

}  // namespace

void runtime_entries(ost_driver_table_t& t) {
  t.device_create = device_create;
  t.device_destroy = device_destroy;
  t.device_status = device_status;
  t.heap_count = heap_count;
  t.heap_info = heap_info;
  t.buffer_alloc = buffer_alloc;
  t.buffer_free = [](ost_device_t*, ost_dbuffer_t* b) { ost::plugin::destroy<Buffer>(b); };
  t.buffer_map = buffer_map;
  t.buffer_unmap = buffer_unmap;
  t.buffer_import_host = buffer_import_host;
  t.buffer_write = buffer_write;
  t.buffer_read = buffer_read;
  t.queue_create = queue_create;
  t.queue_destroy = [](ost_queue_t* q) { ost::plugin::destroy<Queue>(q); };
  ost::plugin::timeline_entries(t);
  t.queue_submit = queue_submit;
  t.executable_load = executable_load;
  t.executable_unload = [](ost_executable_t* x) { ost::plugin::destroy<ExecutableHandle>(x); };
  t.executable_entry = executable_entry;
  t.cmdlist_create = cmdlist_create;
  t.cmdlist_destroy = [](ost_cmdlist_t* l) { ost::plugin::destroy<ListHandle>(l); };
  t.profile_enable = profile_enable;
  t.profile_drain = profile_drain;
}

}  // namespace levelzero
