// Memory through layers.
#include "core/runtime/layers/pass.hpp"

namespace ost::runtime::layers {
namespace {

constexpr ost_status_t kBad = OST_INVALID_ARGUMENT;

uint32_t flags_of(Object* device, uint32_t heap) {
  ost_heap_info_t info{};
  info.size = sizeof info;
  const auto& table = device->stack->inner.entries;
  if (table.heap_info(inner_of<ost_device_t>(device), heap, &info, nullptr) != OST_OK) return 0;
  return info.flags;
}

ost_status_t adopt(Call& call, ost_dbuffer_t* inner, uint64_t bytes, uint32_t flags,
                   ost_dbuffer_t** out, ost_status_t status) {
  if (status != OST_OK || inner == nullptr) return status;
  call.made = Objects::all().add(Kind::buffer, inner, call.self->stack, call.self);
  call.made->bytes = bytes;
  call.made->heap_flags = flags;
  *out = handle_of<ost_dbuffer_t>(call.made);
  return status;
}

// An entry that takes a buffer and a range of it.
template <Entry entry, auto member>
ost_status_t range_entry(ost_dbuffer_t* b, uint64_t offset, uint64_t size, ost_error_t* error) {
  Object* self = find(b, Kind::buffer, entry, error);
  if (self == nullptr) return kBad;
  Call call{.entry = entry, .self = self, .offset = offset, .size = size};
  return pass(call, error, [&](ost_error_t* e) {
    return (self->stack->inner.entries.*member)(inner_of<ost_dbuffer_t>(self), offset, size, e);
  });
}

// The two blocking copies; Data is const for a write.
template <Entry entry, auto member, class Data>
ost_status_t copy_entry(ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, Data* data,
                        uint64_t size, ost_error_t* error) {
  Object* self = find(d, Kind::device, entry, error);
  Object* buffer = self != nullptr ? find(b, Kind::buffer, entry, error) : nullptr;
  if (buffer == nullptr) return kBad;
  Call call{
      .entry = entry, .self = self, .other = buffer, .offset = offset, .size = size, .in = data};
  return pass(call, error, [&](ost_error_t* e) {
    return (self->stack->inner.entries.*member)(
        inner_of<ost_device_t>(self), inner_of<ost_dbuffer_t>(buffer), offset, data, size, e);
  });
}

void set_heap_entries(ost_driver_table_t& t) {
  t.heap_count = [](ost_device_t* d) -> uint32_t {
    Object* self = find(d, Kind::device, Entry::heap_count, nullptr);
    if (self == nullptr) return 0;
    return self->stack->inner.entries.heap_count(inner_of<ost_device_t>(self));
  };
  t.heap_info = [](ost_device_t* d, uint32_t heap, ost_heap_info_t* out, ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::heap_info, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::heap_info, .self = self, .in = out, .in_size = sizeof *out};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.heap_info(inner_of<ost_device_t>(self), heap, out, e);
    });
  };
  t.buffer_alloc = [](ost_device_t* d, uint32_t heap, uint64_t bytes, uint32_t align,
                      ost_dbuffer_t** out, ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::buffer_alloc, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::buffer_alloc, .self = self, .size = bytes, .value = align};
    return pass(call, error, [&](ost_error_t* e) {
      ost_dbuffer_t* inner = nullptr;
      const auto& table = self->stack->inner.entries;
      const auto status =
          table.buffer_alloc(inner_of<ost_device_t>(self), heap, bytes, align, &inner, e);
      return adopt(call, inner, bytes, status == OST_OK ? flags_of(self, heap) : 0, out, status);
    });
  };
  t.buffer_import_host = [](ost_device_t* d, void* pointer, uint64_t bytes, ost_dbuffer_t** out,
                            ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::buffer_import_host, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::buffer_import_host, .self = self, .size = bytes, .in = pointer};
    return pass(call, error, [&](ost_error_t* e) {
      ost_dbuffer_t* inner = nullptr;
      const auto& table = self->stack->inner.entries;
      const auto status =
          table.buffer_import_host(inner_of<ost_device_t>(self), pointer, bytes, &inner, e);
      return adopt(call, inner, bytes, OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT, out, status);
    });
  };
  t.buffer_free = [](ost_device_t* d, ost_dbuffer_t* b) {
    if (b == nullptr) return;
    Object* self = find(d, Kind::device, Entry::buffer_free, nullptr);
    Object* buffer = self != nullptr ? find(b, Kind::buffer, Entry::buffer_free, nullptr) : nullptr;
    if (buffer == nullptr) return;
    Call call{.entry = Entry::buffer_free, .self = self, .other = buffer};
    pass(call, nullptr, [&](ost_error_t*) -> ost_status_t {
      self->stack->inner.entries.buffer_free(inner_of<ost_device_t>(self),
                                             inner_of<ost_dbuffer_t>(buffer));
      return OST_OK;
    });
    Objects::all().remove(buffer);
  };
}

}  // namespace

void set_memory_entries(ost_driver_table_t& t) {
  set_heap_entries(t);
  t.buffer_map = [](ost_dbuffer_t* b, uint64_t offset, uint64_t size, void** out,
                    ost_error_t* error) {
    Object* self = find(b, Kind::buffer, Entry::buffer_map, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::buffer_map, .self = self, .offset = offset, .size = size};
    return pass(call, error, [&](ost_error_t* e) {
      const auto& table = self->stack->inner.entries;
      const auto status = table.buffer_map(inner_of<ost_dbuffer_t>(self), offset, size, out, e);
      if (status == OST_OK) ++self->maps;
      return status;
    });
  };
  t.buffer_unmap = [](ost_dbuffer_t* b, ost_error_t* error) {
    Object* self = find(b, Kind::buffer, Entry::buffer_unmap, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::buffer_unmap, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      const auto status = self->stack->inner.entries.buffer_unmap(inner_of<ost_dbuffer_t>(self), e);
      --self->maps;
      return status;
    });
  };
  t.buffer_flush = &range_entry<Entry::buffer_flush, &ost_driver_table_t::buffer_flush>;
  t.buffer_invalidate =
      &range_entry<Entry::buffer_invalidate, &ost_driver_table_t::buffer_invalidate>;
  t.buffer_write = &copy_entry<Entry::buffer_write, &ost_driver_table_t::buffer_write, const void>;
  t.buffer_read = &copy_entry<Entry::buffer_read, &ost_driver_table_t::buffer_read, void>;
}

}  // namespace ost::runtime::layers
