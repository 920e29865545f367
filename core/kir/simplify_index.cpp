#include "core/kir/simplify_index.hpp"

#include <algorithm>

#include "core/kir/prove.hpp"

namespace ost::kir {
namespace {

constexpr int kBudget = 96;  // of one proof: the builder has to be quick

}  // namespace

Poly IndexSimplifier::poly(Value v) {
  index_.extend();
  return index_.poly(v);
}

Range IndexSimplifier::range(Value v) {
  index_.extend();
  return index_.range(v);
}

void IndexSimplifier::clear() {
  index_.clear();
  samples_.clear();
  partner_.clear();
}

Value IndexSimplifier::settled(Value v) {
  if (pool_.kernel().dtype(v) != DType::i64) return v;
  const auto c = poly(v).as_constant();
  return c ? pool_.constant(DType::i64, static_cast<uint64_t>(*c)) : v;
}

Value IndexSimplifier::run(const Inst& inst) {
  const Op op = static_cast<Op>(inst.op);
  switch (op) {
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
      return comparison(inst);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
      return inst.dtype == OST_DTYPE_I64 ? arithmetic(inst) : kNone;
    case Op::div:
    case Op::rem:
      return inst.dtype == OST_DTYPE_I64 ? division(inst) : kNone;
    case Op::min:
    case Op::max:
      return inst.dtype == OST_DTYPE_I64 ? extreme(inst) : kNone;
    default:
      return kNone;
  }
}

bool IndexSimplifier::nonnegative(const Poly& p) {
  if (!p.is_valid()) return false;
  if (const auto r = index_.range(p)) {
    if (r->lo >= 0) return true;
    if (r->hi < 0) return false;
  }
  samples_.extend(pool_.kernel());
  if (samples_.refutes_nonnegative(p)) return false;
  Prover prover(index_, kBudget);
  prover.assume_points(index_.depends(p));
  return prover.nonnegative(p);
}

Value IndexSimplifier::arithmetic(const Inst& inst) {
  const Poly a = poly(inst.src[0]);
  const Poly b = inst.nsrc > 1 ? poly(inst.src[1]) : Poly();
  Poly p = index_.combine(static_cast<Op>(inst.op), a, b);
  if (!index_.range(p)) return kNone;  // too large, or it might wrap
  return emit(rejoin(std::move(p)));
}

Value IndexSimplifier::division(const Inst& inst) {
  const Poly a = poly(inst.src[0]);
  const Poly b = poly(inst.src[1]);
  const Poly divisor_margin = b - Poly::constant(1);
  samples_.extend(pool_.kernel());
  if (!a.is_valid() || samples_.refutes_nonnegative(a)) return kNone;
  Prover prover(index_, kBudget);
  prover.assume_points(index_.depends(a) | index_.depends(b));
  if (!prover.nonnegative(divisor_margin) || !prover.nonnegative(a)) return kNone;
  const Poly result = inst.op == OST_KIR_OP_DIV ? quotient(a, b, 8) : remainder(a, b, 8);
  return result.is_valid() ? emit(rejoin(result)) : kNone;
}

Value IndexSimplifier::extreme(const Inst& inst) {
  const Poly difference = poly(inst.src[1]) - poly(inst.src[0]);
  const bool is_min = inst.op == OST_KIR_OP_MIN;
  if (nonnegative(difference)) return inst.src[is_min ? 0 : 1];
  if (nonnegative(Poly() - difference)) return inst.src[is_min ? 1 : 0];
  return kNone;
}

Value IndexSimplifier::comparison(const Inst& inst) {
  const Op op = static_cast<Op>(inst.op);
  const auto truth = [&](bool value) { return pool_.constant(DType::boolean, value); };
  const DType type = pool_.kernel().dtype(inst.src[0]);
  index_.extend();
  if (type != DType::i64) {
    if (!is_int(type) || type == DType::u64) return kNone;
    const Range a = index_.range(inst.src[0]);
    const Range b = index_.range(inst.src[1]);
    if (a.hi < b.lo) return truth(op != Op::eq);
    if (a.lo > b.hi) return truth(op == Op::ne);
    return kNone;
  }
  const Poly difference = poly(inst.src[1]) - poly(inst.src[0]);  // b - a
  const Poly one = Poly::constant(1);
  if (op == Op::eq || op == Op::ne) {
    if (difference.is_zero()) return truth(op == Op::eq);
    const bool differ = nonnegative(difference - one) || nonnegative(Poly() - difference - one);
    return differ ? truth(op == Op::ne) : kNone;
  }
  const Poly margin = op == Op::lt ? difference - one : difference;
  if (nonnegative(margin)) return truth(true);
  if (nonnegative(Poly() - margin - one)) return truth(false);
  return kNone;
}

// --- spelling ---

Value IndexSimplifier::raw(Op op, Value a, Value b) {
  const Value v = pool_.intern(make_inst(op, DType::i64, {a, b}));
  index_.extend();  // whoever sees a polynomial with this atom may ask for its range
  return v;
}

// Spelled records are not commuted: the order is a function of the polynomial already.
//
// (product of what varies) * ((product of what does not) * coefficient): strides stay loop
// invariant. The coefficient is not 0.
Value IndexSimplifier::emit_product(const Monomial& m, int64_t coefficient) {
  Value varying = kNone;
  Value uniform = kNone;
  for (Value atom : m.factors()) {
    Value& product = index_.is_uniform(atom) ? uniform : varying;
    product = product == kNone ? atom : raw(Op::mul, product, atom);
  }
  const auto c = static_cast<uint64_t>(coefficient);
  if (uniform == kNone) {
    const Value factor = pool_.constant(DType::i64, c);
    return varying == kNone ? factor : coefficient == 1 ? varying : raw(Op::mul, varying, factor);
  }
  if (coefficient != 1) uniform = raw(Op::mul, uniform, pool_.constant(DType::i64, c));
  return varying == kNone ? uniform : raw(Op::mul, varying, uniform);
}

Value IndexSimplifier::emit_sum(Value sum, const Monomial& m, int64_t coefficient) {
  if (sum == kNone) return emit_product(m, coefficient);
  const bool subtract = coefficient < 0 && coefficient != INT64_MIN && m.degree > 0;
  const Value product = emit_product(m, subtract ? -coefficient : coefficient);
  return raw(subtract ? Op::sub : Op::add, sum, product);
}

// Terms that vary first, then those that do not as one sum; in each, what is added before what is
// subtracted.
Value IndexSimplifier::emit(const Poly& p) {
  index_.extend();
  if (const auto c = p.as_constant()) return pool_.constant(DType::i64, static_cast<uint64_t>(*c));
  if (const auto atom = p.as_atom()) return *atom;
  const auto is_uniform = [&](const PolyTerm& t) {
    const auto factors = t.monomial.factors();
    return std::all_of(factors.begin(), factors.end(),
                       [&](Value v) { return index_.is_uniform(v); });
  };
  std::vector<PolyTerm> groups[4];  // varying +, varying -, uniform +, uniform -
  for (const PolyTerm& term : p.terms())
    groups[(is_uniform(term) ? 2 : 0) + (term.coefficient < 0)].push_back(term);
  Value varying = kNone;
  Value uniform = kNone;
  const bool negative_only = groups[0].empty() && !groups[1].empty();
  for (int g = 2; g < 4; ++g) {
    for (const PolyTerm& term : groups[g])
      uniform = emit_sum(uniform, term.monomial, term.coefficient);
  }
  if (negative_only && uniform != kNone) std::swap(varying, uniform);  // n - 1 - i
  for (int g = 0; g < 2; ++g) {
    for (const PolyTerm& term : groups[g])
      varying = emit_sum(varying, term.monomial, term.coefficient);
  }
  const Value sum = varying == kNone   ? uniform
                    : uniform == kNone ? varying
                                       : raw(Op::add, varying, uniform);
  index_.extend();
  index_.set_poly(sum, p);  // also where a partial sum might wrap
  return sum;
}

}  // namespace ost::kir
