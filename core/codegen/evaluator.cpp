#include "core/codegen/evaluator.hpp"

#include <algorithm>

#include "core/kir/math.hpp"

namespace ost::codegen {

using kir::Inst;

Evaluator::Evaluator(const kir::Kernel& kernel, const kir::Scope& scope, GroupBuilder& builder)
    : k_(kernel),
      scope_(scope),
      b_(builder),
      now_(kernel.insts.size(), kNone),
      ranges_(kir::ranges_of(kernel)) {}

void Evaluator::declare() {
  for (const Op op : {Op::var, Op::param}) {
    for (Value v = 0; v < k_.insts.size(); ++v) {
      if (k_.op(v) != op) continue;
      Inst inst = k_.insts[v];
      for (uint32_t i = 0; i < inst.nsrc; ++i) inst.src[i] = value(inst.src[i]);
      now_[v] = b_.declare(inst);
    }
  }
}

void Evaluator::set(Value record, Value now) {
  undo_.push_back({record, now_[record]});
  now_[record] = now;
}

void Evaluator::bind(Value axis, Value index) {
  set(axis, index);
  bound_ |= scope_.depends[axis];
}

void Evaluator::bind(const std::vector<Value>& axes, const std::vector<Value>& digits) {
  for (size_t i = 0; i < axes.size(); ++i) bind(axes[i], digits[i]);
}

Value Evaluator::count(Value axis) {
  return b_.pure(Op::max, DType::i64, {extent(axis), b_.i64(0)});
}

Value Evaluator::points(const std::vector<Value>& axes) {
  Value n = b_.i64(1);
  for (const Value a : axes) n = b_.mul(n, count(a));
  return n;
}

std::vector<Value> Evaluator::digits(Value index, const std::vector<Value>& axes) {
  std::vector<Value> out(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    out[i] = i == 0 ? index : b_.rem(index, extent(axes[i]));
    if (i > 0) index = b_.div(index, extent(axes[i]));
  }
  return out;
}

void Evaluator::leave(size_t mark) {
  while (undo_.size() > mark) {
    const Undo u = undo_.back();
    undo_.pop_back();
    now_[u.record] = u.before;
    if (k_.op(u.record) == Op::axis && u.before == kNone) bound_ &= ~scope_.depends[u.record];
  }
}

Value Evaluator::value(Value v) {
  if (now_[v] == kNone) {
    const Value made = emit(v);  // may set others
    set(v, made);
  }
  return now_[v];
}

void Evaluator::prepare(const std::vector<Value>& roots, const std::vector<char>* tainted) {
  for (const Value v : closure(k_, roots, true)) {
    const Op op = k_.op(v);
    if (op == Op::store || op == Op::axis || op == Op::param) continue;
    if ((scope_.depends[v] & ~bound_) != 0 || (tainted && (*tainted)[v])) continue;
    value(v);
  }
}

Value Evaluator::emit(Value v) {
  const Inst& inst = k_.insts[v];
  switch (k_.op(v)) {
    case Op::load:
      return b_.load(now_[inst.src[0]], value(inst.src[1]),
                     inst.nsrc > 2 ? value(inst.src[2]) : kNone);
    case Op::reduce:
    case Op::contract:
    case Op::argreduce:
      return emit_reduction(*this, v);
    case Op::attn:
      return emit_attention(*this, v);
    case Op::where:
      if (inst.aux != 0) return emit_rare(inst, v);
      break;
    default:
      break;
  }
  Inst copy = inst;
  for (uint32_t i = 0; i < inst.nsrc; ++i) copy.src[i] = value(inst.src[i]);
  return b_.pure(copy);
}

// The first operand is computed only where the condition holds.
Value Evaluator::emit_rare(const Inst& inst, Value v) {
  const Value condition = value(inst.src[0]);
  const Value usual = value(inst.src[2]);
  if (b_.is_constant(condition) || now_[inst.src[1]] != kNone)
    return b_.where(condition, value(inst.src[1]), usual);
  const Value result = b_.private_array(k_.dtype(v), 1);
  b_.store(result, b_.i64(0), usual);
  const bool before = together;
  together = false;
  when(condition, [&] { b_.store(result, b_.i64(0), value(inst.src[1])); });
  together = before;
  return b_.load(result, b_.i64(0));
}

Value Evaluator::scratch(DType type, int which) {
  const auto [it, is_new] = scratch_.try_emplace({type, which}, kNone);
  if (is_new) it->second = b_.local_array(type, b_.lanes());
  return it->second;
}

Value Evaluator::exp(Value x) {
  if (exp_.insts.empty()) {
    kir::Builder b;
    const Value one = b.i64(1);
    const Value in = b.param(0, DType::f32, one, OST_KIR_READ);
    const Value out = b.param(1, DType::f32, one, OST_KIR_WRITE);
    b.store(out, b.i64(0), kir::expand(b, kir::Fn::exp, b.load(in, b.i64(0))));
    if (auto made = b.build()) exp_ = std::move(*made);
  }
  std::vector<Value> to(exp_.insts.size(), kNone);
  for (Value v = 0; v < exp_.insts.size(); ++v) {
    Inst inst = exp_.insts[v];
    if (exp_.op(v) == Op::param) continue;
    if (exp_.op(v) == Op::load) {
      to[v] = x;
      continue;
    }
    if (exp_.op(v) == Op::store) return to[inst.src[2]];
    for (uint32_t i = 0; i < inst.nsrc; ++i) inst.src[i] = to[inst.src[i]];
    to[v] = b_.pure(inst);
  }
  return kNone;
}

}  // namespace ost::codegen
