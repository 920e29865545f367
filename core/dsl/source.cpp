// Turns byte positions into line, column and caret. Columns count characters, not bytes.
#include "core/dsl/source.hpp"

#include <algorithm>

namespace ost::dsl {
namespace {

constexpr size_t kWindow = 100;  // characters shown of a long line

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace

std::string Source::place(size_t position) const {
  const std::string_view before = text_.substr(0, std::min(position, text_.size()));
  const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", 1 + std::count(before.begin(), before.end(), '\n'),
                     1 + characters(before.substr(begin)));
}

Error Source::error(size_t position, std::string_view message) const {
  position = std::min(position, text_.size());
  const std::string_view before = text_.substr(0, position);
  const size_t line_number =
      1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  std::string_view line = text_.substr(begin, text_.find('\n', begin) - begin);
  const size_t column = characters(before.substr(begin));

  // A long line is shown around the position only.
  size_t offset = position - begin;
  std::string_view left;
  if (offset > kWindow) {
    size_t cut = offset - kWindow / 2;
    while (cut < offset && !starts_character(line[cut])) ++cut;
    line.remove_prefix(cut);
    offset -= cut;
    left = "...";
  }
  size_t length = std::min(line.size(), offset + kWindow / 2);
  while (length < line.size() && !starts_character(line[length])) ++length;
  std::string shown{line.substr(0, length)};
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  const size_t caret = left.size() + characters(line.substr(0, offset));
  return Error{OST_INVALID_ARGUMENT,
               fmt::format("dsl: {}:{}: {}\n  {}{}{}\n  {}^", line_number, column + 1, message,
                           left, shown, length < line.size() ? "..." : "", std::string(caret, ' ')),
               0, 0, 0};
}

}  // namespace ost::dsl
