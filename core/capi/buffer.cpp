// Device memory that a program shares with the library.
#include "core/capi/handles.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

Result<> make_buffer(ost_context_t* context, const char* device, ost_buffer_t** out_buffer,
                     auto&& make) {
  OST_TRY(require(out_buffer, "out_buffer"));
  *out_buffer = nullptr;
  OST_TRY(require(context, "context"));
  OST_TRY_ASSIGN(const auto opened, context->state->open(device));
  OST_TRY_ASSIGN(auto buffer, make(opened));
  *out_buffer = new ost_buffer_t{1, context->state, std::move(buffer)};
  return {};
}

Result<> check_range(const ost_buffer_t* buffer, uint64_t offset, const void* data,
                     uint64_t bytes) {
  OST_TRY(require(buffer, "buffer"));
  if (bytes > 0) OST_TRY(require(data, "data"));
  if (offset > buffer->buffer->bytes() || bytes > buffer->buffer->bytes() - offset) {
    return fail(OST_INVALID_ARGUMENT, "bytes {} to {} are outside the buffer, which has {}", offset,
                offset + bytes, buffer->buffer->bytes());
  }
  return {};
}

// Gives memory back to whoever imported it.
struct Owner {
  void (*release)(void* user) = nullptr;
  void* user = nullptr;
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (release != nullptr) release(user);
  }
};

}  // namespace

extern "C" {

ost_status_t ost_buffer_create(ost_context_t* context, const char* device, uint64_t bytes,
                               ost_buffer_t** out_buffer, ost_error_t* error) {
  return guard(error, [&] {
    return make_buffer(context, device, out_buffer,
                       [&](const auto& d) { return runtime::Buffer::allocate(d, bytes); });
  });
}

ost_status_t ost_buffer_import(ost_context_t* context, const char* device, void* data,
                               uint64_t bytes, ost_buffer_t** out_buffer, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(data, "data"));
    return make_buffer(context, device, out_buffer, [&](const auto& d) {
      return runtime::Buffer::import_host(d, data, bytes, nullptr);
    });
  });
}

ost_status_t ost_buffer_import_owned(ost_context_t* context, const char* device, void* data,
                                     uint64_t bytes, void (*release)(void* user), void* user,
                                     ost_buffer_t** out_buffer, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(data, "data"));
    if (release == nullptr) return fail(OST_INVALID_ARGUMENT, "release is NULL");
    const auto owner = std::make_shared<Owner>();
    OST_TRY(make_buffer(context, device, out_buffer, [&](const auto& d) {
      return runtime::Buffer::import_host(d, data, bytes, owner);
    }));
    owner->release = release;
    owner->user = user;
    return {};
  });
}

void ost_buffer_retain(ost_buffer_t* buffer) { retain(buffer); }
void ost_buffer_release(ost_buffer_t* buffer) { release(buffer); }

uint64_t ost_buffer_bytes(const ost_buffer_t* buffer) {
  return buffer == nullptr ? 0 : buffer->buffer->bytes();
}

ost_status_t ost_buffer_map(ost_buffer_t* buffer, void** out_data, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_data, "out_data"));
    *out_data = nullptr;
    OST_TRY(require(buffer, "buffer"));
    if (buffer->buffer->bytes() == 0) return {};
    OST_TRY_ASSIGN(uint8_t* const data, buffer->buffer->map());
    if (data == nullptr) {
      return fail(OST_UNIMPLEMENTED, "{}: the host cannot see the device's memory; read it instead",
                  buffer->buffer->device()->id());
    }
    *out_data = data;
    return {};
  });
}

ost_status_t ost_buffer_write(ost_buffer_t* buffer, uint64_t offset, const void* data,
                              uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(check_range(buffer, offset, data, bytes));
    if (bytes == 0) return {};
    return buffer->buffer->write(offset, std::span(static_cast<const uint8_t*>(data), bytes));
  });
}

ost_status_t ost_buffer_read(const ost_buffer_t* buffer, uint64_t offset, void* data,
                             uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(check_range(buffer, offset, data, bytes));
    if (bytes == 0) return {};
    return buffer->buffer->read(offset, std::span(static_cast<uint8_t*>(data), bytes));
  });
}

}  // extern "C"
