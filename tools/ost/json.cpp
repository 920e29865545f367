#include "json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace {

// Bytes that are no UTF-8 become U+FFFD, so that the answer is JSON whatever a path is made of.
std::size_t utf8_length(std::string_view s) {
  const auto lead = static_cast<unsigned char>(s[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(s[i]) & 0xc0u) != 0x80u) return 0;
  }
  return length;
}

std::string quote(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const char c = s[0];
    const std::size_t length = utf8_length(s);
    if (length == 0)
      out += "\\ufffd";
    else if (length > 1)
      out += s.substr(0, length);
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
    s.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

}  // namespace

Json::Json(double v) : text_(std::isfinite(v) ? fmt::format("{:.3f}", v) : "null") {}
Json::Json(std::string_view v) : text_(quote(v)) {}

Json Json::raw(std::string text) {
  Json j;
  j.text_ = std::move(text);
  return j;
}

Json& Json::add(std::string key, Json value) {
  items_.emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::add(Json value) {
  items_.emplace_back("", std::move(value));
  return *this;
}

std::string Json::text(int indent) const {
  if (kind_ == Kind::scalar) return text_;
  const bool is_object = kind_ == Kind::object;
  if (items_.empty()) return is_object ? "{}" : "[]";
  std::string flat;  // one line, where it is short and holds scalars only
  bool is_flat = true;
  for (const auto& [key, value] : items_) {
    is_flat = is_flat && value.kind_ == Kind::scalar;
    flat += (flat.empty() ? "" : ", ") + (is_object ? quote(key) + ": " : "") + value.text();
  }
  if (is_flat && flat.size() < 90) return is_object ? "{" + flat + "}" : "[" + flat + "]";
  const std::string inner(static_cast<std::size_t>(indent) + 2, ' ');
  std::string out(1, is_object ? '{' : '[');
  for (std::size_t i = 0; i < items_.size(); ++i) {
    out += (i > 0 ? ",\n" : "\n") + inner + (is_object ? quote(items_[i].first) + ": " : "") +
           items_[i].second.text(indent + 2);
  }
  return out + "\n" + std::string(static_cast<std::size_t>(indent), ' ') + (is_object ? "}" : "]");
}

Json answer() {
  Json j = Json::object();
  j.add("schema_version", 1);
  return j;
}

void print_json(const Json& value) {
  const std::string text = value.text() + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}
