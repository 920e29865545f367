// Reads typed fields out of a JSON document and says where it was when it found something else:
// every error starts with the JSON pointer of the value, then what was found and what was wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/result.hpp"
#include "core/base/sym.hpp"
#include "core/manifest/json.hpp"

namespace ost::manifest {

class Cursor {
 public:
  explicit Cursor(const json::value& root) : value_(&root) {}

  // Members of an object. A missing required member and a value that is no object are errors.
  Result<Cursor> at(std::string_view key) const;
  Result<std::optional<Cursor>> find(std::string_view key) const;
  // Fails on the first member whose name is not listed.
  Result<> only(std::span<const std::string_view> known) const;

  Result<std::vector<Cursor>> elements(uint64_t max_count) const;  // of an array

  Result<std::string> string(uint64_t max_size) const;
  Result<bool> boolean() const;
  Result<int64_t> integer(int64_t low, int64_t high) const;
  Result<uint64_t> unsigned_integer(uint64_t high) const;
  Result<uint32_t> index(uint64_t count, std::string_view what) const;  // in [0, count)
  Result<std::string> sha256() const;                                   // 64 lower-case hex digits
  Result<DType> dtype() const;
  Result<Sym> sym(std::span<const Var> vars) const;
  Result<Shape> shape(std::span<const Var> vars) const;
  Result<std::vector<int64_t>> dims() const;  // numbers >= 0

  const json::value& value() const { return *value_; }
  const std::string& pointer() const { return pointer_; }

  template <typename... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(OST_INVALID_ARGUMENT, "{}: {}", pointer_.empty() ? "/" : pointer_,
                fmt::format(format, std::forward<Args>(args)...));
  }
  std::string found() const;  // "the string 'abc'", "an array"; for messages

 private:
  Cursor(const json::value& value, std::string pointer)
      : value_(&value), pointer_(std::move(pointer)) {}
  Result<int64_t> signed_number() const;

  const json::value* value_;
  std::string pointer_;
};

inline constexpr uint64_t kMaxName = 256;    // bytes of a name
inline constexpr uint64_t kMaxText = 65536;  // bytes of an explanation or an instruction
inline constexpr uint64_t kMaxExpression =
    4096;  // bytes of an expression: also bounds how deep it can nest
inline constexpr uint64_t kMaxRank = 64;

}  // namespace ost::manifest
