// A Sym prepared for evaluation in a run: variables by position, no lookups, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/sym.hpp"

namespace ost::runtime {

class VarExpr {
 public:
  VarExpr() = default;  // 0
  // Every variable of `sym` must be one of `vars`.
  static Result<VarExpr> compile(const Sym& sym, std::span<const Var> vars);

  bool is_const() const;
  // `values` in the order of the vars of compile(). Nothing if it overflows or divides by zero.
  std::optional<int64_t> eval(std::span<const int64_t> values) const;

 private:
  struct Atom;
  struct Term {
    int64_t coefficient = 0;
    std::vector<Atom> factors;
  };
  std::vector<Term> terms_;
};

struct VarExpr::Atom {
  Sym::AtomKind kind = Sym::AtomKind::var;
  size_t variable = 0;  // kind var
  VarExpr a, b;         // other kinds

  std::optional<int64_t> eval(std::span<const int64_t> values) const;
};

}  // namespace ost::runtime
