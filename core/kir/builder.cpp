// The builder: each record is type-checked, simplified and hash-consed; build() drops what no store
// needs.
#include <bit>

#include "core/kir/ops.hpp"
#include "core/kir/pool.hpp"
#include "core/kir/prune.hpp"
#include "core/kir/simplify.hpp"
#include "core/kir/typing.hpp"

namespace ost::kir {

struct Builder::State {
  Kernel kernel;
  Pool pool{kernel};
  Simplifier simplify{pool};
  std::optional<Error> offence;  // the first misuse, reported by build()
  uint32_t axis_count = 0;

  bool check(const Inst& inst) {
    const auto position = static_cast<uint32_t>(kernel.insts.size());
    Result<> result = check_encoding(inst, position);
    if (result) result = check_types(kernel, inst);
    if (!result && !offence)
      offence = result.error().in(fmt::format("kir builder, before record {}", position));
    return result.has_value();
  }

  Value emit(const Inst& inst) {
    if (check(inst)) return simplify.run(inst);
    return pool.constant(static_cast<DType>(inst.dtype),
                         0);  // something of the right type to go on with
  }

  // The type of an operand that may be misused (kNone): what the result type is taken from.
  DType type(Value v) const { return v < kernel.insts.size() ? kernel.dtype(v) : DType::i64; }
};

Builder::Builder(Numerics numerics) : state_(std::make_shared<State>()), kernel_(state_->kernel) {
  kernel_.numerics = numerics;
}

Value Builder::constant(DType type, uint64_t bits) {
  return state_->emit(make_inst(Op::constant, type, {}, 0, bits));
}

Value Builder::i64(int64_t v) { return constant(DType::i64, static_cast<uint64_t>(v)); }

Value Builder::f32(float v) { return constant(DType::f32, std::bit_cast<uint32_t>(v)); }

Value Builder::f64(double v) { return constant(DType::f64, std::bit_cast<uint64_t>(v)); }

Value Builder::boolean(bool v) { return constant(DType::boolean, v); }

Value Builder::float_const(DType type, double v) {
  return type == DType::f64 ? f64(v) : f32(static_cast<float>(v));
}

Value Builder::param(uint32_t slot, DType type, Value count, uint32_t access) {
  const Inst inst = make_inst(Op::param, type, {count}, access, slot);
  return state_->check(inst) ? state_->pool.intern(inst)
                             : state_->pool.append(make_inst(Op::param, type, {i64(0)}, 3, slot));
}

Value Builder::var(uint32_t slot, int64_t min, int64_t max) {
  return state_->emit(make_inst(Op::var, DType::i64, {i64(min), i64(max)}, 0, slot));
}

Value Builder::axis(Value extent, Role role) {
  const Inst inst =
      make_inst(Op::axis, DType::i64, {extent}, static_cast<uint32_t>(role), state_->axis_count++);
  return state_->check(inst)
             ? state_->pool.append(inst)
             : state_->pool.append(make_inst(Op::axis, DType::i64, {i64(0)}, inst.aux, inst.imm));
}

Value Builder::load(Value param, Value index, Value mask) {
  return state_->emit(make_inst(Op::load, state_->type(param), {param, index, mask}));
}

void Builder::store(Value param, Value index, Value value, Value mask) {
  const Inst inst = make_inst(Op::store, state_->type(param), {param, index, value, mask});
  if (state_->check(inst)) state_->simplify.store(inst);
}

Value Builder::unary(Op op, Value a) { return state_->emit(make_inst(op, state_->type(a), {a})); }

Value Builder::binary(Op op, Value a, Value b) {
  return state_->emit(make_inst(op, state_->type(a), {a, b}));
}

Value Builder::compare(Op op, Value a, Value b) {
  return state_->emit(make_inst(op, DType::boolean, {a, b}));
}

Value Builder::where(Value cond, Value a, Value b, bool rare) {
  return state_->emit(
      make_inst(Op::where, state_->type(a), {cond, a, b}, rare ? OST_KIR_WHERE_RARE : 0));
}

Value Builder::fma(Value a, Value b, Value c) {
  return state_->emit(make_inst(Op::fma, state_->type(a), {a, b, c}));
}

Value Builder::ldexp(Value x, Value n) {
  return state_->emit(make_inst(Op::ldexp, state_->type(x), {x, n}));
}

Value Builder::cast(DType to, Value x) {
  return state_->emit(make_inst(Op::cast, to, {x}, *cast_rounding(to, state_->type(x))));
}

Value Builder::bitcast(DType to, Value x) { return state_->emit(make_inst(Op::bitcast, to, {x})); }

Value Builder::reduce(Combine combine, Order order, Value value, Value axis) {
  const uint32_t aux = static_cast<uint32_t>(combine) | static_cast<uint32_t>(order) << 8;
  return state_->emit(make_inst(Op::reduce, state_->type(value), {value, axis}, aux));
}

Value Builder::contract(Order order, Value a, Value b, Value axis) {
  const uint32_t aux = OST_KIR_COMBINE_SUM | static_cast<uint32_t>(order) << 8;
  return state_->emit(make_inst(Op::contract, state_->type(a), {a, b, axis}, aux));
}

Value Builder::argreduce(Combine combine, Value value, Value axis) {
  return state_->emit(
      make_inst(Op::argreduce, DType::i64, {value, axis}, static_cast<uint32_t>(combine)));
}

Value Builder::attn(Value score, Value mask, Value v, Value axis) {
  return state_->emit(
      make_inst(Op::attn, DType::f32, {score, mask, v, axis}, OST_KIR_ORDER_ATTN << 8));
}

Builder::Range Builder::range(Value v) const {
  return v < kernel_.insts.size() ? state_->simplify.range(v) : Range{INT64_MIN, INT64_MAX};
}

Result<Kernel> Builder::build() {
  std::optional<Error> offence = std::move(state_->offence);
  Kernel kernel = prune(kernel_);
  state_->pool.clear();
  state_->simplify.clear();
  state_->offence.reset();
  state_->axis_count = 0;
  if (offence) return std::unexpected(std::move(*offence));
  OST_TRY(verify(kernel));
  return kernel;
}

}  // namespace ost::kir
