#include "core/capi/boundary.hpp"

#include <new>

namespace ost::capi {

void write_error(ost_error_t* out, const Error& error) noexcept {
  // A smaller struct would be one of an older header, which does not exist; size 0 is a caller who
  // forgot to set it.
  if (out == nullptr || out->size < sizeof(ost_error_t)) return;
  out->status = error.status;
  out->native_code = error.native_code;
  out->flags = error.flags;
  out->rule = error.rule;
  const size_t room = sizeof out->message - 1;
  size_t size = std::min(error.message.size(), room);
  // Not within a UTF-8 sequence.
  if (size < error.message.size()) {
    size = room - 3;
    while (size > 0 && (static_cast<unsigned char>(error.message[size]) & 0xc0u) == 0x80u) --size;
  }
  std::memcpy(out->message, error.message.data(), size);
  std::memcpy(out->message + size, size < error.message.size() ? "..." : "",
              size < error.message.size() ? 4 : 1);
}

ost_status_t write_exception(ost_error_t* out) noexcept {
  Error error{OST_INTERNAL, {}};
  try {
    throw;
  } catch (const std::bad_alloc&) {
    error.status = OST_OUT_OF_MEMORY;
    if (out != nullptr && out->size >= sizeof(ost_error_t)) {  // without allocating
      *out = ost_error_t{sizeof(ost_error_t), OST_OUT_OF_MEMORY, 0, 0, 0, "out of host memory"};
    }
    return error.status;
  } catch (const std::exception& e) {
    try {
      error.message = std::string("unexpected exception, please report it: ") + e.what();
    } catch (...) {
    }
  } catch (...) {
    try {
      error.message = "unexpected exception of an unknown type, please report it";
    } catch (...) {
    }
  }
  write_error(out, error);
  return error.status;
}

}  // namespace ost::capi
