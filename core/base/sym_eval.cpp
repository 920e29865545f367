// Evaluation, substitution and the set of variables of a Sym.
#include <algorithm>

#include "core/base/sym.hpp"
#include "core/base/sym_rep.hpp"

namespace ost {
namespace {

Result<int64_t> eval_atom(const Sym::Atom& atom, const Bindings& values) {
  if (atom.kind == Sym::AtomKind::var) {
    const Var& v = atom.variable;
    const auto found = values.find(v.name);
    if (found == values.end())
      return fail(OST_INVALID_ARGUMENT, "variable '{}' has no value", v.name);
    if (found->second >= v.min && found->second <= v.max) return found->second;
    return fail(OST_INVALID_ARGUMENT, "variable '{}' is {}, wanted a value from {} to {}", v.name,
                found->second, v.min, v.max);
  }
  OST_TRY_ASSIGN(const int64_t a, atom.a.eval(values));
  OST_TRY_ASSIGN(const int64_t b, atom.b.eval(values));
  switch (atom.kind) {
    case Sym::AtomKind::min:
      return std::min(a, b);
    case Sym::AtomKind::max:
      return std::max(a, b);
    case Sym::AtomKind::floordiv:
    case Sym::AtomKind::mod: {
      const bool is_div = atom.kind == Sym::AtomKind::floordiv;
      if (b == 0)
        return fail(OST_INVALID_ARGUMENT, "division by zero in {}({}, {})",
                    is_div ? "floordiv" : "mod", atom.a.str(), atom.b.str());
      const Sym result = is_div ? floordiv(Sym(a), Sym(b)) : mod(Sym(a), Sym(b));
      if (result.is_valid()) return *result.constant();
      return fail(OST_INVALID_ARGUMENT, "overflow in floordiv({}, {})", atom.a.str(), atom.b.str());
    }
    case Sym::AtomKind::var:
      break;
  }
  return fail(OST_INTERNAL, "unknown kind of atom in a symbolic expression");
}

}  // namespace

Result<int64_t> Sym::eval(const Bindings& values) const {
  if (!rep_) return value_;
  if (!rep_->valid)
    return fail(OST_INVALID_ARGUMENT,
                "the expression is invalid: it overflowed or divides by zero");
  int64_t sum = 0;
  for (const Term& term : rep_->terms) {
    int64_t product = term.coefficient;
    bool overflow = false;
    bool zero = false;
    for (const auto& factor : term.factors) {
      OST_TRY_ASSIGN(const int64_t value, eval_atom(*factor, values));
      zero = zero || value == 0;
      overflow = __builtin_mul_overflow(product, value, &product) || overflow;
    }
    if (zero) product = 0;
    if ((overflow && !zero) || __builtin_add_overflow(sum, product, &sum))
      return fail(OST_INVALID_ARGUMENT, "overflow of 64 bits in {}", str());
  }
  return sum;
}

void Sym::collect_vars(std::map<std::string, Var, std::less<>>& out) const {
  if (!rep_) return;
  for (const Term& term : rep_->terms) {
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::var) {
        out.emplace(factor->variable.name, factor->variable);
      } else {
        factor->a.collect_vars(out);
        factor->b.collect_vars(out);
      }
    }
  }
}

Sym Sym::substitute(const std::map<std::string, Sym, std::less<>>& values) const {
  if (!rep_ || !rep_->valid) return *this;
  Sym sum = 0;
  for (const Term& term : rep_->terms) {
    Sym product = term.coefficient;
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::var) {
        const auto found = values.find(factor->variable.name);
        product = product * (found != values.end() ? found->second : var(factor->variable));
        continue;
      }
      const Sym a = factor->a.substitute(values);
      const Sym b = factor->b.substitute(values);
      switch (factor->kind) {
        case AtomKind::floordiv:
          product = product * floordiv(a, b);
          break;
        case AtomKind::mod:
          product = product * mod(a, b);
          break;
        case AtomKind::min:
          product = product * min(a, b);
          break;
        default:
          product = product * max(a, b);
          break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace ost
