#include "core/manifest/cursor.hpp"

#include <algorithm>
#include <charconv>

namespace ost::manifest {
namespace {

std::string_view view(json::string_view s) { return {s.data(), s.size()}; }

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// What a message may quote of a foreign string: short, and printable ASCII.
std::string quotable(std::string_view s) {
  std::string out;
  for (const char c : s.substr(0, 40)) out += (c >= ' ' && c < 0x7f) ? c : '?';
  if (s.size() > 40) out += "...";
  return out;
}

}  // namespace

std::string Cursor::found() const {
  switch (value_->kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return value_->get_bool() ? "true" : "false";
    case json::kind::int64:
      return fmt::format("the number {}", value_->get_int64());
    case json::kind::uint64:
      return fmt::format("the number {}", value_->get_uint64());
    case json::kind::double_:
      return "a floating point number";
    case json::kind::string:
      return fmt::format("the string '{}'", quotable(view(value_->get_string())));
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "something unknown";
}

Result<std::optional<Cursor>> Cursor::find(std::string_view key) const {
  const json::object* object = value_->if_object();
  if (!object) return bad("found {}, want an object with the field '{}'", found(), key);
  const json::value* member = object->if_contains(json::string_view(key.data(), key.size()));
  if (!member) return std::optional<Cursor>();
  return std::optional<Cursor>(Cursor(*member, pointer_ + "/" + pointer_token(key)));
}

Result<Cursor> Cursor::at(std::string_view key) const {
  OST_TRY_ASSIGN(auto member, find(key));
  if (!member) return bad("the field '{}' is missing", key);
  return std::move(*member);
}

Result<> Cursor::only(std::span<const std::string_view> known) const {
  const json::object* object = value_->if_object();
  if (!object) return bad("found {}, want an object", found());
  for (const auto& m : *object) {
    const std::string_view key = view(m.key());
    if (std::ranges::find(known, key) == known.end())
      return bad("unknown field '{}'; known are {}", quotable(key), fmt::join(known, ", "));
  }
  return {};
}

Result<std::vector<Cursor>> Cursor::elements(uint64_t max_count) const {
  const json::array* array = value_->if_array();
  if (!array) return bad("found {}, want an array", found());
  if (array->size() > max_count)
    return bad("found {} elements, at most {} are allowed", array->size(), max_count);
  std::vector<Cursor> out;
  out.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i)
    out.push_back(Cursor((*array)[i], fmt::format("{}/{}", pointer_, i)));
  return out;
}

Result<std::string> Cursor::string(uint64_t max_size) const {
  const json::string* s = value_->if_string();
  if (!s) return bad("found {}, want a string", found());
  if (s->size() > max_size)
    return bad("found a string of {} bytes, at most {} are allowed", s->size(), max_size);
  if (view(*s).find('\0') != std::string_view::npos) return bad("the string holds a NUL character");
  return std::string(view(*s));
}

Result<bool> Cursor::boolean() const {
  if (!value_->is_bool()) return bad("found {}, want true or false", found());
  return value_->get_bool();
}

// A number up to 2^53, or the decimal string of a larger one; one form for each value.
Result<int64_t> Cursor::signed_number() const {
  if (value_->is_int64()) {
    const int64_t v = value_->get_int64();
    if (v > kMaxJsonInt || v < -kMaxJsonInt)
      return bad("found {}, want a decimal string for |x| > 2^53", found());
    return v;
  }
  if (const json::string* s = value_->if_string()) {
    int64_t v = 0;
    const auto [end, error] = std::from_chars(s->data(), s->data() + s->size(), v);
    if (error == std::errc() && end == s->data() + s->size() &&
        (v > kMaxJsonInt || v < -kMaxJsonInt) && std::to_string(v) == view(*s))
      return v;
  }
  return bad("found {}, want an integer", found());
}

Result<int64_t> Cursor::integer(int64_t low, int64_t high) const {
  OST_TRY_ASSIGN(const int64_t v, signed_number());
  if (v < low || v > high) return bad("found {}, want an integer in [{}, {}]", v, low, high);
  return v;
}

Result<uint64_t> Cursor::unsigned_integer(uint64_t high) const {
  OST_TRY_ASSIGN(const int64_t v, signed_number());
  if (v < 0 || static_cast<uint64_t>(v) > high)
    return bad("found {}, want an integer in [0, {}]", v, high);
  return static_cast<uint64_t>(v);
}

Result<uint32_t> Cursor::index(uint64_t count, std::string_view what) const {
  OST_TRY_ASSIGN(const int64_t v, signed_number());
  if (v < 0 || static_cast<uint64_t>(v) >= count)
    return bad("found {} {}, there are {}", what, v, count);
  return static_cast<uint32_t>(v);
}

Result<std::string> Cursor::sha256() const {
  const json::string* s = value_->if_string();
  if (!s || s->size() != 64 || !std::ranges::all_of(*s, is_hex))
    return bad("found {}, want a sha256 as 64 lower-case hex digits", found());
  return std::string(view(*s));
}

Result<DType> Cursor::dtype() const {
  OST_TRY_ASSIGN(const std::string name, string(kMaxName));
  const auto type = dtype_from_name(name);
  if (!type)
    return bad("unknown element type '{}'; known are bool, i8..i64, u8..u64, f16, bf16, f32, f64",
               quotable(name));
  return *type;
}

Result<Sym> Cursor::sym(std::span<const Var> vars) const {
  OST_TRY_ASSIGN(const std::string text, string(kMaxExpression));
  auto sym = Sym::parse(text, vars);
  if (!sym) return std::unexpected(sym.error().in(pointer_));
  if (!sym->is_valid()) return bad("the expression '{}' overflows 64 bits", quotable(text));
  return sym;
}

Result<Shape> Cursor::shape(std::span<const Var> vars) const {
  OST_TRY_ASSIGN(const auto dims, elements(kMaxRank));
  Shape out;
  for (const Cursor& d : dims) {
    OST_TRY_ASSIGN(Sym sym, d.sym(vars));
    out.push_back(std::move(sym));
  }
  return out;
}

Result<std::vector<int64_t>> Cursor::dims() const {
  OST_TRY_ASSIGN(const auto list, elements(kMaxRank));
  std::vector<int64_t> out;
  for (const Cursor& d : list) {
    OST_TRY_ASSIGN(const int64_t v, d.integer(0, INT64_MAX));
    out.push_back(v);
  }
  return out;
}

}  // namespace ost::manifest
