// Strict parsing: a handler for Boost.JSON's event parser that counts, looks for duplicate keys and
// knows where it is.
#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <vector>

#include "core/manifest/json.hpp"

namespace ost::manifest {
namespace {

struct Frame {
  bool object = false;
  uint64_t index = 0;  // arrays: of the value that is being read
  std::string key;     // objects
  std::set<std::string, std::less<>> keys;
};

struct Handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = 4096;
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  using Code = json::error_code;
  using View = json::string_view;

  explicit Handler(uint32_t max_values_) : max_values(max_values_) {}

  json::value_stack stack;
  std::vector<Frame> frames;
  std::string key;
  std::string problem;  // set with the error code; empty for errors of the syntax
  uint32_t values = 0;
  uint32_t max_values;

  std::string pointer() const {
    std::string out;
    for (const Frame& f : frames) {
      if (f.object && f.key.empty() && f.keys.empty()) break;
      out += "/" + (f.object ? pointer_token(f.key) : std::to_string(f.index));
    }
    return out;
  }
  bool stop(Code& ec, std::string what) {
    problem = std::move(what);
    ec = json::error::extra_data;  // any code will do: the text above is what people see
    return false;
  }
  // Each value passes here after it is complete (scalars) or before it starts (containers).
  bool count(Code& ec) {
    return ++values <= max_values || stop(ec, fmt::format("more than {} values", max_values));
  }
  void ended() {
    if (!frames.empty() && !frames.back().object) ++frames.back().index;
  }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& ec) {
    if (!count(ec)) return false;
    frames.push_back({.object = true, .index = 0, .key = {}, .keys = {}});
    return true;
  }
  bool on_object_end(std::size_t n, Code&) {
    stack.push_object(n);
    frames.pop_back();
    ended();
    return true;
  }
  bool on_array_begin(Code& ec) {
    if (!count(ec)) return false;
    frames.emplace_back();
    return true;
  }
  bool on_array_end(std::size_t n, Code&) {
    stack.push_array(n);
    frames.pop_back();
    ended();
    return true;
  }
  bool on_key_part(View s, std::size_t, Code&) {
    key.append(s.data(), s.size());
    stack.push_chars(s);
    return true;
  }
  bool on_key(View s, std::size_t, Code& ec) {
    key.append(s.data(), s.size());
    stack.push_key(s);
    Frame& frame = frames.back();
    frame.key = std::move(key);
    key.clear();
    if (!frame.keys.insert(frame.key).second)
      return stop(ec, "this key occurs twice in one object");
    return true;
  }
  bool on_string_part(View s, std::size_t, Code&) {
    stack.push_chars(s);
    return true;
  }
  bool on_string(View s, std::size_t, Code& ec) {
    stack.push_string(s);
    ended();
    return count(ec);
  }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(int64_t i, View, Code& ec) {
    stack.push_int64(i);
    ended();
    return count(ec);
  }
  bool on_uint64(uint64_t u, View, Code& ec) {
    stack.push_uint64(u);
    ended();
    return count(ec);
  }
  bool on_double(double, View, Code& ec) {
    return stop(ec,
                "a number with a fraction, an exponent or more than 64 bits; numbers here are "
                "integers, and floating "
                "point values are bit strings");
  }
  bool on_bool(bool b, Code& ec) {
    stack.push_bool(b);
    ended();
    return count(ec);
  }
  bool on_null(Code& ec) {
    stack.push_null();
    ended();
    return count(ec);
  }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }
};

}  // namespace

Result<json::value> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(OST_INVALID_ARGUMENT, "{} bytes of JSON, at most {} are read", text.size(),
                limits.max_bytes);
  json::parse_options options;
  options.max_depth = limits.max_depth;
  try {
    json::basic_parser<Handler> parser(options, limits.max_values);
    Handler& handler = parser.handler();
    handler.stack.reset();
    json::error_code ec;
    const std::size_t at = parser.write_some(false, text.data(), text.size(), ec);
    const std::string pointer = handler.pointer();
    const std::string_view sep = pointer.empty() ? "" : ": ";
    if (!handler.problem.empty())
      return fail(OST_DATA_LOSS, "{}{}{}, near byte {}", pointer, sep, handler.problem, at);
    if (ec == json::error::incomplete)
      return fail(OST_DATA_LOSS,
                  "{}{}the JSON text ends too early, at byte {}: the file is truncated", pointer,
                  sep, at);
    if (ec == json::error::too_deep)
      return fail(OST_DATA_LOSS, "{}{}nested deeper than {} levels, at byte {}", pointer, sep,
                  limits.max_depth, at);
    if (ec)
      return fail(OST_DATA_LOSS, "{}{}not JSON at byte {}: {}", pointer, sep, at, ec.message());
    const auto rest = text.find_first_not_of(" \t\r\n", at);
    if (rest != std::string_view::npos)
      return fail(OST_DATA_LOSS, "not JSON at byte {}: something follows the end of the document",
                  rest);
    return handler.stack.release();
  } catch (const std::exception& e) {
    return fail(OST_OUT_OF_MEMORY, "JSON of {} bytes cannot be read: {}", text.size(), e.what());
  }
}

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

}  // namespace ost::manifest
