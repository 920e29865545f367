// Writing JSON: values that keep the order in which they were added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

class Json {
 public:
  Json() = default;                                    // null
  Json(bool v) : text_(v ? "true" : "false") {}        // NOLINT: all of these are values
  Json(double v);                                      // NOLINT
  Json(int v) : text_(std::to_string(v)) {}            // NOLINT
  Json(std::int64_t v) : text_(std::to_string(v)) {}   // NOLINT
  Json(std::uint32_t v) : text_(std::to_string(v)) {}  // NOLINT
  Json(std::uint64_t v) : text_(std::to_string(v)) {}  // NOLINT
  Json(const char* v) : Json(std::string_view(v == nullptr ? "" : v)) {}  // NOLINT
  Json(const std::string& v) : Json(std::string_view(v)) {}               // NOLINT
  Json(std::string_view v);                                               // NOLINT

  static Json object() { return Json(Kind::object); }
  static Json array() { return Json(Kind::array); }
  // Text that is JSON already.
  static Json raw(std::string text);

  Json& add(std::string key, Json value);  // object
  Json& add(Json value);                   // array
  bool is_empty() const { return items_.empty(); }

  std::string text(int indent = 0) const;

 private:
  enum class Kind { scalar, object, array };
  explicit Json(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::scalar;
  std::string text_ = "null";
  std::vector<std::pair<std::string, Json>> items_;
};

// An object with schema_version, where every command's answer begins.
Json answer();
void print_json(const Json& value);
