// A position in one line of the text form: tokens, numbers, strings and lists. Every reader skips
// the blanks behind it.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ost::ir::detail {

inline std::unexpected<Error> bad(std::string message) {
  return std::unexpected(Error{OST_INVALID_ARGUMENT, std::move(message), 0, 0, 0});
}

class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) { skip(); }

  bool done() const { return rest_.empty(); }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip();
    return true;
  }
  Result<> expect(std::string_view token) {
    if (!accept(token)) return bad(fmt::format("wanted '{}' at '{}'", token, rest_.substr(0, 24)));
    return {};
  }
  // The text up to a blank.
  std::string_view word() { return take(rest_.find_first_of(" \t")); }
  std::string_view name() {
    return take(
        rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
  }

  template <typename T>
  Result<T> number(int base = 10) {
    T value{};
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{})
      return bad(fmt::format("wanted a number at '{}'", rest_.substr(0, 24)));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skip();
    return value;
  }

  Result<std::string> string() {
    OST_TRY(expect_raw('"'));
    std::string out;
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\' && rest_.size() > 3 && rest_[1] == 'x') {
        unsigned byte = 0;
        if (std::from_chars(rest_.data() + 2, rest_.data() + 4, byte, 16).ptr != rest_.data() + 4)
          return bad("wanted two hex digits after \\x");
        out += static_cast<char>(byte);
        rest_.remove_prefix(4);
        continue;
      }
      if (rest_[0] == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) break;
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    OST_TRY(expect("\""));
    return out;
  }

  // "[a, b]": the parts between brackets, split at commas outside of parentheses.
  Result<std::vector<std::string_view>> list() {
    OST_TRY(expect_raw('['));
    const size_t close = rest_.find(']');
    if (close == std::string_view::npos) return bad("wanted ']' at the end of the list");
    std::string_view body = rest_.substr(0, close);
    rest_.remove_prefix(close + 1);
    skip();
    std::vector<std::string_view> parts;
    size_t depth = 0, begin = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      if (body[i] == '(') ++depth;
      if (body[i] == ')' && depth > 0) --depth;
      if (body[i] != ',' || depth > 0) continue;
      parts.push_back(body.substr(begin, i - begin));
      begin = i + 1;
    }
    if (body.find_first_not_of(" \t") != std::string_view::npos)
      parts.push_back(body.substr(begin));
    return parts;
  }

 private:
  Result<> expect_raw(char c) {
    if (rest_.empty() || rest_[0] != c)
      return bad(fmt::format("wanted '{}' at '{}'", c, rest_.substr(0, 24)));
    rest_.remove_prefix(1);
    return {};
  }
  std::string_view take(size_t count) {
    const std::string_view found = rest_.substr(0, count);
    rest_.remove_prefix(found.size());
    skip();
    return found;
  }
  void skip() {
    const size_t blanks = rest_.find_first_not_of(" \t");
    rest_.remove_prefix(blanks == std::string_view::npos ? rest_.size() : blanks);
  }

  std::string_view rest_;
};

}  // namespace ost::ir::detail
