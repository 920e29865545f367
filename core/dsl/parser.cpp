// Recursive descent over Python's expression grammar, the part that makes sense for tensors.
#include "core/dsl/parser.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/dsl/lexer.hpp"

namespace ost::dsl {
namespace {

constexpr size_t kMaxDepth =
    200;  // of brackets and prefixes: bounds the stack here and in the emitter

// Binary operators from loosest to tightest; all chain from left to right. ** is apart, it binds to
// the right.
using Level = std::span<const std::string_view>;
constexpr std::string_view kCompare[] = {"==", "!=", "<=", ">=", "<", ">"};
constexpr std::string_view kOr[] = {"|"};
constexpr std::string_view kXor[] = {"^"};
constexpr std::string_view kAnd[] = {"&"};
constexpr std::string_view kShift[] = {"<<", ">>"};
constexpr std::string_view kSum[] = {"+", "-"};
constexpr std::string_view kProduct[] = {"*", "@", "//", "/", "%"};
constexpr auto kLevels = std::to_array<Level>({kCompare, kOr, kXor, kAnd, kShift, kSum, kProduct});

using Parsed = Result<ExprPtr>;

ExprPtr make(Expr::Kind kind, size_t position, std::string_view text = {}) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->position = position;
  expr->text = text;
  return expr;
}

class Parser {
 public:
  Parser(const Source& source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  Result<std::vector<Statement>> program() {
    OST_TRY_ASSIGN(auto statements, this->statements(false));
    if (statements.empty()) return source_.fail(source_.text().size(), "the expression is empty");
    return statements;
  }

 private:
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    ++at_;
    return true;
  }

  std::unexpected<Error> unexpected(std::string_view wanted) const {
    const Token& token = peek();
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::line_end) {
      if (!open_.empty())
        return source_.fail(open_.back().position, "'{}' is never closed; wanted {}",
                            open_.back().text, wanted);
      return source_.fail(token.position, "the expression ends here; wanted {}", wanted);
    }
    if (token.text == "=")
      return source_.fail(token.position,
                          "unexpected '='; wanted {} (a comparison is written '==')", wanted);
    return source_.fail(token.position, "unexpected '{}'; wanted {}", token.text, wanted);
  }

  void open() { open_.push_back(tokens_[at_++]); }
  Result<> close(std::string_view symbol, std::string_view wanted) {
    if (!accept(symbol)) return unexpected(wanted);
    open_.pop_back();
    return {};
  }

  // To the end of the text, or of a function: behind its `return`.
  Result<std::vector<Statement>> statements(bool in_function) {
    std::vector<Statement> list;
    while (peek().kind != Token::Kind::end) {
      OST_TRY_ASSIGN(Statement statement, this->statement(in_function));
      const bool returns = statement.kind == Statement::Kind::result;
      list.push_back(std::move(statement));
      if (returns && in_function) break;
      if (peek().kind == Token::Kind::end) break;
      if (peek().kind != Token::Kind::line_end)
        return unexpected("an operator or the end of the expression");
      ++at_;
    }
    return list;
  }

  bool at_keyword(std::string_view word) const {
    return peek().kind == Token::Kind::name && peek().text == word &&
           (peek(1).kind == Token::Kind::name || word == "return");
  }

  Result<Statement> statement(bool in_function) {
    if (at_keyword("def")) return function(in_function);
    Statement statement;
    statement.position = peek().position;
    if (at_keyword("return") && !peek(1).is("=")) {
      if (!in_function)
        return source_.fail(peek().position,
                            "'return' outside of a function; the last line is the result");
      statement.kind = Statement::Kind::result;
      ++at_;
    } else {
      OST_TRY(targets(statement));
      if (statement.kind == Statement::Kind::input) {
        if (in_function)
          return source_.fail(statement.position,
                              "an input within a function; declare it before the function");
        return statement;
      }
    }
    OST_TRY_ASSIGN(statement.value, maybe_tuple());
    return statement;
  }

  // "a =", "a, b =", "a: type", "a, b: type", or nothing.
  Result<> targets(Statement& statement) {
    size_t end = 0;
    while (peek(end).kind == Token::Kind::name && peek(end + 1).is(",")) end += 2;
    const Token& after = peek(end + 1);
    const bool declares = after.is(":") && peek(end + 2).kind == Token::Kind::type;
    if (peek(end).kind != Token::Kind::name || !(after.is("=") || declares)) return {};
    for (size_t i = 0; i <= end; i += 2)
      statement.targets.push_back({peek(i).text, peek(i).position});
    at_ += end + 2;
    if (!declares) return {};
    statement.kind = Statement::Kind::input;
    statement.type = peek().text;
    statement.type_position = peek().position;
    ++at_;
    return {};
  }

  // def name(a, b=1): expression, or lines up to `return expression`.
  Result<Statement> function(bool in_function) {
    Statement statement;
    statement.kind = Statement::Kind::function;
    statement.position = peek().position;
    if (in_function)
      return source_.fail(peek().position, "a function within a function; define it before");
    ++at_;
    statement.targets.push_back({peek().text, peek().position});
    ++at_;
    if (!peek().is("(")) return unexpected("'(' and the parameters");
    OST_TRY(parameters(statement));
    if (!accept(":")) return unexpected("':' and the body of the function");
    if (peek().kind == Token::Kind::line_end) {
      ++at_;
      OST_TRY_ASSIGN(statement.body, statements(true));
      if (statement.body.empty() || statement.body.back().kind != Statement::Kind::result)
        return source_.fail(statement.position, "the function '{}' has no 'return'",
                            statement.targets[0].text);
      return statement;
    }
    Statement body;
    body.kind = Statement::Kind::result;
    body.position = peek().position;
    if (at_keyword("return")) ++at_;
    OST_TRY_ASSIGN(body.value, maybe_tuple());
    statement.body.push_back(std::move(body));
    return statement;
  }

  Result<> parameters(Statement& statement) {
    open();
    while (!peek().is(")")) {
      if (peek().kind != Token::Kind::name) return unexpected("the name of a parameter or ')'");
      Statement::Parameter p{{peek().text, peek().position}, nullptr};
      ++at_;
      for (const auto& other : statement.parameters)
        if (other.name.text == p.name.text)
          return source_.fail(p.name.position, "the parameter '{}' is there twice", p.name.text);
      if (accept("=")) {
        OST_TRY_ASSIGN(p.otherwise, expression());
      } else if (!statement.parameters.empty() && statement.parameters.back().otherwise) {
        return source_.fail(p.name.position,
                            "'{}' has no default, but a parameter before it has one", p.name.text);
      }
      statement.parameters.push_back(std::move(p));
      if (!accept(",")) break;
    }
    return close(")", "',' or ')'");
  }

  // expression {"," expression}
  Parsed maybe_tuple() {
    const size_t position = peek().position;
    OST_TRY_ASSIGN(ExprPtr first, expression());
    if (!peek().is(",")) return first;
    ExprPtr tuple = make(Expr::Kind::tuple, position);
    tuple->args.push_back(std::move(first));
    while (accept(",")) {
      const Token::Kind kind = peek().kind;
      if (kind == Token::Kind::end || kind == Token::Kind::line_end || peek().is(")") ||
          peek().is("]"))
        break;
      OST_TRY_ASSIGN(ExprPtr next, expression());
      tuple->args.push_back(std::move(next));
    }
    return tuple;
  }

  Parsed expression() {
    if (depth_ >= kMaxDepth)
      return source_.fail(peek().position, "the expression nests deeper than {}; name a part of it",
                          kMaxDepth);
    ++depth_;
    Parsed result = binary(0);
    --depth_;
    return result;
  }

  bool at_operator(Level level) const {
    return peek().kind == Token::Kind::symbol &&
           std::find(level.begin(), level.end(), peek().text) != level.end();
  }

  Parsed binary(size_t level) {
    if (level == kLevels.size()) return prefix();
    OST_TRY_ASSIGN(ExprPtr first, binary(level + 1));
    if (!at_operator(kLevels[level])) return first;
    ExprPtr chain = make(Expr::Kind::chain, first->position);
    chain->args.push_back(std::move(first));
    while (at_operator(kLevels[level])) {
      if (level == 0 && !chain->ops.empty())
        return source_.fail(peek().position, "comparisons do not chain; write (a < b) & (b < c)");
      chain->ops.push_back({peek().text, peek().position});
      ++at_;
      OST_TRY_ASSIGN(ExprPtr next, binary(level + 1));
      chain->args.push_back(std::move(next));
    }
    return chain;
  }

  // Prefix operators bind looser than ** on their right and tighter than * and /.
  Parsed prefix() {
    if (!peek().is("-") && !peek().is("+") && !peek().is("~")) return power();
    if (depth_ >= kMaxDepth)
      return source_.fail(peek().position, "the expression nests deeper than {}; name a part of it",
                          kMaxDepth);
    ExprPtr expr = make(Expr::Kind::prefix, peek().position, peek().text);
    ++at_;
    ++depth_;
    Parsed operand = prefix();
    --depth_;
    OST_TRY_ASSIGN(ExprPtr value, std::move(operand));
    expr->args.push_back(std::move(value));
    return expr;
  }

  Parsed power() {
    OST_TRY_ASSIGN(ExprPtr base, postfix());
    if (!peek().is("**")) return base;
    ExprPtr chain = make(Expr::Kind::chain, base->position);
    chain->ops.push_back({peek().text, peek().position});
    ++at_;
    if (depth_ >= kMaxDepth)
      return source_.fail(peek().position, "the expression nests deeper than {}; name a part of it",
                          kMaxDepth);
    ++depth_;
    Parsed exponent = prefix();  // binds to the right: a ** b ** c is a ** (b ** c)
    --depth_;
    OST_TRY_ASSIGN(ExprPtr value, std::move(exponent));
    chain->args.push_back(std::move(base));
    chain->args.push_back(std::move(value));
    return chain;
  }

  Parsed postfix() {
    OST_TRY_ASSIGN(ExprPtr expr, atom());
    for (size_t depth = depth_;; ++depth) {
      if (depth >= kMaxDepth)
        return source_.fail(peek().position,
                            "the expression nests deeper than {}; name a part of it", kMaxDepth);
      if (peek().is("[")) {
        OST_TRY_ASSIGN(expr, subscript(std::move(expr)));
      } else if (peek().is(".")) {
        OST_TRY_ASSIGN(expr, attribute(std::move(expr)));
      } else {
        return expr;
      }
    }
  }

  // x.T, or x.f(a): f(x, a).
  Parsed attribute(ExprPtr object) {
    ++at_;
    if (peek().kind != Token::Kind::name) return unexpected("the name of an attribute or function");
    const Token name = peek();
    ++at_;
    ExprPtr expr =
        make(peek().is("(") ? Expr::Kind::call : Expr::Kind::attribute, name.position, name.text);
    expr->args.push_back(std::move(object));
    if (expr->kind == Expr::Kind::call) OST_TRY(arguments(*expr));
    return expr;
  }

  Parsed subscript(ExprPtr object) {
    ExprPtr expr = make(Expr::Kind::index, peek().position);
    expr->args.push_back(std::move(object));
    open();
    do {
      if (peek().is("]") && !expr->items.empty()) break;
      OST_TRY_ASSIGN(Expr::Item item, subscript_item());
      expr->items.push_back(std::move(item));
    } while (accept(","));
    OST_TRY(close("]", "',' or ']'"));
    return expr;
  }

  Result<Expr::Item> subscript_item() {
    Expr::Item item;
    item.position = peek().position;
    if (accept("...")) {
      item.kind = Expr::Item::Kind::ellipsis;
      return item;
    }
    const auto part_follows = [this] {
      return !peek().is(":") && !peek().is(",") && !peek().is("]");
    };
    if (!peek().is(":")) {
      OST_TRY_ASSIGN(item.index, expression());
      if (!peek().is(":")) return item;
    }
    item.kind = Expr::Item::Kind::slice;
    item.start = std::move(item.index);
    ++at_;
    if (part_follows()) {
      OST_TRY_ASSIGN(item.stop, expression());
    }
    if (accept(":") && part_follows()) {
      OST_TRY_ASSIGN(item.step, expression());
    }
    return item;
  }

  Result<> arguments(Expr& call) {
    open();
    while (!peek().is(")")) {
      if (peek().kind == Token::Kind::name && peek(1).is("=")) {
        Expr::Keyword keyword{peek().text, peek().position, nullptr};
        at_ += 2;
        OST_TRY_ASSIGN(keyword.value, expression());
        call.keywords.push_back(std::move(keyword));
      } else {
        if (!call.keywords.empty())
          return source_.fail(peek().position, "a positional argument after a keyword");
        OST_TRY_ASSIGN(ExprPtr value, expression());
        call.args.push_back(std::move(value));
      }
      if (!accept(",")) break;
    }
    return close(")", "',' or ')'");
  }

  Parsed atom() {
    const Token token = peek();
    switch (token.kind) {
      case Token::Kind::integer:
      case Token::Kind::real: {
        ++at_;
        ExprPtr expr =
            make(token.kind == Token::Kind::integer ? Expr::Kind::integer : Expr::Kind::real,
                 token.position, token.text);
        expr->integer = token.integer;
        expr->real = token.real;
        return expr;
      }
      case Token::Kind::name: {
        ++at_;
        if (!peek().is("(")) return make(Expr::Kind::name, token.position, token.text);
        ExprPtr expr = make(Expr::Kind::call, token.position, token.text);
        OST_TRY(arguments(*expr));
        return expr;
      }
      default:
        if (token.is("(")) return parenthesized();
        if (token.is("[")) return list();
        return unexpected("a name, a number, a function or '('");
    }
  }

  // (a) is a; (), (a,) and (a, b) are tuples.
  Parsed parenthesized() {
    const size_t position = peek().position;
    open();
    ExprPtr inner = make(Expr::Kind::tuple, position);
    if (!peek().is(")")) {
      OST_TRY_ASSIGN(inner, maybe_tuple());
    }
    OST_TRY(close(")", "',' or ')'"));
    if (inner->kind == Expr::Kind::tuple) inner->position = position;
    return inner;
  }

  // [a, b] is a tuple of any length.
  Parsed list() {
    ExprPtr expr = make(Expr::Kind::tuple, peek().position);
    open();
    while (!peek().is("]")) {
      OST_TRY_ASSIGN(ExprPtr item, expression());
      expr->args.push_back(std::move(item));
      if (!accept(",")) break;
    }
    OST_TRY(close("]", "',' or ']'"));
    return expr;
  }

  const Source& source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::vector<Token> open_;
};

}  // namespace

Result<std::vector<Statement>> parse_program(const Source& source) {
  OST_TRY_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(source, std::move(tokens)).program();
}

}  // namespace ost::dsl
