// Text of a Sym, and the recursive-descent parser that reads it back:
//   sum = ["-"] product {("+" | "-") product}; product = factor {"*" factor}
//   factor = integer | variable | function "(" sum "," sum ")" | "(" sum ")" | "-" factor
#include <charconv>

#include "core/base/sym.hpp"
#include "core/base/sym_rep.hpp"

namespace ost {
namespace {

const char* function_name(Sym::AtomKind kind) {
  switch (kind) {
    case Sym::AtomKind::floordiv:
      return "floordiv";
    case Sym::AtomKind::mod:
      return "mod";
    case Sym::AtomKind::min:
      return "min";
    case Sym::AtomKind::max:
      return "max";
    case Sym::AtomKind::var:
      break;
  }
  return "";
}

std::string atom_text(const Sym::Atom& atom) {
  if (atom.kind == Sym::AtomKind::var) return atom.variable.name;
  return fmt::format("{}({}, {})", function_name(atom.kind), atom.a.str(), atom.b.str());
}

// Without the sign.
std::string term_text(const Sym::Term& term) {
  const uint64_t magnitude = term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                                  : static_cast<uint64_t>(term.coefficient);
  std::string text;
  if (magnitude != 1 || term.factors.empty()) text = fmt::format("{}", magnitude);
  for (const auto& factor : term.factors) {
    if (!text.empty()) text += "*";
    text += atom_text(*factor);
  }
  return text;
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, std::span<const Var> vars) : text_(text), vars_(vars) {}

  Result<Sym> run() {
    OST_TRY_ASSIGN(Sym result, sum());
    skip_spaces();
    if (at_ != text_.size()) return wrong("unexpected '{}'", text_[at_]);
    if (!result.is_valid()) return wrong("the expression overflows or divides by zero");
    return result;
  }

 private:
  static constexpr int kMaxDepth = 64;

  template <typename... Args>
  std::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(OST_INVALID_ARGUMENT, "symbolic expression '{}', position {}: {}", text_, at_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<> expect(char c) {
    if (accept(c)) return {};
    return at_ == text_.size() ? wrong("the text ends, wanted '{}'", c)
                               : wrong("found '{}', wanted '{}'", text_[at_], c);
  }

  Result<Sym> sum() {
    OST_TRY_ASSIGN(Sym total, product());
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) return total;
      OST_TRY_ASSIGN(const Sym next, product());
      total = plus ? total + next : total - next;
    }
  }

  Result<Sym> product() {
    OST_TRY_ASSIGN(Sym total, factor());
    while (accept('*')) {
      OST_TRY_ASSIGN(const Sym next, factor());
      total = total * next;
    }
    return total;
  }

  Result<Sym> factor() {
    if (depth_ >= kMaxDepth) return wrong("nested deeper than {}", kMaxDepth);
    ++depth_;
    Result<Sym> result = nested_factor();
    --depth_;
    return result;
  }

  Result<Sym> nested_factor() {
    if (accept('-')) {
      if (at_ < text_.size() && is_digit(text_[at_])) return integer(true);
      OST_TRY_ASSIGN(const Sym value, factor());
      return 0 - value;
    }
    if (accept('(')) {
      OST_TRY_ASSIGN(Sym value, sum());
      OST_TRY(expect(')'));
      return value;
    }
    if (at_ == text_.size())
      return wrong("the text ends, wanted a number, a variable or a function");
    if (is_digit(text_[at_])) return integer(false);
    if (is_name_start(text_[at_])) return name();
    return wrong("found '{}', wanted a number, a variable or a function", text_[at_]);
  }

  Result<Sym> integer(bool negative) {
    const size_t start = negative ? at_ - 1 : at_;
    int64_t value = 0;
    const auto [end, code] =
        std::from_chars(text_.data() + start, text_.data() + text_.size(), value);
    if (code != std::errc{}) return wrong("the number does not fit into 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return Sym(value);
  }

  Result<Sym> name() {
    const size_t start = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (accept('(')) return call(word);
    for (const Var& v : vars_) {
      if (v.name == word) return Sym::var(v);
    }
    at_ = start;
    return wrong("variable '{}' is not declared", word);
  }

  Result<Sym> call(std::string_view function) {
    OST_TRY_ASSIGN(const Sym a, sum());
    OST_TRY(expect(','));
    OST_TRY_ASSIGN(const Sym b, sum());
    OST_TRY(expect(')'));
    if (function == "floordiv") return floordiv(a, b);
    if (function == "ceildiv") return ceildiv(a, b);
    if (function == "mod") return mod(a, b);
    if (function == "min") return min(a, b);
    if (function == "max") return max(a, b);
    return wrong("function '{}' is unknown, wanted floordiv, ceildiv, mod, min or max", function);
  }

  std::string_view text_;
  std::span<const Var> vars_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Sym::str() const {
  if (!rep_) return fmt::format("{}", value_);
  if (!rep_->valid) return "invalid";
  std::string text;
  for (const Term& term : rep_->terms) {
    const bool negative = term.coefficient < 0;
    if (text.empty()) {
      text = (negative ? "-" : "") + term_text(term);
    } else {
      text += (negative ? " - " : " + ") + term_text(term);
    }
  }
  return text;
}

Result<Sym> Sym::parse(std::string_view text, std::span<const Var> vars) {
  return Parser(text, vars).run();
}

}  // namespace ost
