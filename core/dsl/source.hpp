// The text that is being read, and errors that point into it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ost::dsl {

class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }

  // "dsl: LINE:COLUMN: message", the line, and a caret under the byte at `position`.
  Error error(size_t position, std::string_view message) const;

  // "LINE:COLUMN".
  std::string place(size_t position) const;

  template <typename... Args>
  std::unexpected<Error> fail(size_t position, fmt::format_string<Args...> format,
                              Args&&... args) const {
    return std::unexpected(error(position, fmt::format(format, std::forward<Args>(args)...)));
  }

 private:
  std::string_view text_;
};

}  // namespace ost::dsl
