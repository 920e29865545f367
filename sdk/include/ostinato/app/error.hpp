// Errors as exceptions, handles as unique or shared owners. Part of ostinato.hpp.
#ifndef OSTINATO_APP_ERROR_HPP_
#define OSTINATO_APP_ERROR_HPP_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "../ostinato.h"

namespace ostinato {

class Error : public std::runtime_error {
 public:
  Error(ost_status_t status, const ost_error_t& error)
      : std::runtime_error(error.message[0] != '\0' ? error.message : ost_status_text(status)),
        status_(status),
        native_code_(error.native_code),
        flags_(error.flags),
        rule_(error.rule) {}
  Error(ost_status_t status, const std::string& message)
      : std::runtime_error(message), status_(status) {}

  ost_status_t status() const { return status_; }
  int64_t native_code() const { return native_code_; }
  uint32_t flags() const { return flags_; }
  uint32_t rule() const { return rule_; }

 private:
  ost_status_t status_;
  int64_t native_code_ = 0;
  uint32_t flags_ = 0;
  uint32_t rule_ = 0;
};

// Calls an entry point and appends the error parameter: call(ost_graph_create, &graph).
template <typename Function, typename... Args>
void call(Function function, Args&&... args) {
  ost_error_t error{};
  error.size = sizeof error;
  const ost_status_t status = function(std::forward<Args>(args)..., &error);
  if (status != OST_OK) throw Error(status, error);
}

// A struct with its size set and all else zero.
template <typename T>
T sized() {
  T value{};
  value.size = sizeof value;
  return value;
}

// What a sink receives.
template <typename Body>
std::string collect(Body&& body) {
  std::string text;
  const ost_sink_t sink{&text, [](void* context, const void* data, uint64_t size) {
                          static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                                                     size);
                        }};
  body(&sink);
  return text;
}

template <typename T, void (*kDestroy)(T*)>
class UniqueHandle {
 public:
  explicit UniqueHandle(T* handle = nullptr) : handle_(handle) {}
  T* get() const { return handle_.get(); }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  struct Destroy {
    void operator()(T* handle) const { kDestroy(handle); }
  };
  std::unique_ptr<T, Destroy> handle_;
};

template <typename T, void (*kRetain)(T*), void (*kRelease)(T*)>
class SharedHandle {
 public:
  explicit SharedHandle(T* handle = nullptr)
      : handle_(handle) {}  // takes over the caller's reference
  SharedHandle(const SharedHandle& other) : handle_(other.handle_) { kRetain(handle_); }
  SharedHandle(SharedHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedHandle& operator=(SharedHandle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedHandle() { kRelease(handle_); }
  T* get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T* handle_;
};

}  // namespace ostinato

#endif  // OSTINATO_APP_ERROR_HPP_
