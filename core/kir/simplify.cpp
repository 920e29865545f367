#include "core/kir/simplify.hpp"

#include "core/kir/fold.hpp"

namespace ost::kir {
namespace {

bool is_commutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::eq:
    case Op::ne:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Simplifier::is_constant(Value v, int64_t value) const {
  return is_constant(v) && sign_value(pool_.kernel().dtype(v), bits(v)) == value;
}

Value Simplifier::run(Inst inst) {
  settle_operands(inst);
  if (const Value v = fold(inst); v != kNone) return v;
  canonical_order(inst);
  if (const Value v = identity(inst); v != kNone) return v;
  if (const Value v = index_.run(inst); v != kNone) return v;
  return pool_.intern(inst);
}

// Index values with only one possible number are replaced by it where they are used as values (not
// as a reduced axis).
void Simplifier::settle_operands(Inst& inst) {
  switch (static_cast<Op>(inst.op)) {
    case Op::load:
    case Op::store:
      inst.src[1] = index_.settled(inst.src[1]);
      break;
    case Op::where:
      inst.src[1] = index_.settled(inst.src[1]);
      inst.src[2] = index_.settled(inst.src[2]);
      break;
    case Op::cast:
    case Op::bitcast:
      inst.src[0] = index_.settled(inst.src[0]);
      break;
    default:
      break;
  }
}

// Integer and bool operands are commuted: a constant last, otherwise the earlier record first.
void Simplifier::canonical_order(Inst& inst) const {
  if (!is_commutative(static_cast<Op>(inst.op)) || is_float(pool_.kernel().dtype(inst.src[0])))
    return;
  const bool first = is_constant(inst.src[0]);
  const bool second = is_constant(inst.src[1]);
  if (first != second ? first : inst.src[0] > inst.src[1]) std::swap(inst.src[0], inst.src[1]);
}

Value Simplifier::fold(const Inst& inst) const {
  for (uint32_t k = 0; k < inst.nsrc; ++k) {
    if (!is_constant(inst.src[k])) return kNone;
  }
  const Op op = static_cast<Op>(inst.op);
  const DType type = static_cast<DType>(inst.dtype);
  const auto result = [&](std::optional<uint64_t> value) {
    return value ? pool_.constant(type, *value) : kNone;
  };
  if (inst.nsrc == 1 && op == Op::cast)
    return result(fold_cast(type, pool_.kernel().dtype(inst.src[0]), bits(inst.src[0])));
  if (inst.nsrc == 1) return result(fold_unary(op, type, bits(inst.src[0])));
  if (inst.nsrc != 2) return kNone;
  const DType from = pool_.kernel().dtype(inst.src[0]);
  if (const auto truth = fold_compare(op, from, bits(inst.src[0]), bits(inst.src[1])))
    return pool_.constant(type, *truth);
  return from == type ? result(fold_binary(op, type, bits(inst.src[0]), bits(inst.src[1]))) : kNone;
}

Value Simplifier::identity(const Inst& inst) {
  const Op op = static_cast<Op>(inst.op);
  const DType type = static_cast<DType>(inst.dtype);
  if (op == Op::where) return where_identity(inst);
  if (op == Op::load) return load_identity(inst);
  if (op == Op::cast || op == Op::bitcast)
    return pool_.kernel().dtype(inst.src[0]) == type ? inst.src[0] : kNone;
  if (inst.nsrc == 0 || is_float(pool_.kernel().dtype(inst.src[0]))) return kNone;
  if (op == Op::neg || op == Op::bit_not) {
    const Inst& inner = pool_.kernel().insts[inst.src[0]];
    return inner.op == inst.op ? inner.src[0] : kNone;
  }
  const bool same = inst.nsrc == 2 && inst.src[0] == inst.src[1];
  switch (op) {
    case Op::eq:
    case Op::le:
      return same ? pool_.constant(type, 1) : kNone;
    case Op::ne:
    case Op::lt:
      return same ? pool_.constant(type, 0) : kNone;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::shl:
    case Op::shr:
      return arithmetic_identity(inst);
    case Op::min:
    case Op::max:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return bit_identity(inst);
    default:
      return kNone;
  }
}

Value Simplifier::arithmetic_identity(const Inst& inst) {
  const DType type = static_cast<DType>(inst.dtype);
  const Value a = inst.src[0];
  const Value b = inst.src[1];
  const auto zero = [&] { return pool_.constant(type, 0); };
  switch (static_cast<Op>(inst.op)) {
    case Op::add:
      return is_constant(b, 0) ? a : kNone;
    case Op::sub:
      return a == b ? zero() : is_constant(b, 0) ? a : kNone;
    case Op::mul:
      return is_constant(b, 0) ? b : is_constant(b, 1) ? a : kNone;
    case Op::div:
      return is_constant(b, 1) ? a : is_constant(b, 0) || is_constant(a, 0) ? zero() : kNone;
    case Op::rem:
      return a == b || is_constant(b, 0) || is_constant(b, 1) || is_constant(a, 0) ? zero() : kNone;
    default:
      return is_constant(b, 0) || is_constant(a, 0) ? a : kNone;  // shifts
  }
}

Value Simplifier::bit_identity(const Inst& inst) {
  const Op op = static_cast<Op>(inst.op);
  const DType type = static_cast<DType>(inst.dtype);
  const Value a = inst.src[0];
  const Value b = inst.src[1];
  const uint64_t ones = type == DType::boolean ? 1 : truncate_bits(type, ~uint64_t{0});
  const bool conjunction = op == Op::bit_and || (op == Op::min && type == DType::boolean);
  const bool disjunction = op == Op::bit_or || (op == Op::max && type == DType::boolean);
  if (a == b) return op == Op::bit_xor ? pool_.constant(type, 0) : a;
  if (!is_constant(b)) return kNone;
  if (bits(b) == 0 && conjunction) return b;
  if (bits(b) == 0 && (disjunction || op == Op::bit_xor)) return a;
  if (bits(b) == ones && conjunction) return a;
  if (bits(b) == ones && disjunction) return b;
  if (bits(b) == ones && op == Op::bit_xor) return run(make_inst(Op::bit_not, type, {a}));
  return kNone;
}

Value Simplifier::load_identity(const Inst& inst) {
  if (inst.nsrc != 3 || !is_constant(inst.src[2])) return kNone;
  const auto type = static_cast<DType>(inst.dtype);
  if (bits(inst.src[2]) == 0) return pool_.constant(type, 0);
  return pool_.intern(make_inst(Op::load, type, {inst.src[0], inst.src[1]}));
}

void Simplifier::store(Inst inst) {
  settle_operands(inst);
  if (inst.nsrc == 4 && is_constant(inst.src[3])) {
    if (bits(inst.src[3]) == 0) return;
    inst = make_inst(Op::store, static_cast<DType>(inst.dtype),
                     {inst.src[0], inst.src[1], inst.src[2]});
  }
  pool_.append(inst);
}

Value Simplifier::where_identity(const Inst& inst) {
  const auto [cond, a, b] = std::tuple(inst.src[0], inst.src[1], inst.src[2]);
  if (is_constant(cond)) return bits(cond) ? a : b;
  if (a == b) return a;
  if (static_cast<DType>(inst.dtype) != DType::boolean) return kNone;
  if (is_constant(a, 1) && is_constant(b, 0)) return cond;
  if (is_constant(a, 0) && is_constant(b, 1))
    return run(make_inst(Op::bit_not, DType::boolean, {cond}));
  return kNone;
}

}  // namespace ost::kir
