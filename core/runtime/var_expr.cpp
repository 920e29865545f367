#include "core/runtime/var_expr.hpp"

#include <algorithm>

namespace ost::runtime {

Result<VarExpr> VarExpr::compile(const Sym& sym, std::span<const Var> vars) {
  if (!sym.is_valid()) return fail(OST_INVALID_ARGUMENT, "a size overflows 64 bits");
  VarExpr out;
  for (const Sym::Term& term : sym.terms()) {
    Term t;
    t.coefficient = term.coefficient;
    for (const auto& factor : term.factors) {
      Atom atom;
      atom.kind = factor->kind;
      if (factor->kind == Sym::AtomKind::var) {
        const auto found = std::ranges::find(vars, factor->variable.name, &Var::name);
        if (found == vars.end())
          return fail(OST_INVALID_ARGUMENT, "variable {} is not declared", factor->variable.name);
        atom.variable = static_cast<size_t>(found - vars.begin());
      } else {
        OST_TRY_ASSIGN(atom.a, compile(factor->a, vars));
        OST_TRY_ASSIGN(atom.b, compile(factor->b, vars));
      }
      t.factors.push_back(std::move(atom));
    }
    out.terms_.push_back(std::move(t));
  }
  return out;
}

bool VarExpr::is_const() const {
  return std::ranges::all_of(terms_, [](const Term& t) { return t.factors.empty(); });
}

std::optional<int64_t> VarExpr::eval(std::span<const int64_t> values) const {
  int64_t sum = 0;
  for (const Term& term : terms_) {
    int64_t product = term.coefficient;
    for (const Atom& factor : term.factors) {
      const auto value = factor.eval(values);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> VarExpr::Atom::eval(std::span<const int64_t> values) const {
  if (kind == Sym::AtomKind::var) return values[variable];
  const auto x = a.eval(values);
  const auto y = b.eval(values);
  if (!x || !y) return std::nullopt;
  if (kind == Sym::AtomKind::min) return std::min(*x, *y);
  if (kind == Sym::AtomKind::max) return std::max(*x, *y);
  if (*y == 0 || (*y == -1 && *x == INT64_MIN)) return std::nullopt;
  const int64_t quotient = *x / *y - ((*x % *y != 0 && (*x < 0) != (*y < 0)) ? 1 : 0);
  return kind == Sym::AtomKind::floordiv ? quotient : *x - quotient * *y;
}

}  // namespace ost::runtime
