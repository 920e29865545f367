// Result<T> and Error: how every layer of the core reports failure. Nothing in the core throws
// across a function boundary, prints or aborts; exceptions of std and Boost are turned into an
// Error where they arise.
#pragma once

#include <fmt/format.h>
#include <ostinato/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace ost {

// A failure: its class, and a message for people: lower case, no full stop, what was found, what
// was wanted, where, and what to do next.
struct Error {
  ost_status_t status = OST_INTERNAL;
  std::string message;
  int64_t native_code = 0;  // the vendor's code, 0 if none
  uint32_t rule = 0;        // broken rule of the plugin ABI, 0 if none
  uint32_t flags = 0;       // OST_ERROR_*

  // The same error with the place where it happened in front: "manifest.json: /kernels/3: ...".
  Error in(std::string_view where) const {
    Error e = *this;
    e.message = fmt::format("{}: {}", where, message);
    return e;
  }
};

template <typename T = void>
using Result = std::expected<T, Error>;

template <typename... Args>
std::unexpected<Error> fail(ost_status_t status, fmt::format_string<Args...> format,
                            Args&&... args) {
  return std::unexpected(Error{status, fmt::format(format, std::forward<Args>(args)...), 0, 0, 0});
}

// The name of a status as the C enumerator spells it without prefix, lower case
// ("invalid_argument").
const char* status_name(ost_status_t status);

}  // namespace ost

#define OST_CONCAT_(a, b) a##b
#define OST_CONCAT(a, b) OST_CONCAT_(a, b)

// TRY(expr) returns the error of a Result<> to the caller; TRY_ASSIGN(decl, expr) also binds its
// value.
#define OST_TRY(...)                                              \
  do {                                                            \
    if (auto ost_try_result_ = (__VA_ARGS__); !ost_try_result_)   \
      return std::unexpected(std::move(ost_try_result_).error()); \
  } while (0)
#define OST_TRY_ASSIGN(decl, ...) \
  OST_TRY_ASSIGN_(OST_CONCAT(ost_try_, __COUNTER__), decl, __VA_ARGS__)
#define OST_TRY_ASSIGN_(tmp, decl, ...)                     \
  auto tmp = (__VA_ARGS__);                                 \
  if (!tmp) return std::unexpected(std::move(tmp).error()); \
  decl = std::move(*tmp)
