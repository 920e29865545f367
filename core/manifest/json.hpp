// JSON as the manifest uses it: integers, strings, booleans, arrays and objects. Strict on the way
// in (limits, no duplicate keys, no floating-point numbers), one fixed layout on the way out.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ost::manifest {

namespace json = boost::json;

struct JsonLimits {
  uint64_t max_bytes = 64u << 20;
  uint32_t max_depth = 16;
  uint32_t max_values = 4u << 20;  // scalars and containers, together
};

// Errors name the byte offset and, where one exists already, the JSON pointer.
Result<json::value> parse_json(std::string_view text, const JsonLimits& limits = {});

// For people and `git diff`: sorted keys, two spaces, a container on one line where it is flat and
// fits into 100 columns; an array under the key "kir" always has one element a line. Ends with a
// newline.
std::string to_pretty(const json::value& value);
// For hashing: sorted keys, no white space.
std::string to_canonical(const json::value& value);

// An integer is a number if every reader can hold it exactly (|x| <= 2^53), else a decimal string.
json::value json_int(int64_t value);
json::value json_uint(uint64_t value);
inline constexpr int64_t kMaxJsonInt = int64_t{1} << 53;

// A pointer's token for a key: ~ and / escaped (RFC 6901).
std::string pointer_token(std::string_view key);

}  // namespace ost::manifest
