#include "core/schedule/sym_to_kir.hpp"

namespace ost {

using kir::Value;

Value SymToKir::operator()(const Sym& s) {
  if (auto c = s.constant()) return b_.i64(*c);
  Value sum = b_.i64(0);
  for (const Sym::Term& term : s.terms()) {
    Value product = b_.i64(term.coefficient);
    for (const auto& factor : term.factors) product = b_.mul(product, atom(*factor));
    sum = b_.add(sum, product);
  }
  return sum;
}

Value SymToKir::atom(const Sym::Atom& a) {
  if (a.kind == Sym::AtomKind::var) return variable(a.variable);
  const Value x = (*this)(a.a), y = (*this)(a.b);
  switch (a.kind) {
    case Sym::AtomKind::min:
      return b_.binary(kir::Op::min, x, y);
    case Sym::AtomKind::max:
      return b_.binary(kir::Op::max, x, y);
    default:
      break;
  }
  // KIR division truncates; dimensions divide toward minus infinity. They agree unless the signs
  // differ.
  const bool plain = b_.range(x).lo >= 0 && b_.range(y).lo > 0;
  const Value zero = b_.i64(0), rem = b_.rem(x, y);
  if (plain) return a.kind == Sym::AtomKind::mod ? rem : b_.div(x, y);
  const Value apart = b_.bit_and(b_.compare(kir::Op::ne, rem, zero),
                                 b_.compare(kir::Op::ne, b_.cast(DType::i64, b_.lt(rem, zero)),
                                            b_.cast(DType::i64, b_.lt(y, zero))));
  if (a.kind == Sym::AtomKind::mod) return b_.where(apart, b_.add(rem, y), rem);
  return b_.sub(b_.div(x, y), b_.cast(DType::i64, apart));
}

Value SymToKir::variable(const Var& v) {
  if (auto it = slots_.find(v.name); it != slots_.end()) return it->second;
  const Value value = b_.var(static_cast<uint32_t>(vars_.size()), v.min, v.max);
  vars_.push_back(v);
  slots_.emplace(v.name, value);
  return value;
}

}  // namespace ost
