// The edge between C and the core: errors and exceptions become ost_error_t, versioned structs are
// read and written.
#pragma once

#include <ostinato/ostinato.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ost::capi {

// `out` may be NULL. A message that does not fit ends in "...".
void write_error(ost_error_t* out, const Error& error) noexcept;
// For a catch (...) block: what is being handled, as an error.
ost_status_t write_exception(ost_error_t* out) noexcept;

// The body of every entry point that can fail.
template <typename Body>
ost_status_t guard(ost_error_t* error, Body&& body) noexcept {
  try {
    const Result<> result = body();
    if (result) return OST_OK;
    write_error(error, result.error());
    return result.error().status;
  } catch (...) {
    return write_exception(error);
  }
}

// The body of an entry point that cannot fail by its declaration; what is thrown all the same gives
// `otherwise`.
template <typename T, typename Body>
T guard_value(T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

// What a callback of the user returned, as an error of the call that it was made for.
inline Error callback_error(std::string_view what, ost_status_t status, const ost_error_t& error) {
  const std::string message =
      error.message[0] == '\0' ? std::string("no message was given") : std::string(error.message);
  return {status, fmt::format("{} failed: {}", what, message), error.native_code, error.rule,
          error.flags};
}

inline Result<> require(const void* pointer, std::string_view what) {
  if (pointer != nullptr) return {};
  return fail(OST_INVALID_ARGUMENT, "{} is NULL", what);
}

// A list of `count` items; NULL is allowed if there are none.
template <typename T>
Result<std::span<const T>> list(const T* items, uint32_t count, std::string_view what) {
  if (items == nullptr && count > 0)
    return fail(OST_INVALID_ARGUMENT, "{} is NULL, but its count is {}", what, count);
  return std::span<const T>(items, count);
}

inline Result<> check_index(uint32_t index, size_t count, std::string_view what) {
  if (index < count) return {};
  return fail(OST_INVALID_ARGUMENT, "{} {} does not exist, there are {}", what, index, count);
}

// The size that a struct had in version 1.0, which stays acceptable. A struct that grows gets a
// specialisation.
template <typename T>
inline constexpr uint32_t kFirstSize = sizeof(T);
template <>
inline constexpr uint32_t kFirstSize<ost_jit_options_t> = 16;

template <>
inline constexpr uint32_t kFirstSize<ost_compile_options_t> = 32;
template <>
inline constexpr uint32_t kFirstSize<ost_program_desc_t> = 88;

// Options: NULL is all defaults; a struct of a newer header is fine as long as what we do not know
// is zero.
template <typename T>
Result<T> read_options(const T* in, std::string_view what) {
  T out{};
  out.size = sizeof(T);
  if (in == nullptr) return out;
  if (in->size < kFirstSize<T>) {
    return fail(OST_INVALID_ARGUMENT, "{}: size is {}, wanted at least {}; set it to sizeof", what,
                in->size, kFirstSize<T>);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  for (size_t i = sizeof(T); i < in->size; ++i) {
    if (bytes[i] != 0) {
      return fail(OST_INCOMPATIBLE,
                  "{}: byte {} is set and this library, {}, does not know it; use a newer library",
                  what, i, ost_version_text());
    }
  }
  std::memcpy(&out, in, std::min<size_t>(in->size, sizeof(T)));
  return out;
}

// A description: as much as the caller's struct holds, the rest of it zero.
template <typename T>
Result<> write_struct(T* out, const T& value, std::string_view what) {
  OST_TRY(require(out, what));
  if (out->size < kFirstSize<T>) {
    return fail(OST_INVALID_ARGUMENT, "{}: size is {}, wanted at least {}; set it to sizeof", what,
                out->size, kFirstSize<T>);
  }
  const uint32_t size = out->size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &value, std::min<size_t>(size, sizeof(T)));
  out->size = size;
  return {};
}

inline Result<> write_text(const ost_sink_t* sink, std::string_view text) {
  if (sink == nullptr || sink->write == nullptr)
    return fail(OST_INVALID_ARGUMENT, "the sink is NULL or has no write function");
  sink->write(sink->context, text.data(), text.size());
  return {};
}

// Handles with retain and release: a counter in front of what is shared.
template <typename T>
void retain(T* object) noexcept {
  if (object != nullptr) object->references.fetch_add(1, std::memory_order_relaxed);
}
template <typename T>
void release(T* object) noexcept {
  if (object != nullptr && object->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete object;
}

}  // namespace ost::capi
