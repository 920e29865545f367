#include "core/codegen/group_builder.hpp"

#include <algorithm>

#include "core/kir/fold.hpp"
#include "core/kir/ops.hpp"

namespace ost::codegen {

using kir::Inst;

GroupBuilder::GroupBuilder(kir::Numerics numerics, uint32_t lanes) {
  kernel_.numerics = numerics;
  kernel_.level = 2;
  kernel_.lanes = lanes;
  visible_.resize(1);
}

Value GroupBuilder::place(const Inst& inst, bool at_start) {
  const auto v = static_cast<Value>(kernel_.insts.size());
  kernel_.insts.push_back(inst);
  at_start_.push_back(at_start);
  return v;
}

Value GroupBuilder::append(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux,
                           uint64_t imm) {
  Inst inst{static_cast<uint16_t>(op), static_cast<uint8_t>(type), 0, aux, {}, imm};
  std::ranges::fill(inst.src, kNone);
  for (const Value v : operands)
    if (v != kNone) inst.src[inst.nsrc++] = v;
  const bool declares = op == Op::constant || op == Op::lane || op == Op::group ||
                        op == Op::local_array || op == Op::private_array;
  return place(inst, declares);
}

Value GroupBuilder::constant(DType type, uint64_t bits) {
  Inst inst{static_cast<uint16_t>(Op::constant), static_cast<uint8_t>(type), 0, 0, {}, bits};
  std::ranges::fill(inst.src, kNone);
  return pure(inst);
}

// Visible from everywhere, since it will be at the start.
Value GroupBuilder::declare(const Inst& inst) {
  const bool at_start = open_.empty();
  return place(inst, at_start);
}

Value GroupBuilder::lane() {
  Inst inst{static_cast<uint16_t>(Op::lane), static_cast<uint8_t>(DType::i64), 0, 0, {}, 0};
  std::ranges::fill(inst.src, kNone);
  return lanes() == 1 ? i64(0) : pure(inst);
}

Value GroupBuilder::group(uint32_t dimension) {
  Inst inst{
      static_cast<uint16_t>(Op::group), static_cast<uint8_t>(DType::i64), 0, 0, {}, dimension};
  std::ranges::fill(inst.src, kNone);
  return pure(inst);
}

Value GroupBuilder::local_array(DType type, uint64_t count) {
  return append(Op::local_array, type, {}, 0, count);
}
Value GroupBuilder::private_array(DType type, uint64_t count) {
  return append(Op::private_array, type, {}, 0, count);
}
Value GroupBuilder::private_array_here(DType type, uint64_t count) {
  const Value v = private_array(type, count);
  at_start_[v] = false;
  return v;
}
void GroupBuilder::grid(uint32_t dimension, Value count) {
  append(Op::grid, DType::i64, {count}, 0, dimension);
}

Value GroupBuilder::pure(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux) {
  Inst inst{static_cast<uint16_t>(op), static_cast<uint8_t>(type), 0, aux, {}, 0};
  std::ranges::fill(inst.src, kNone);
  for (const Value v : operands) inst.src[inst.nsrc++] = v;
  return pure(inst);
}

Value GroupBuilder::pure(const Inst& inst) {
  if (const Value folded = fold(inst); folded != kNone) return folded;
  if (const Value simple = simplify(inst); simple != kNone) return simple;
  const auto op = static_cast<Op>(inst.op);
  const bool at_start = op == Op::constant || op == Op::lane || op == Op::group;
  Key key{(uint64_t{inst.op} << 48) | (uint64_t{inst.dtype} << 40) | inst.aux, inst.imm};
  for (uint32_t i = 0; i < inst.nsrc; ++i) key.push_back(inst.src[i]);
  for (const auto& scope : visible_) {
    if (const auto it = scope.find(key); it != scope.end()) return it->second;
  }
  const Value v = place(inst, at_start);
  (at_start ? visible_.front() : visible_.back()).emplace(std::move(key), v);
  return v;
}

std::optional<int64_t> GroupBuilder::number(Value v) const {
  if (v == kNone || !is_constant(v) || is_float(kernel_.dtype(v))) return std::nullopt;
  return kir::sign_value(kernel_.dtype(v), kernel_.insts[v].imm);
}

// Integers and bools only: floats are computed where they run.
Value GroupBuilder::fold(const Inst& inst) {
  const auto op = static_cast<Op>(inst.op);
  const auto type = static_cast<DType>(inst.dtype);
  if (inst.nsrc == 0 || inst.nsrc > 2) return kNone;
  const DType operand = kernel_.dtype(inst.src[0]);
  for (uint32_t i = 0; i < inst.nsrc; ++i)
    if (!number(inst.src[i])) return kNone;
  const uint64_t a = kernel_.insts[inst.src[0]].imm;
  std::optional<uint64_t> bits;
  if (op == Op::cast) {
    bits = kir::fold_cast(type, operand, a);
  } else if (inst.nsrc == 1) {
    bits = kir::fold_unary(op, operand, a);
  } else {
    const uint64_t b = kernel_.insts[inst.src[1]].imm;
    bits = kir::fold_binary(op, operand, a, b);
    if (!bits) {
      if (const auto c = kir::fold_compare(op, operand, a, b)) bits = *c;
    }
  }
  return bits ? constant(type, *bits) : kNone;
}

Value GroupBuilder::simplify(const Inst& inst) const {
  const auto op = static_cast<Op>(inst.op);
  if (op == Op::where && number(inst.src[0])) return inst.src[*number(inst.src[0]) ? 1 : 2];
  if (inst.nsrc != 2 || is_float(static_cast<DType>(inst.dtype))) return kNone;
  const Value a = inst.src[0], b = inst.src[1];
  const auto x = number(a), y = number(b);
  const bool boolean = inst.dtype == OST_DTYPE_BOOL;
  switch (op) {
    case Op::add:
      return x == 0 ? b : y == 0 ? a : kNone;
    case Op::sub:
      return y == 0 ? a : kNone;
    case Op::mul:
      return x == 1 || y == 0 ? b : y == 1 || x == 0 ? a : kNone;
    case Op::div:
      return y == 1 ? a : kNone;
    case Op::bit_and:
      if (!boolean) return kNone;
      return x == 1 || y == 0 ? b : y == 1 || x == 0 ? a : kNone;
    case Op::bit_or:
      if (!boolean) return kNone;
      return x == 0 || y == 1 ? b : y == 0 || x == 1 ? a : kNone;
    default:
      return kNone;
  }
}

Value GroupBuilder::load(Value memory, Value index, Value mask) {
  return append(Op::load, dtype(memory), {memory, index, mask});
}
void GroupBuilder::store(Value memory, Value index, Value value, Value mask) {
  append(Op::store, dtype(memory), {memory, index, value, mask});
}

Value GroupBuilder::open_loop(Value begin, Value end, int64_t step, bool unroll) {
  const Value by = i64(step);
  const Value v =
      append(Op::loop, DType::i64, {begin, end, by}, unroll ? uint32_t{OST_KIR_UNROLL} : 0u);
  open_.push_back(v);
  visible_.emplace_back();
  return v;
}

void GroupBuilder::open_if(Value condition) {
  open_.push_back(append(Op::if_true, DType::boolean, {condition}));
  visible_.emplace_back();
}

void GroupBuilder::close() {
  append(Op::end, DType::boolean, {open_.back()});
  open_.pop_back();
  visible_.pop_back();
}

void GroupBuilder::barrier() {
  if (lanes() > 1) append(Op::barrier, DType::boolean, {});
}

Result<kir::Kernel> GroupBuilder::build() {
  kir::Kernel out;
  out.numerics = kernel_.numerics;
  out.level = 2;
  out.lanes = kernel_.lanes;
  std::vector<Value> moved(kernel_.insts.size(), kNone);
  const auto take = [&](Value v) {
    Inst inst = kernel_.insts[v];
    for (uint32_t i = 0; i < inst.nsrc; ++i) inst.src[i] = moved[inst.src[i]];
    moved[v] = static_cast<Value>(out.insts.size());
    out.insts.push_back(inst);
  };
  // What is at the start has operands that are at the start, or come before any region.
  for (Value v = 0; v < kernel_.insts.size(); ++v)
    if (at_start_[v] && kernel_.insts[v].nsrc == 0) take(v);
  for (Value v = 0; v < kernel_.insts.size(); ++v)
    if (moved[v] == kNone) take(v);
  OST_TRY(kir::verify(out));
  return out;
}

}  // namespace ost::codegen
