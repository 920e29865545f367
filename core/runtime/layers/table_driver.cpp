// Driver, devices, compiler and executables through layers.
#include <algorithm>

#include "core/runtime/layers/pass.hpp"

namespace ost::runtime::layers {
namespace {

constexpr ost_status_t kBad = OST_INVALID_ARGUMENT;

std::string_view view(ost_str_t text) {
  return text.data != nullptr ? std::string_view(text.data, text.size) : std::string_view();
}

// driver_create has nothing but the host table; the slot says whose it is.
Stack* stacks[kSlots];

ost_status_t create(size_t slot, const ost_host_table_t* host, ost_driver_t** out,
                    ost_error_t* error) {
  Stack& stack = *stacks[slot];
  ost_driver_t* inner = nullptr;
  const ost_status_t status = stack.inner.entries.driver_create(host, &inner, error);
  if (status != OST_OK) return status;
  *out = inner == nullptr
             ? nullptr
             : handle_of<ost_driver_t>(Objects::all().add(Kind::driver, inner, &stack, nullptr));
  return OST_OK;
}

using CreateEntry = decltype(ost_driver_table_t::driver_create);
template <size_t Slot>
ost_status_t create_of(const ost_host_table_t* host, ost_driver_t** out, ost_error_t* error) {
  return create(Slot, host, out, error);
}
template <size_t... Slots>
CreateEntry create_entry(size_t slot, std::index_sequence<Slots...>) {
  constexpr CreateEntry kEntries[] = {&create_of<Slots>...};
  return kEntries[slot];
}

// For the destroy entries: nothing if the handle is NULL.
template <class Handle, typename Inner>
void destroy(Handle* handle, Kind kind, Entry entry, Inner&& inner) {
  if (handle == nullptr) return;
  Object* self = find(handle, kind, entry, nullptr);
  if (self == nullptr) return;
  Call call{.entry = entry, .self = self};
  pass(call, nullptr, [&](ost_error_t*) -> ost_status_t {
    inner(self->stack->inner.entries, static_cast<Handle*>(self->inner));
    return OST_OK;
  });
  Objects::all().remove(self);
}

template <class Handle>
ost_status_t adopt(Call& call, Kind kind, Handle* inner, Handle** out, ost_status_t status) {
  if (status != OST_OK || inner == nullptr) return status;
  call.made = Objects::all().add(kind, inner, call.self->stack, call.self);
  *out = handle_of<Handle>(call.made);
  return status;
}

void set_device_entries(ost_driver_table_t& t) {
  t.device_count = [](ost_driver_t* d, uint32_t* out, ost_sink_t reason, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::device_count, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::device_count, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.device_count(inner_of<ost_driver_t>(self), out, reason, e);
    });
  };
  t.device_info = [](ost_driver_t* d, uint32_t index, ost_device_info_t* out, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::device_info, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::device_info, .self = self, .in = out, .in_size = sizeof *out};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.device_info(inner_of<ost_driver_t>(self), index, out, e);
    });
  };
  t.device_create = [](ost_driver_t* d, uint32_t index, ost_device_t** out, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::device_create, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::device_create, .self = self, .value = index};
    return pass(call, error, [&](ost_error_t* e) {
      ost_device_t* inner = nullptr;
      const auto& table = self->stack->inner.entries;
      const auto status = table.device_create(inner_of<ost_driver_t>(self), index, &inner, e);
      return adopt(call, Kind::device, inner, out, status);
    });
  };
  t.device_destroy = [](ost_device_t* d) {
    destroy(d, Kind::device, Entry::device_destroy,
            [](const auto& table, ost_device_t* inner) { table.device_destroy(inner); });
  };
  t.device_status = [](ost_device_t* d, ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::device_status, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::device_status, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.device_status(inner_of<ost_device_t>(self), e);
    });
  };
  t.link_query = [](ost_device_t* a, const ost_device_info_t* b, ost_link_t* out,
                    ost_error_t* error) {
    Object* self = find(a, Kind::device, Entry::link_query, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::link_query, .self = self, .in = b, .in_size = sizeof *b};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.link_query(inner_of<ost_device_t>(self), b, out, e);
    });
  };
}

void set_compiler_entries(ost_driver_table_t& t) {
  t.compiler_key = [](ost_driver_t* d, ost_str_t target, ost_sink_t out, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::compiler_key, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::compiler_key, .self = self, .text = view(target)};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.compiler_key(inner_of<ost_driver_t>(self), target, out, e);
    });
  };
  t.compile = [](ost_driver_t* d, const ost_compile_t* job, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::compile, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::compile,
              .self = self,
              .text = job != nullptr ? view(job->entry) : std::string_view(),
              .in = job,
              .in_size = sizeof *job};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.compile(inner_of<ost_driver_t>(self), job, e);
    });
  };
  t.image_check = [](ost_driver_t* d, const ost_device_info_t* info, ost_bytes_t image,
                     ost_fit_t* out, ost_sink_t reason, ost_error_t* error) {
    Object* self = find(d, Kind::driver, Entry::image_check, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::image_check, .self = self, .in = info, .in_size = sizeof *info};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.image_check(inner_of<ost_driver_t>(self), info, image, out,
                                                    reason, e);
    });
  };
}

void set_executable_entries(ost_driver_table_t& t) {
  t.executable_load = [](ost_device_t* d, ost_bytes_t image, ost_str_t path, ost_executable_t** out,
                         ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::executable_load, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::executable_load, .self = self, .size = image.size};
    return pass(call, error, [&](ost_error_t* e) {
      ost_executable_t* inner = nullptr;
      const auto& table = self->stack->inner.entries;
      const auto status =
          table.executable_load(inner_of<ost_device_t>(self), image, path, &inner, e);
      return adopt(call, Kind::executable, inner, out, status);
    });
  };
  t.executable_unload = [](ost_executable_t* x) {
    destroy(x, Kind::executable, Entry::executable_unload,
            [](const auto& table, ost_executable_t* inner) { table.executable_unload(inner); });
  };
  t.executable_entry = [](ost_executable_t* x, ost_str_t name, uint32_t* out, ost_error_t* error) {
    Object* self = find(x, Kind::executable, Entry::executable_entry, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::executable_entry, .self = self, .text = view(name)};
    return pass(call, error, [&](ost_error_t* e) {
      const auto& table = self->stack->inner.entries;
      const auto status = table.executable_entry(inner_of<ost_executable_t>(self), name, out, e);
      if (status == OST_OK) {
        const std::scoped_lock lock(self->mutex);
        self->entries[*out] = view(name);
      }
      return status;
    });
  };
}

}  // namespace

std::string_view name_of(Entry entry) {
  constexpr std::string_view kNames[] = {
#define X(name, required) #name,
      OST_DRIVER_ENTRIES(X)
#undef X
  };
  return kNames[static_cast<size_t>(entry)];
}

void set_driver_entries(ost_driver_table_t& t) {
  t.driver_destroy = [](ost_driver_t* d) {
    destroy(d, Kind::driver, Entry::driver_destroy,
            [](const auto& table, ost_driver_t* inner) { table.driver_destroy(inner); });
  };
  t.get_extension = [](ost_driver_t* d, ost_str_t name, uint32_t version) -> const void* {
    Object* self = find(d, Kind::driver, Entry::get_extension, nullptr);
    if (self == nullptr) return nullptr;
    // An extension takes handles that layers know nothing of, so there is none.
    (void)name, (void)version;
    return nullptr;
  };
  set_device_entries(t);
  set_compiler_entries(t);
  set_executable_entries(t);
}

DriverTable layered_table(Stack& stack, size_t slot) {
  stacks[slot] = &stack;
  DriverTable out = stack.inner;  // what it has and has not stays
  out.entries.driver_create = create_entry(slot, std::make_index_sequence<kSlots>());
  set_driver_entries(out.entries);
  set_memory_entries(out.entries);
  set_queue_entries(out.entries);
  return out;
}

}  // namespace ost::runtime::layers
