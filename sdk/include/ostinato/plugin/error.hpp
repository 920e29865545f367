// Errors of a plugin in C++: throw Failure inside, and let `fence` turn whatever is thrown into the
// status and the caller-owned ost_error_t of the C ABI. Invariant: no exception leaves a fence
// (rule 5).
#ifndef OSTINATO_PLUGIN_ERROR_HPP_
#define OSTINATO_PLUGIN_ERROR_HPP_

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "../plugin.h"

namespace ost::plugin {

namespace detail {
inline void append(std::string& out, std::string_view text) { out += text; }
template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
void append(std::string& out, T number) {
  out += std::to_string(+number);
}
}  // namespace detail

// cat("found ", 3, ", wanted ", 4): the pieces in one string.
template <class... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string out;
  (detail::append(out, pieces), ...);
  return out;
}

inline std::string_view view(ost_str_t text) {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}
inline ost_str_t str(std::string_view text) { return {text.data(), text.size()}; }

// Copies text into a fixed array of chars, cut at a whole UTF-8 character, always NUL-terminated.
inline void copy_text(char* out, size_t capacity, std::string_view text) noexcept {
  size_t n = text.size() < capacity ? text.size() : capacity - 1;
  if (n < text.size()) {
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  }
  if (n > 0) std::memcpy(out, text.data(), n);
  out[n] = '\0';
}
template <size_t N>
void copy_text(char (&out)[N], std::string_view text) noexcept {
  copy_text(out, N, text);
}

// What went wrong, in the form in which it crosses the ABI. Copying it cannot fail.
class Failure : public std::exception {
 public:
  Failure(ost_status_t status, std::string_view message, uint32_t rule = 0,
          int64_t native_code = 0) noexcept {
    error_.size = sizeof error_;
    error_.status = status;
    error_.native_code = native_code;
    error_.flags = status == OST_DEVICE_LOST ? OST_ERROR_FLAG_DEVICE_LOST : 0;
    error_.rule = rule;
    copy_text(error_.message, message);
  }
  explicit Failure(const ost_error_t& error) noexcept : error_(error) {
    error_.size = sizeof error_;
    if (error_.status == OST_OK) error_.status = OST_INTERNAL;
    error_.message[OST_ERROR_MESSAGE_SIZE - 1] = '\0';
  }
  const char* what() const noexcept override { return error_.message; }
  ost_status_t status() const noexcept { return error_.status; }
  const ost_error_t& error() const noexcept { return error_; }

 private:
  ost_error_t error_{};
};

// fail(OST_NOT_FOUND, "no kernel named '", name, "'")
template <class... Pieces>
[[noreturn]] void fail(ost_status_t status, const Pieces&... pieces) {
  throw Failure(status, cat(pieces...));
}
// The caller broke rule number `rule` of plugin.h.
template <class... Pieces>
[[noreturn]] void fail_rule(uint32_t rule, const Pieces&... pieces) {
  throw Failure(OST_INVALID_ARGUMENT, cat(pieces...), rule);
}

// Fills the caller's error, if there is one and it has room, and returns its status.
inline ost_status_t report(ost_error_t* out, const ost_error_t& error) noexcept {
  if (out != nullptr && out->size >= sizeof error) {
    const uint32_t size = out->size;
    *out = error;
    out->size = size;
  }
  return error.status;
}

// The exception that is being handled, as a Failure. Only inside a catch block.
inline Failure current_failure() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return {OST_OUT_OF_MEMORY, "out of host memory"};
  } catch (const std::exception& e) {
    return {OST_INTERNAL, e.what()};
  } catch (...) {
    return {OST_INTERNAL, "an unknown exception was thrown"};
  }
}

template <class Body>
ost_status_t fence(ost_error_t* error, Body&& body) noexcept {
  try {
    body();
    return OST_OK;
  } catch (...) {
    return report(error, current_failure().error());
  }
}

// For entries that return nothing: what a destructor throws is dropped.
template <class Body>
void fence(Body&& body) noexcept {
  try {
    body();
  } catch (...) {
    return;
  }
}

// Rule 2 for a struct that comes in: not shorter than version 1.0 had it, and nothing set that this
// side cannot know.
template <class T>
void check_size(const T* in, const char* type, uint32_t v1_size = sizeof(T)) {
  if (in == nullptr) fail_rule(2, type, " is null");
  if (in->size < v1_size) {
    fail_rule(2, type, " has size ", in->size, ", wanted at least ", v1_size);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  for (uint32_t i = sizeof(T); i < in->size; ++i) {
    if (bytes[i] != 0) {
      throw Failure(OST_INCOMPATIBLE,
                    cat(type, " uses a field at byte ", i, " that this plugin does not know"), 2);
    }
  }
}

// Rule 2 for a struct that goes out: fills as much as the caller has room for, and keeps the
// caller's size.
template <class T>
void fill_out(T* out, const T& value, const char* type, uint32_t v1_size = sizeof(T)) {
  if (out == nullptr) fail_rule(2, type, " is null");
  const uint32_t size = out->size;
  if (size < v1_size) fail_rule(2, type, " has size ", size, ", wanted at least ", v1_size);
  std::memcpy(out, &value, size < sizeof(T) ? size : sizeof(T));
  out->size = size;
}

inline void put(const ost_sink_t& sink, std::string_view text) {
  if (sink.write != nullptr) sink.write(sink.context, text.data(), text.size());
}

// What a plugin may ask of the host (rule 4). A host that is older than this header has the entries
// of its own size.
class Host {
 public:
  explicit Host(const ost_host_table_t* table) : table_(table) { check_size(table, "host table"); }
  void log(uint32_t level, std::string_view message) const {
    if (table_->log != nullptr) table_->log(table_->context, level, str(message));
  }
  bool should_abort() const {
    return table_->should_abort != nullptr && table_->should_abort(table_->context) != 0;
  }
  // The user's value, or "" if there is none.
  std::string_view option(const char* name) const {
    const char* value = table_->option != nullptr ? table_->option(table_->context, name) : nullptr;
    return value != nullptr ? std::string_view(value) : std::string_view();
  }
  const ost_host_table_t* table() const { return table_; }

 private:
  const ost_host_table_t* table_;
};

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_ERROR_HPP_
