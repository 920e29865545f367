// Types of inputs as the command line writes them: "f16[n:1..64, 64]".
#include <algorithm>
#include <charconv>

#include "core/dsl/dsl.hpp"
#include "core/dsl/names.hpp"

namespace ost::dsl {
namespace {

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <typename... Args>
std::unexpected<Error> bad(std::string_view text, fmt::format_string<Args...> format,
                           Args&&... args) {
  return fail(OST_INVALID_ARGUMENT, "type '{}': {}", text,
              fmt::format(format, std::forward<Args>(args)...));
}

class TypeReader {
 public:
  TypeReader(std::string_view text, std::span<const Var> known)
      : text_(text), vars_(known.begin(), known.end()) {}

  Result<TypeDecl> run() {
    std::string_view sizes = trim(text_);
    OST_TRY(dtype(sizes));
    while (!trim(sizes).empty()) {
      const size_t comma = next_comma(sizes);
      OST_TRY(size(trim(sizes.substr(0, comma))));
      if (comma == sizes.size()) break;
      sizes.remove_prefix(comma + 1);
      if (trim(sizes).empty()) return bad(text_, "wanted a size after the last ','");
    }
    return std::move(decl_);
  }

 private:
  // Takes "f16[...]" or "[...]" apart; leaves the list of sizes. A bare dtype is a scalar.
  Result<> dtype(std::string_view& sizes) {
    const size_t bracket = sizes.find('[');
    const std::string_view name = trim(sizes.substr(0, bracket));
    if (bracket == std::string_view::npos) {
      if (const auto type = dtype_named(name)) {
        decl_.dtype = *type;
        sizes = {};
      }
      return {};
    }
    if (!name.empty()) {
      const auto type = dtype_named(name);
      if (!type)
        return bad(text_,
                   "unknown dtype '{}'; wanted one of bool, i8..i64, u8..u64, f16, bf16, f32, f64",
                   name);
      decl_.dtype = *type;
    }
    if (sizes.back() != ']') return bad(text_, "wanted ']' at the end");
    sizes = sizes.substr(bracket + 1, sizes.size() - bracket - 2);
    return {};
  }

  static size_t next_comma(std::string_view text) {
    size_t depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && depth > 0) --depth;
      if (text[i] == ',' && depth == 0) return i;
    }
    return text.size();
  }

  Result<int64_t> integer(std::string_view part, std::string_view digits) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      return bad(text_, "'{}': '{}' is not a 64-bit integer; wanted NAME:MIN..MAX", part, digits);
    return value;
  }

  Result<> size(std::string_view part) {
    if (part.empty()) return bad(text_, "a size is missing between commas");
    if (const size_t colon = part.find(':'); colon != std::string_view::npos) {
      OST_TRY_ASSIGN(const Var var, declaration(part, colon));
      decl_.shape.push_back(Sym::var(var));
      return {};
    }
    auto size = Sym::parse(part, vars_);
    if (!size) return bad(text_, "size '{}': {}", part, size.error().message);
    if (!size->is_valid() || size->lower() < 0)
      return bad(text_, "size '{}' may be negative; wanted 0 or more", part);
    decl_.shape.push_back(*size);
    return {};
  }

  Result<Var> declaration(std::string_view part, size_t colon) {
    Var var;
    var.name = trim(part.substr(0, colon));
    const std::string_view range = trim(part.substr(colon + 1));
    const size_t dots = range.find("..");
    if (!is_name(var.name))
      return bad(text_, "'{}' is not a name that a variable can have", var.name);
    if (dots == std::string_view::npos) return bad(text_, "'{}': wanted NAME:MIN..MAX", part);
    OST_TRY_ASSIGN(var.min, integer(part, trim(range.substr(0, dots))));
    OST_TRY_ASSIGN(var.max, integer(part, trim(range.substr(dots + 2))));
    if (var.min < 0 || var.min > var.max)
      return bad(text_, "'{}': bounds {}..{}; wanted 0 <= MIN <= MAX", part, var.min, var.max);
    const auto same =
        std::find_if(vars_.begin(), vars_.end(), [&](const Var& v) { return v.name == var.name; });
    if (same == vars_.end()) {
      vars_.push_back(var);
      decl_.vars.push_back(var);
    } else if (*same != var) {
      return bad(text_, "variable '{}' is declared as {}..{} and as {}..{}", var.name, same->min,
                 same->max, var.min, var.max);
    }
    return var;
  }

  std::string_view text_;
  std::vector<Var> vars_;
  TypeDecl decl_;
};

}  // namespace

Result<TypeDecl> parse_type(std::string_view text, std::span<const Var> known) {
  return TypeReader(text, known).run();
}

}  // namespace ost::dsl
