// Symbolic integers: dimensions, sizes, offsets and launch bounds as expressions over named
// variables with bounds.
//
// A Sym is immutable and cheap to copy. Expressions are kept in a canonical form (a sum of integer
// coefficients times sorted products of atoms, an atom being a variable or a floordiv/mod/min/max
// of two expressions), so that structural equality decides equality of polynomials, and `64*n -
// 64*n` is the constant 0. Arithmetic is checked: an overflow of int64 makes the expression
// *invalid* (sticky, `is_valid()`), never wraps.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ost {

// An integer argument of a program. Two variables are the same if their names are; one program may
// not hold two variables of one name with different bounds.
struct Var {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  auto operator<=>(const Var&) const = default;
};

using Bindings = std::map<std::string, int64_t, std::less<>>;

class Sym {
 public:
  Sym(int64_t value = 0) : value_(value) {}  // NOLINT: integers are dimensions; allocates nothing
  static Sym var(Var v);

  bool is_valid() const;
  bool is_const() const { return !rep_; }
  std::optional<int64_t> constant() const;  // the value, if no variable occurs
  std::optional<Var> as_var() const;        // the variable, if the expression is just that

  friend Sym operator+(const Sym& a, const Sym& b);
  friend Sym operator-(const Sym& a, const Sym& b);
  friend Sym operator*(const Sym& a, const Sym& b);
  friend Sym floordiv(const Sym& a, const Sym& b);  // toward minus infinity; b = 0 makes it invalid
  friend Sym mod(const Sym& a, const Sym& b);       // a - b * floordiv(a, b)
  friend Sym min(const Sym& a, const Sym& b);
  friend Sym max(const Sym& a, const Sym& b);
  friend Sym ceildiv(const Sym& a, const Sym& b);  // floordiv(a + b - 1, b)

  friend bool operator==(const Sym& a, const Sym& b);
  friend std::strong_ordering operator<=>(const Sym& a, const Sym& b);  // structural, deterministic

  // Smallest and largest value over all variable values within their bounds; conservative (may be
  // wider), exact for constants and for polynomials of one occurrence of each variable. Unbounded
  // ends saturate at INT64_MIN/MAX.
  int64_t lower() const;
  int64_t upper() const;

  // True if the fact holds for all values of the variables; false means "not proved".
  friend bool provably_le(const Sym& a, const Sym& b);
  friend bool provably_lt(const Sym& a, const Sym& b);

  // The value for these bindings; an unbound variable, a value outside its bounds and an overflow
  // are errors.
  Result<int64_t> eval(const Bindings& values) const;

  // The variables that occur, by name.
  void collect_vars(std::map<std::string, Var, std::less<>>& out) const;

  // The expression with variables replaced.
  Sym substitute(const std::map<std::string, Sym, std::less<>>& values) const;

  // "64*n + 3", "floordiv(n + 3, 4)"; parse() reads it back to an equal expression. Variables must
  // be declared.
  std::string str() const;
  static Result<Sym> parse(std::string_view text, std::span<const Var> vars);

  // The canonical form, for code that translates an expression (to KIR, to a closure): value = sum
  // of terms. A constant has one term without factors, 0 has none, an invalid expression has none.
  enum class AtomKind : uint8_t { var, floordiv, mod, min, max };
  struct Atom;
  struct Term {
    int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> factors;  // empty: the constant term
  };
  std::vector<Term> terms() const;

 private:
  friend struct SymAccess;
  struct Rep;
  explicit Sym(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  int64_t value_ = 0;               // the constant, where there is no rep_
  std::shared_ptr<const Rep> rep_;  // the terms of an expression that is not a constant
};

struct Sym::Atom {
  AtomKind kind;
  Var variable;  // kind var
  Sym a, b;      // other kinds
};

using Shape = std::vector<Sym>;

Sym numel(std::span<const Sym> shape);              // product, 1 for rank 0
std::string to_string(std::span<const Sym> shape);  // "[n, 64]"

}  // namespace ost
