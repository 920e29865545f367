// How an entry of a layered table calls the one below: through all layers and back.
#pragma once

#include <cstring>

#include "core/runtime/layers/layer.hpp"

namespace ost::runtime::layers {

inline void write_error(ost_error_t* out, const Error& e) {
  if (out == nullptr || out->size < sizeof *out) return;
  const uint32_t size = out->size;
  *out = {};
  out->size = size;
  out->status = e.status;
  out->native_code = e.native_code;
  out->flags = e.flags;
  out->rule = e.rule;
  std::memcpy(out->message, e.message.data(), std::min(e.message.size(), sizeof out->message - 1));
}

// Counts the calls that are on an object now.
class Use {
 public:
  explicit Use(Object* object) : object_(object) {
    if (object_ != nullptr) ++object_->users;
  }
  ~Use() {
    if (object_ != nullptr) --object_->users;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Object* object_;
};

// inner(error) is the call of the plugin. What it makes is added by `made`, after success.
template <typename Inner>
ost_status_t pass(Call& call, ost_error_t* error, Inner&& inner) {
  Stack& stack = *call.self->stack;
  const Use self(call.self);
  const Use other(call.other);
  ost_error_t own{};
  own.size = sizeof own;
  ost_error_t* const to = error != nullptr ? error : &own;
  call.error = to;
  ost_status_t status = OST_OK;
  size_t entered = 0;
  for (; entered < stack.layers.size() && status == OST_OK; ++entered) {
    if (const auto refusal = stack.layers[entered]->before(call)) {
      status = refusal->status;
      write_error(to, *refusal);
    }
  }
  if (status == OST_OK) status = inner(to);
  while (entered > 0) stack.layers[--entered]->after(call, status);
  return status;
}

// The object behind a handle. Without one the status is set, and validate hears of it.
inline Object* find(const void* handle, Kind kind, Entry entry, ost_error_t* error) {
  std::string why;
  Object* dead = nullptr;
  if (Object* found = Objects::all().find(handle, kind, &why, &dead)) return found;
  const std::string text = fmt::format("{} is called with {}", name_of(entry), why);
  write_error(error, Error{OST_INVALID_ARGUMENT, text, 0, 11, 0});
  if (dead != nullptr) {
    for (const auto& layer : dead->stack->layers) layer->wrong_handle(text);
  }
  return nullptr;
}

template <class T>
T* inner_of(const Object* object) {
  return static_cast<T*>(object->inner);
}

// The parts of the table, one file each.
void set_driver_entries(ost_driver_table_t& t);
void set_memory_entries(ost_driver_table_t& t);
void set_queue_entries(ost_driver_table_t& t);

}  // namespace ost::runtime::layers
