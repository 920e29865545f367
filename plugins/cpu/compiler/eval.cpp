#include "plugins/cpu/compiler/eval.hpp"

#include <algorithm>

#include "plugins/cpu/abi/kernel.h"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

using kir::Range;

namespace {

bool fits_i32(const Range& r) { return r.within(-(int64_t{1} << 31), (int64_t{1} << 31) - 1); }

}  // namespace

Eval::Eval(Emit& emit, const Facts& facts, Value* call)
    : e(emit), f(facts), k(facts.k), call_(call) {
  scopes_.emplace_back();
  Value* vars = nullptr;
  for (Id v = 0; v < k.size(); ++v) {
    if (k.op(v) != OST_KIR_OP_VAR) continue;
    if (!vars) vars = call_field(offsetof(ost_cpu_call_t, vars));
    llvm::Type* i64 = e.b.getInt64Ty();
    set(v, {e.b.CreateLoad(i64, e.b.CreateConstGEP1_64(i64, vars, k[v].imm))});
  }
}

Value* Eval::call_field(size_t offset) {
  Value* p = e.b.CreateConstGEP1_64(e.b.getInt8Ty(), call_, offset);
  return e.b.CreateLoad(e.b.getPtrTy(), p);
}

void Eval::load_params() {
  llvm::Type* ptr = e.b.getPtrTy();
  Value* params = nullptr;
  for (Id v = 0; v < k.size(); ++v) {
    if (k.op(v) != OST_KIR_OP_PARAM) continue;
    if (!params) params = call_field(offsetof(ost_cpu_call_t, params));
    params_[v] = e.b.CreateLoad(ptr, e.b.CreateConstGEP1_64(ptr, params, k[v].imm));
  }
}

Value* Eval::param(Id param) { return params_.lookup(param); }

Value* Eval::shared() { return call_field(offsetof(ost_cpu_call_t, shared)); }

void Eval::write_kept(Id axis) {
  if (kept_ == kNone || !f.depends(kept_, axis) || !lookup(kept_)) return;
  const Val at = get(axis);
  Value* v = at.stride ? vector(kept_) : scalar(kept_);
  e.b.CreateAlignedStore(v, e.at(e.type(k.dtype(kept_)), kept_at_, at.v),
                         Emit::align_of(k.dtype(kept_)));
}

void Eval::bind(Id axis, Value* scalar) {
  scopes_.back().bound |= f.a.bit(axis);
  set(axis, {scalar});
}

void Eval::bind_lanes(Id axis, Value* base, unsigned width, Value* mask) {
  scopes_.back().bound |= f.a.bit(axis);
  scopes_.back().lanes = {width, mask, axis};
  set(axis, {base, e.i64(1)});
}

kir::AxisSet Eval::bound() const {
  kir::AxisSet set = 0;
  for (const Frame& s : scopes_) set |= s.bound;
  return set;
}

// A value known in an outer scope is stale where a scope further in binds one of its axes again.
const Val* Eval::lookup(Id value) const {
  const kir::AxisSet deps = f.a.deps(value);
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto it = scopes_[i].known.find(value);
    if (it != scopes_[i].known.end()) return &it->second;
    if (scopes_[i].bound & deps) return nullptr;
  }
  return nullptr;
}

std::vector<Id> Eval::missing(const std::vector<Id>& roots, Id context,
                              bool through_reductions) const {
  std::vector<Id> work(roots), found;
  llvm::DenseMap<Id, char> seen;
  while (!work.empty()) {
    const Id v = work.back();
    work.pop_back();
    if (k.op(v) == OST_KIR_OP_PARAM || lookup(v) || !seen.insert({v, 1}).second) continue;
    if (!f.in_context(v, context)) continue;
    found.push_back(v);
    if (kir::is_reduction(k.op(v)) && !through_reductions) continue;
    for (const Id s : k.operands(v)) work.push_back(s);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void Eval::prepare(const std::vector<Id>& roots, bool before_carry) {
  std::vector<Id> todo;
  const kir::AxisSet axes = bound();
  for (const Id v : missing(roots, kNone, true)) {
    const uint16_t op = k.op(v);
    if (op == OST_KIR_OP_CONST || op == OST_KIR_OP_AXIS || op == OST_KIR_OP_STORE) continue;
    if ((f.a.deps(v) & ~axes) == 0 && !(before_carry && f.rereads[v])) todo.push_back(v);
  }
  std::swap(queue_, todo);
  const std::vector<Id> mine = queue_;
  for (const Id v : mine) get(v);
  std::swap(queue_, todo);
}

void Eval::ensure(const std::vector<Id>& roots, Id context) {
  std::vector<Id> todo = missing(roots, context, false);
  std::swap(queue_, todo);
  const std::vector<Id> mine = queue_;
  for (const Id v : mine)
    if (k.op(v) != OST_KIR_OP_STORE) get(v);
  std::swap(queue_, todo);
}

Val Eval::get(Id value) {
  if (const Val* known = lookup(value)) return *known;
  if (kir::is_reduction(k.op(value))) {
    emit_reduction(*this, value);
    return *lookup(value);
  }
  const Val v = compute(value);
  if (k.op(value) != OST_KIR_OP_CONST) set(value, v);
  return v;
}

Value* Eval::scalar(Id value) {
  const Val v = get(value);
  if (Emit::isa_vector(v.v) || v.stride)
    throw CompileError{OST_INTERNAL,
                       "cpu: record " + std::to_string(value) + " varies where a scalar is wanted"};
  return v.v;
}

Value* Eval::count(Id uniform) {
  if (!lookup(uniform)) ensure({uniform});
  return scalar(uniform);
}

Value* Eval::widened(Id, Val v) {
  const unsigned width = lanes().width;
  if (!v.stride) return e.splat(v.v, width);
  Value* steps = e.iota(e.b.getInt64Ty(), width);
  const auto* one = llvm::dyn_cast<llvm::ConstantInt>(v.stride);
  if (!one || !one->isOne()) steps = e.b.CreateMul(steps, e.splat(v.stride, width));
  return e.b.CreateAdd(e.splat(v.v, width), steps);
}

Val Eval::compute(Id v) {
  switch (k.op(v)) {
    case OST_KIR_OP_CONST:
      return {e.constant(e.type(k.dtype(v)), k[v].imm)};
    case OST_KIR_OP_LOAD:
      return load(v);
    case OST_KIR_OP_AXIS:
    case OST_KIR_OP_VAR:
      throw CompileError{OST_INVALID_ARGUMENT,
                         "cpu: record " + std::to_string(v) + " uses an axis outside of its loop"};
    default:
      break;
  }
  if (f.is_rare(v)) return where_rare(v);
  if (k.dtype(v) == OST_DTYPE_I64) {
    if (const Val evenly = even(v); evenly.v) return evenly;
  }
  return compute_op(v);
}

// add, sub and mul of even integers, min and max of equal ones and the like stay scalar work.
Val Eval::even(Id v) {
  const uint16_t op = k.op(v);
  if (op != OST_KIR_OP_ADD && op != OST_KIR_OP_SUB && op != OST_KIR_OP_MUL && op != OST_KIR_OP_CAST)
    return {};
  Val x = get(k.src(v, 0));
  if (Emit::isa_vector(x.v)) return {};
  if (op == OST_KIR_OP_CAST) return k.dtype(k.src(v, 0)) == OST_DTYPE_I64 ? x : Val{};
  Val y = get(k.src(v, 1));
  if (Emit::isa_vector(y.v) || (!x.stride && !y.stride)) return {};
  if (op == OST_KIR_OP_MUL) {
    if (x.stride && y.stride) return {};
    if (y.stride) std::swap(x, y);
    return {e.mul(x.v, y.v), e.mul(x.stride, y.v)};
  }
  Value* zero = e.i64(0);
  Value *xs = x.stride ? x.stride : zero, *ys = y.stride ? y.stride : zero;
  if (op == OST_KIR_OP_ADD) return {e.b.CreateAdd(x.v, y.v), e.b.CreateAdd(xs, ys)};
  return {e.b.CreateSub(x.v, y.v), e.b.CreateSub(xs, ys)};
}

// i64 vectors are slow everywhere; where ranges allow, comparisons and divisions use 32 bits.
Value* Eval::narrow(Id value) {
  const Val v = get(value);
  llvm::Type* i32 = e.b.getInt32Ty();
  const unsigned width = lanes().width;
  if (Emit::isa_vector(v.v)) return e.b.CreateTrunc(v.v, Emit::widen(i32, width));
  Value* base = e.splat(e.b.CreateTrunc(v.v, i32), width);
  if (!v.stride) return base;
  Value* step = e.splat(e.b.CreateTrunc(v.stride, i32), width);
  return e.b.CreateAdd(base, e.b.CreateMul(e.iota(i32, width), step));
}

// A lane that is switched off may be out of the range of its axis, but its result is not used.
Value* Eval::compare_narrow(Id v) {
  const Id x = k.src(v, 0), y = k.src(v, 1);
  if (!varies(v) || k.dtype(x) != OST_DTYPE_I64 || !fits_i32(f.a.range(x)) ||
      !fits_i32(f.a.range(y)))
    return nullptr;
  const Val a = get(x), b = get(y);
  if (!a.stride && !Emit::isa_vector(a.v) && !b.stride && !Emit::isa_vector(b.v)) return nullptr;
  return emit_op(e, k.op(v), OST_DTYPE_I32, {narrow(x), narrow(y)});
}

Value* Eval::divide_narrow(Id v) {
  const uint16_t op = k.op(v);
  if (op != OST_KIR_OP_DIV && op != OST_KIR_OP_REM) return nullptr;
  const Id x = k.src(v, 0), y = k.src(v, 1);
  const Range rx = f.a.range(x), ry = f.a.range(y);
  if (!fits_i32(rx) || !fits_i32(ry)) return nullptr;
  const Val a = get(x), b = get(y);
  if (!a.stride && !Emit::isa_vector(a.v) && !b.stride && !Emit::isa_vector(b.v)) return nullptr;
  const bool is_signed = rx.lo < 0 || ry.lo < 0;
  Value *nx = narrow(x), *ny = narrow(y);
  Value* q = op == OST_KIR_OP_DIV ? emit_div(e, nx, ny, is_signed) : emit_rem(e, nx, ny, is_signed);
  llvm::Type* wide = e.like(e.b.getInt64Ty(), q);
  return is_signed ? e.b.CreateSExt(q, wide) : e.b.CreateZExt(q, wide);
}

Val Eval::compute_op(Id v) {
  const uint16_t op = k.op(v);
  const Id first = k.src(v, 0);
  if (kir::is_compare(op)) {
    if (Value* c = compare_narrow(v)) return {c};
  }
  if (k.dtype(v) == OST_DTYPE_I64) {
    if (Value* q = divide_narrow(v)) return {q};
  }
  Values x;
  bool wide = false;
  for (const Id s : k.operands(v)) {
    const Val o = get(s);
    wide |= Emit::isa_vector(o.v) || o.stride;
  }
  for (const Id s : k.operands(v)) x.push_back(wide ? vector(s) : get(s).v);
  switch (op) {
    case OST_KIR_OP_WHERE:
      return {e.b.CreateSelect(x[0], x[1], x[2])};
    case OST_KIR_OP_CAST:
      return {emit_cast(e, x[0], k.dtype(first), k.dtype(v))};
    case OST_KIR_OP_BITCAST:
      return {emit_bitcast(e, x[0], k.dtype(first), k.dtype(v))};
    case OST_KIR_OP_DIV:
    case OST_KIR_OP_REM:
      if (k.dtype(v) == OST_DTYPE_I64 && f.a.range(first).lo >= 0 && f.a.range(k.src(v, 1)).lo >= 0)
        return {op == OST_KIR_OP_DIV ? emit_div(e, x[0], x[1], false)
                                     : emit_rem(e, x[0], x[1], false)};
      break;
    default:
      break;
  }
  return {emit_op(e, op, k.dtype(first), x)};
}

// The slow side is computed only if some lane wants it.
Val Eval::where_rare(Id v) {
  const Id cond = k.src(v, 0), slow = k.src(v, 1), fast = k.src(v, 2);
  const bool wide = varies(v);
  Value* c = wide ? vector(cond) : scalar(cond);
  Value* usual = wide ? vector(fast) : scalar(fast);
  Value* wanted = wide && lanes().mask ? e.b.CreateAnd(c, lanes().mask) : c;
  const Values r = e.branch(
      e.any(wanted),
      [&] {
        Scope scope(*this);
        ensure({slow}, v);
        return Values{e.b.CreateSelect(c, wide ? vector(slow) : scalar(slow), usual)};
      },
      [&] { return Values{usual}; });
  return {r[0]};
}

}  // namespace ost_cpu
