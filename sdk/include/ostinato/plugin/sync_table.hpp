// The driver table of a synchronous device: every entry, fenced, from a SyncDriver.
//
//   class MyDriver : public ost::plugin::SyncDriver { ... explicit MyDriver(const
//   ost::plugin::Host&); ... }; ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in,
//   ost_negotiate_out_t* out) {
//     return ost::plugin::negotiate(in, out, {"my", "1.0", "Me"},
//     ost::plugin::sync_table<MyDriver>());
//   }
#ifndef OSTINATO_PLUGIN_SYNC_TABLE_HPP_
#define OSTINATO_PLUGIN_SYNC_TABLE_HPP_

#include "negotiate.hpp"
#include "sync_queue.hpp"

namespace ost::plugin {

namespace sync {

struct Driver {
  std::unique_ptr<SyncDriver> driver;
};
struct Device {
  DevicePtr state;
};

// Runs the body with the device; OST_DEVICE_LOST is remembered.
template <class Body>
ost_status_t device_fence(const DevicePtr& device, ost_error_t* error, Body&& body) noexcept {
  const ost_status_t status = fence(error, body);
  if (status == OST_DEVICE_LOST) device->lose();
  return status;
}
inline ost_status_t null_handle(ost_error_t* error) noexcept {
  return report(error, Failure(OST_INVALID_ARGUMENT, "a handle is null", 11).error());
}
inline std::span<const std::byte> bytes(ost_bytes_t b) {
  return {static_cast<const std::byte*>(b.data), b.size};
}
inline SyncDriver& driver_of(ost_driver_t* d) { return *object<Driver>(d).driver; }

inline std::byte* allocate(SyncDevice& device, uint64_t size, uint32_t align) {
  if ((align & (align - 1)) != 0) fail_rule(8, "alignment ", align, " is no power of two");
  // Memory is promised before it exists, so the allocator would agree to more than the machine has.
  const uint64_t most = device.heap_bytes();
  if (most != 0 && size > most) fail(OST_OUT_OF_MEMORY, size, " bytes of a heap that has ", most);
  return static_cast<std::byte*>(device.allocate(size, std::max(align, device.min_align())));
}

// --- entries

template <class MyDriver>
void driver_entries(ost_driver_table_t& t) {
  t.driver_create = [](const ost_host_table_t* host, ost_driver_t** out,
                       ost_error_t* error) noexcept {
    return fence(error, [&] {
      auto driver = std::make_unique<Driver>();
      driver->driver = std::make_unique<MyDriver>(Host(host));
      handle_of(std::move(driver), out);
    });
  };
  t.driver_destroy = [](ost_driver_t* d) noexcept { destroy<Driver>(d); };
  t.device_count = [](ost_driver_t* d, uint32_t* out, ost_sink_t reason,
                      ost_error_t* error) noexcept {
    return fence(error, [&] { *out = driver_of(d).device_count(reason); });
  };
  t.device_info = [](ost_driver_t* d, uint32_t index, ost_device_info_t* out,
                     ost_error_t* error) noexcept {
    return fence(error, [&] {
      const uint32_t count = driver_of(d).device_count({nullptr, nullptr});
      if (index >= count) fail(OST_NOT_FOUND, "device ", index, " of ", count);
      ost_device_info_t info{};
      info.size = sizeof info;
      driver_of(d).device_info(index, info);
      fill_out(out, info, "ost_device_info_t");
    });
  };
  t.compiler_key = [](ost_driver_t* d, ost_str_t target, ost_sink_t out,
                      ost_error_t* error) noexcept {
    return fence(error, [&] { put(out, driver_of(d).compiler_key(view(target))); });
  };
  t.compile = [](ost_driver_t* d, const ost_compile_t* job, ost_error_t* error) noexcept {
    return fence(error, [&] {
      check_size(job, "ost_compile_t");
      driver_of(d).compile(*job);
    });
  };
  t.image_check = [](ost_driver_t* d, const ost_device_info_t* info, ost_bytes_t image,
                     ost_fit_t* out, ost_sink_t reason, ost_error_t* error) noexcept {
    return fence(error, [&] {
      check_size(info, "ost_device_info_t");
      *out = driver_of(d).image_check(*info, bytes(image), reason);
    });
  };
  t.get_extension = [](ost_driver_t* d, ost_str_t name, uint32_t version) noexcept {
    const void* table = nullptr;
    fence([&] { table = driver_of(d).get_extension(view(name), version); });
    return table;
  };
}

inline void device_entries(ost_driver_table_t& t) {
  t.device_create = [](ost_driver_t* d, uint32_t index, ost_device_t** out,
                       ost_error_t* error) noexcept {
    return fence(error, [&] {
      const uint32_t count = driver_of(d).device_count({nullptr, nullptr});
      if (index >= count) fail(OST_NOT_FOUND, "device ", index, " of ", count);
      auto device = std::make_unique<Device>();
      device->state = std::make_shared<DeviceState>(driver_of(d).open(index));
      handle_of(std::move(device), out);
    });
  };
  t.device_destroy = [](ost_device_t* d) noexcept { destroy<Device>(d); };
  t.device_status = [](ost_device_t* d, ost_error_t* error) noexcept {
    return fence(error, [&] { object<Device>(d).state->get(); });
  };
  t.heap_count = [](ost_device_t*) noexcept { return uint32_t{1}; };
  t.heap_info = [](ost_device_t* d, uint32_t heap, ost_heap_info_t* out,
                   ost_error_t* error) noexcept {
    return fence(error, [&] {
      if (heap != 0) fail(OST_NOT_FOUND, "heap ", heap, " of 1");
      const uint32_t flags =
          OST_HEAP_DEVICE_LOCAL | OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT | OST_HEAP_CACHED;
      fill_out(out, {sizeof *out, flags, object<Device>(d).state->get().heap_bytes()},
               "ost_heap_info_t");
    });
  };
  t.executable_load = [](ost_device_t* d, ost_bytes_t image, ost_str_t path, ost_executable_t** out,
                         ost_error_t* error) noexcept {
    if (d == nullptr) return null_handle(error);
    const DevicePtr device = object<Device>(d).state;
    return device_fence(device, error, [&] {
      auto executable = std::make_unique<Executable>(Executable{device, nullptr});
      executable->executable = device->get().load(bytes(image), view(path));
      handle_of(std::move(executable), out);
    });
  };
  t.executable_unload = [](ost_executable_t* e) noexcept { destroy<Executable>(e); };
  t.executable_entry = [](ost_executable_t* e, ost_str_t name, uint32_t* out,
                          ost_error_t* error) noexcept {
    return fence(error, [&] { *out = object<Executable>(e).executable->entry(view(name)); });
  };
  // Host memory of another device can be imported; anything else has to be copied.
  t.link_query = [](ost_device_t* a, const ost_device_info_t* b, ost_link_t* out,
                    ost_error_t* error) noexcept {
    return fence(error, [&] {
      object<Device>(a).state->get();
      check_size(b, "ost_device_info_t");
      *out = (b->flags & OST_DEVICE_UNIFIED) != 0 ? OST_LINK_IMPORT : OST_LINK_COPY;
    });
  };
}

inline void memory_entries(ost_driver_table_t& t) {
  t.buffer_alloc = [](ost_device_t* d, uint32_t heap, uint64_t size, uint32_t align,
                      ost_dbuffer_t** out, ost_error_t* error) noexcept {
    return fence(error, [&] {
      if (heap != 0) fail(OST_NOT_FOUND, "heap ", heap, " of 1");
      const DevicePtr& device = object<Device>(d).state;
      auto buffer = std::make_unique<Buffer>(Buffer{device, nullptr, size, false});
      if (out == nullptr) fail_rule(5, "the out-parameter is null");
      buffer->data = allocate(device->get(), size, align);
      handle_of(std::move(buffer), out);
    });
  };
  t.buffer_free = [](ost_device_t*, ost_dbuffer_t* b) noexcept {
    if (b == nullptr) return;
    fence([&] {
      Buffer& buffer = object<Buffer>(b);
      if (!buffer.imported) buffer.device->even_if_lost().deallocate(buffer.data, buffer.size);
    });
    destroy<Buffer>(b);
  };
  t.buffer_map = [](ost_dbuffer_t* b, uint64_t offset, uint64_t size, void** out,
                    ost_error_t* error) noexcept {
    return fence(error, [&] {
      object<Buffer>(b).device->get();
      *out = part_of(object<Buffer>(b), offset, size).data;
    });
  };
  t.buffer_unmap = [](ost_dbuffer_t* b, ost_error_t* error) noexcept {
    return fence(error, [&] { object<Buffer>(b).device->get(); });
  };
  t.buffer_flush = [](ost_dbuffer_t* b, uint64_t offset, uint64_t size,
                      ost_error_t* error) noexcept {
    return fence(error, [&] { part_of(object<Buffer>(b), offset, size); });
  };
  t.buffer_invalidate = t.buffer_flush;
  t.buffer_import_host = [](ost_device_t* d, void* pointer, uint64_t size, ost_dbuffer_t** out,
                            ost_error_t* error) noexcept {
    return fence(error, [&] {
      const DevicePtr& device = object<Device>(d).state;
      const uint32_t align = device->get().import_align();
      if (pointer == nullptr && size > 0) fail_rule(8, "the imported pointer is null");
      if (reinterpret_cast<uintptr_t>(pointer) % align != 0) {
        fail_rule(8, "the imported pointer is not aligned to ", align, " bytes");
      }
      handle_of(
          std::make_unique<Buffer>(Buffer{device, static_cast<std::byte*>(pointer), size, true}),
          out);
    });
  };
  t.buffer_write = [](ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, const void* data,
                      uint64_t size, ost_error_t* error) noexcept {
    return fence(error, [&] {
      object<Device>(d).state->get();
      const Range to = part_of(object<Buffer>(b), offset, size);
      if (size > 0 && data == nullptr) fail_rule(8, "the host memory is null");
      if (size > 0) std::memcpy(to.data, data, size);
    });
  };
  t.buffer_read = [](ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, void* data, uint64_t size,
                     ost_error_t* error) noexcept {
    return fence(error, [&] {
      object<Device>(d).state->get();
      const Range from = part_of(object<Buffer>(b), offset, size);
      if (size > 0 && data == nullptr) fail_rule(8, "the host memory is null");
      if (size > 0) std::memcpy(data, from.data, size);
    });
  };
}

inline void timeline_entries(ost_driver_table_t& t) {
  t.timeline_create = [](ost_device_t*, uint64_t initial, ost_timeline_t** out,
                         ost_error_t* error) noexcept {
    return fence(error, [&] { handle_of(std::make_unique<Timeline>(initial), out); });
  };
  t.timeline_destroy = [](ost_timeline_t* l) noexcept { destroy<Timeline>(l); };
  t.timeline_query = [](ost_timeline_t* l, uint64_t* out, ost_error_t* error) noexcept {
    return fence(error, [&] {
      *out = object<Timeline>(l).value();
      *out = object<Timeline>(l).query();
    });
  };
  t.timeline_signal = [](ost_timeline_t* l, uint64_t value, ost_error_t* error) noexcept {
    return fence(error, [&] { object<Timeline>(l).signal(value); });
  };
  t.timeline_wait = [](ost_timeline_t* l, uint64_t value, uint64_t timeout_ns,
                       ost_error_t* error) noexcept {
    return fence(error, [&] { object<Timeline>(l).wait(value, timeout_ns); });
  };
  t.timeline_fail = [](ost_timeline_t* l, const ost_error_t* why) noexcept {
    return fence(nullptr, [&] {
      if (why == nullptr || why->size < sizeof *why) fail_rule(2, "the failure has no error");
      object<Timeline>(l).fail_with(*why);
    });
  };
}

inline void queue_entries(ost_driver_table_t& t) {
  t.queue_create = [](ost_device_t* d, ost_queue_t** out, ost_error_t* error) noexcept {
    return fence(error, [&] {
      const DevicePtr& device = object<Device>(d).state;
      device->get();
      auto queue = std::make_unique<Queue>();
      queue->device = device;
      handle_of(std::move(queue), out);
    });
  };
  t.queue_destroy = [](ost_queue_t* q) noexcept { destroy<Queue>(q); };
  t.queue_submit = [](ost_queue_t* q, const ost_point_t* waits, uint32_t wait_count,
                      const ost_command_t* commands, uint32_t command_count,
                      const ost_point_t* signals, uint32_t signal_count,
                      ost_error_t* error) noexcept {
    if (q == nullptr) return null_handle(error);
    Queue& queue = object<Queue>(q);
    return device_fence(queue.device, error, [&] {
      submit(queue, {waits, wait_count}, commands, command_count, {signals, signal_count});
    });
  };
  t.cmdlist_create = [](ost_device_t* d, const ost_command_t* commands, uint32_t command_count,
                        uint32_t slot_count, uint32_t var_count, ost_cmdlist_t** out,
                        ost_error_t* error) noexcept {
    return fence(error, [&] {
      handle_of(make_list(object<Device>(d).state, commands, command_count, slot_count, var_count),
                out);
    });
  };
  t.cmdlist_destroy = [](ost_cmdlist_t* l) noexcept { destroy<CommandList>(l); };
  t.profile_enable = [](ost_queue_t* q, uint32_t on, ost_error_t* error) noexcept {
    return fence(error, [&] { object<Queue>(q).profiling = on != 0; });
  };
  t.profile_drain = [](ost_queue_t* q, ost_profile_record_t* out, uint32_t capacity,
                       uint32_t* out_count, ost_error_t* error) noexcept {
    return fence(error, [&] {
      drain_records(object<Queue>(q).profile.records(), out, capacity, out_count);
    });
  };
}

}  // namespace sync

template <class MyDriver>
const ost_driver_table_t* sync_table() noexcept {
  static const ost_driver_table_t table = [] {
    ost_driver_table_t t{};
    t.size = sizeof t;
    sync::driver_entries<MyDriver>(t);
    sync::device_entries(t);
    sync::memory_entries(t);
    sync::timeline_entries(t);
    sync::queue_entries(t);
    return t;
  }();
  return &table;
}

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_SYNC_TABLE_HPP_
