// Names are ASCII; numbers are Python's decimal and hexadecimal forms.
#include "core/dsl/lexer.hpp"

#include <charconv>

namespace ost::dsl {
namespace {

// Longest first.
constexpr std::string_view kSymbols[] = {"...", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "(",
                                         ")",   "[",  "]",  ",",  ":",  ".",  "=",  "+",  "-",  "*",
                                         "/",   "%",  "@",  "<",  ">",  "&",  "|",  "^",  "~"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) OST_TRY(next());
    line_end();
    push(Token::Kind::end, 0);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void push(Token::Kind kind, size_t length) {
    Token token;
    token.kind = kind;
    token.text = text_.substr(at_, length);
    token.position = at_;
    tokens_.push_back(token);
    at_ += length;
  }

  void line_end() {
    if (depth_ == 0 && !tokens_.empty() && tokens_.back().kind != Token::Kind::line_end)
      push(Token::Kind::line_end, 0);
  }

  Result<> next() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && peek() != '\n') ++at_;
    } else if (c == '\n' || c == ';') {
      if (c == ';' && depth_ > 0) return source_.fail(at_, "';' within brackets");
      line_end();
      ++at_;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      return number();
    } else if (is_letter(c)) {
      size_t length = 1;
      while (is_letter(peek(length)) || is_digit(peek(length))) ++length;
      push(Token::Kind::name, length);
    } else {
      return symbol();
    }
    return {};
  }

  Result<> symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (!text_.substr(at_).starts_with(symbol)) continue;
      if (symbol == "(" || symbol == "[") ++depth_;
      if ((symbol == ")" || symbol == "]") && depth_ > 0) --depth_;
      const bool declares = symbol == ":" && depth_ == 0 && is_declaration();
      push(Token::Kind::symbol, symbol.size());
      if (declares) type();
      return {};
    }
    const char c = peek();
    if (c >= 0x20 && c < 0x7f) return source_.fail(at_, "unexpected character '{}'", c);
    return source_.fail(at_, "unexpected byte {:#04x}", static_cast<unsigned char>(c));
  }

  // The statement so far is "name" or "name, name".
  bool is_declaration() const {
    size_t count = 0;
    for (size_t i = tokens_.size(); i-- > 0 && tokens_[i].kind != Token::Kind::line_end; ++count) {
      const bool name = tokens_[i].kind == Token::Kind::name;
      if (name == (count % 2 != 0) || (!name && !tokens_[i].is(","))) return false;
    }
    return count % 2 != 0;
  }

  void type() {
    while (peek() == ' ' || peek() == '\t') ++at_;
    size_t length = 0;
    for (int depth = 0; at_ + length < text_.size(); ++length) {
      const char c = peek(length);
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (c == '#' || (depth <= 0 && (c == '\n' || c == ';'))) break;
    }
    while (length > 0 && (peek(length - 1) == ' ' || peek(length - 1) == '\t' ||
                          peek(length - 1) == '\r' || peek(length - 1) == '\n'))
      --length;
    push(Token::Kind::type, length);
  }

  Result<> number() {
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) return hexadecimal();
    size_t length = 0;
    while (is_digit(peek(length))) ++length;
    bool real = false;
    if (peek(length) == '.') {
      real = true;
      ++length;
      while (is_digit(peek(length))) ++length;
    }
    if (peek(length) == 'e' || peek(length) == 'E') {
      size_t digits = length + 1;
      if (peek(digits) == '+' || peek(digits) == '-') ++digits;
      if (!is_digit(peek(digits)))
        return source_.fail(at_ + length, "wanted the digits of an exponent");
      while (is_digit(peek(digits))) ++digits;
      real = true;
      length = digits;
    }
    OST_TRY(ends_here(length));
    push(real ? Token::Kind::real : Token::Kind::integer, length);
    return real ? read_real(tokens_.back()) : read_integer(tokens_.back(), 0, 10);
  }

  Result<> hexadecimal() {
    size_t length = 2;
    while (is_hex(peek(length))) ++length;
    if (length == 2) return source_.fail(at_, "wanted hexadecimal digits after '0x'");
    OST_TRY(ends_here(length));
    push(Token::Kind::integer, length);
    return read_integer(tokens_.back(), 2, 16);
  }

  Result<> ends_here(size_t length) {
    if (is_letter(peek(length)) || is_digit(peek(length)))
      return source_.fail(at_ + length, "'{}' right after a number; put an operator between",
                          peek(length));
    return {};
  }

  Result<> read_integer(Token& token, size_t skip, int base) {
    const char* end = token.text.data() + token.text.size();
    const auto result = std::from_chars(token.text.data() + skip, end, token.integer, base);
    if (result.ec != std::errc{})
      return source_.fail(token.position, "the integer {} does not fit into 64 bits", token.text);
    token.real = static_cast<double>(token.integer);
    return {};
  }

  Result<> read_real(Token& token) {
    const char* end = token.text.data() + token.text.size();
    const auto result = std::from_chars(token.text.data(), end, token.real);
    if (result.ec != std::errc{})
      return source_.fail(token.position, "the number {} is outside of f64; write inf or 0",
                          token.text);
    return {};
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(const Source& source) { return Lexer(source).run(); }

}  // namespace ost::dsl
