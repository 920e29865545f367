// The constants, and the free names of an expression (which need no graph).
#include "core/dsl/names.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/dsl/functions.hpp"
#include "core/dsl/parser.hpp"

namespace ost::dsl {
namespace {

using LongName = std::pair<std::string_view, DType>;
constexpr auto kLongNames = std::to_array<LongName>({
    {"int8", DType::i8},
    {"int16", DType::i16},
    {"int32", DType::i32},
    {"int64", DType::i64},
    {"uint8", DType::u8},
    {"uint16", DType::u16},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"float16", DType::f16},
    {"float32", DType::f32},
    {"float64", DType::f64},
    {"bfloat16", DType::bf16},
    {"half", DType::f16},
    {"float", DType::f32},
    {"double", DType::f64},
    {"int", DType::i64},
});

// Collects names in order of first use, leaving out those that an earlier statement defines.
class FreeNames {
 public:
  void statement(const Statement& statement) {
    if (statement.kind == Statement::Kind::function) return function(statement);
    visit(statement.value);
    if (statement.kind == Statement::Kind::input) variables(statement.type);
    for (const auto& target : statement.targets) defined_.insert(target.text);
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  // A body sees its parameters and what it defines itself beside the names around it.
  void function(const Statement& statement) {
    const auto outside = defined_;
    for (const auto& p : statement.parameters) visit(p.otherwise);
    for (const auto& p : statement.parameters) defined_.insert(p.name.text);
    for (const Statement& inner : statement.body) this->statement(inner);
    defined_ = outside;
    defined_.insert(statement.targets[0].text);
  }

  // "f32[n:1..64, 4]" declares n.
  void variables(std::string_view type) {
    for (size_t colon = type.find(':'); colon != std::string_view::npos;
         colon = type.find(':', colon + 1)) {
      size_t end = colon;
      while (end > 0 && type[end - 1] == ' ') --end;
      size_t begin = end;
      while (begin > 0 && is_name(type.substr(begin - 1, end - begin + 1))) --begin;
      while (begin < end && !is_name(type.substr(begin, end - begin))) ++begin;
      if (begin < end) defined_.insert(type.substr(begin, end - begin));
    }
  }

  void visit(const ExprPtr& expr) {
    if (expr) visit(*expr);
  }
  void visit(const Expr& expr) {
    if (expr.kind == Expr::Kind::name) name(expr.text);
    for (const ExprPtr& arg : expr.args) visit(arg);
    for (const Expr::Keyword& keyword : expr.keywords) visit(keyword.value);
    for (const Expr::Item& item : expr.items) {
      visit(item.index);
      visit(item.start);
      visit(item.stop);
      visit(item.step);
    }
  }
  void name(std::string_view text) {
    if (constant_named(text) || defined_.contains(text)) return;
    if (std::find(found_.begin(), found_.end(), text) == found_.end()) found_.emplace_back(text);
  }

  std::set<std::string_view> defined_;
  std::vector<std::string> found_;
};

}  // namespace

std::optional<DType> dtype_named(std::string_view name) {
  if (const auto type = dtype_from_name(name)) return type;
  for (const auto& [spelling, type] : kLongNames)
    if (spelling == name) return type;
  return std::nullopt;
}

std::optional<Value> constant_named(std::string_view name) {
  if (name == "inf") return Value{Number::of(std::numeric_limits<double>::infinity())};
  if (name == "nan") return Value{Number::of(std::numeric_limits<double>::quiet_NaN())};
  if (name == "true" || name == "True") return Value{true};
  if (name == "false" || name == "False") return Value{false};
  if (name == "none" || name == "None") return Value{None{}};
  if (const auto type = dtype_named(name)) return Value{*type};
  return std::nullopt;
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

Result<std::vector<std::string>> free_names(std::string_view expression) {
  const Source source(expression);
  OST_TRY_ASSIGN(const std::vector<Statement> statements, parse_program(source));
  FreeNames names;
  for (const Statement& statement : statements) names.statement(statement);
  return names.take();
}

Result<std::vector<std::string>> declared_inputs(std::string_view program) {
  const Source source(program);
  OST_TRY_ASSIGN(const std::vector<Statement> statements, parse_program(source));
  std::vector<std::string> names;
  for (const Statement& statement : statements) {
    if (statement.kind != Statement::Kind::input) continue;
    for (const auto& target : statement.targets) names.emplace_back(target.text);
  }
  return names;
}

}  // namespace ost::dsl
