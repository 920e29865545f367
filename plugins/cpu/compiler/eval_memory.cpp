// Loads and stores: one contiguous vector where the index moves by one per lane, one scalar where
// it stands still, and gather or scatter where it does neither.
#include "plugins/cpu/compiler/eval.hpp"

namespace ost_cpu {

namespace {

bool is_constant(const Value* v, int64_t wanted) {
  const auto* c = llvm::dyn_cast_or_null<llvm::ConstantInt>(v);
  return c && c->getSExtValue() == wanted;
}

}  // namespace

Value* Eval::from_memory(uint32_t dtype, Value* v) {
  return dtype == OST_DTYPE_BOOL ? e.b.CreateICmpNE(v, Emit::zero(v->getType())) : v;
}

Value* Eval::to_memory(uint32_t dtype, Value* v) {
  return dtype == OST_DTYPE_BOOL ? e.b.CreateZExt(v, e.like(e.b.getInt8Ty(), v)) : v;
}

// The scope's mask and `extra`, both may be absent.
Value* Eval::lane_mask(Value* extra) {
  Value* m = lanes().mask;
  if (!extra) return m;
  extra = e.splat(extra, lanes().width);
  return m ? e.b.CreateAnd(m, extra) : extra;
}

Val Eval::load(Id v) {
  const Id index_id = k.src(v, 1), mask_id = k.mask(v);
  const Val index = get(index_id);
  const bool vector_index =
      Emit::isa_vector(index.v) || (index.stride && !is_constant(index.stride, 0));
  Value* mask = mask_id == kNone ? nullptr : get(mask_id).v;
  if (!vector_index) {
    if (!mask || !Emit::isa_vector(mask)) return {scalar_load(v, index.v, mask)};
    // One element for all lanes that want it; it is there to be read if any lane does.
    Value* one = scalar_load(v, index.v, e.any(lane_mask(mask)));
    return {e.b.CreateSelect(mask, e.splat(one, lanes().width),
                             Emit::zero(Emit::widen(one->getType(), lanes().width)))};
  }
  if (is_constant(index.stride, 1)) return {vector_load(v, index.v, mask)};
  if (is_constant(index.stride, -1)) {
    // The lanes in memory order, from the last one.
    const unsigned width = lanes().width;
    Value* first = e.b.CreateSub(index.v, e.i64(width - 1));
    Value* m = lane_mask(mask);
    llvm::Type* t = Emit::widen(e.memory_type(k.dtype(v)), width);
    Value* p = e.at(e.memory_type(k.dtype(v)), param(k.src(v, 0)), first);
    const llvm::Align align = Emit::align_of(k.dtype(v));
    Value* r =
        m ? static_cast<Value*>(e.b.CreateMaskedLoad(t, p, align, e.reverse(m), Emit::zero(t)))
          : e.b.CreateAlignedLoad(t, p, align);
    return {from_memory(k.dtype(v), e.reverse(r))};
  }
  return {gather(v, index, mask)};
}

// A masked scalar load reads a zero of the image instead of branching.
Value* Eval::scalar_load(Id v, Value* index, Value* mask) {
  const uint32_t t = k.dtype(v);
  Value* p = e.at(e.memory_type(t), param(k.src(v, 0)), index);
  if (mask) {
    auto* zero = e.module.getGlobalVariable("zero", true);
    if (!zero) {
      zero = new llvm::GlobalVariable(e.module, e.b.getInt64Ty(), true,
                                      llvm::GlobalValue::InternalLinkage, e.b.getInt64(0), "zero");
      zero->setAlignment(llvm::Align(8));
    }
    p = e.b.CreateSelect(mask, p, zero);
  }
  return from_memory(t, e.b.CreateAlignedLoad(e.memory_type(t), p, Emit::align_of(t)));
}

Value* Eval::vector_load(Id v, Value* base, Value* mask) {
  const uint32_t t = k.dtype(v);
  llvm::Type* type = Emit::widen(e.memory_type(t), lanes().width);
  Value* p = e.at(e.memory_type(t), param(k.src(v, 0)), base);
  Value* m = lane_mask(mask);
  Value* r =
      m ? static_cast<Value*>(e.b.CreateMaskedLoad(type, p, Emit::align_of(t), m, Emit::zero(type)))
        : e.b.CreateAlignedLoad(type, p, Emit::align_of(t));
  return from_memory(t, r);
}

Value* Eval::addresses(Id param_id, Val index, Id index_id) {
  return e.b.CreateGEP(e.memory_type(k.dtype(param_id)), param(param_id), widened(index_id, index));
}

Value* Eval::gather(Id v, Val index, Value* mask) {
  const uint32_t t = k.dtype(v);
  const unsigned width = lanes().width;
  llvm::Type* type = Emit::widen(e.memory_type(t), width);
  Value* m = lane_mask(mask);
  if (!m) m = llvm::ConstantInt::getTrue(Emit::widen(e.b.getInt1Ty(), width));
  Value* p = addresses(k.src(v, 0), index, k.src(v, 1));
  return from_memory(t, e.b.CreateMaskedGather(type, p, Emit::align_of(t), m, Emit::zero(type)));
}

void Eval::store(Id s) {
  const Id param_id = k.src(s, 0), value_id = k.src(s, 2), mask_id = k.mask(s);
  const uint32_t t = k.dtype(s);
  const Val index = get(k.src(s, 1));
  Value* mask = mask_id == kNone ? nullptr : get(mask_id).v;
  const bool wide = varies(s);
  if (!wide) {
    const auto write = [&] {
      e.b.CreateAlignedStore(to_memory(t, scalar(value_id)),
                             e.at(e.memory_type(t), param(param_id), index.v), Emit::align_of(t));
    };
    return mask ? e.when(mask, write) : write();
  }
  Value* v = to_memory(t, vector(value_id));
  Value* m = lane_mask(mask);
  if (is_constant(index.stride, 1)) {
    return e.store(v, e.at(e.memory_type(t), param(param_id), index.v), Emit::align_of(t), m);
  }
  if (!m) m = llvm::ConstantInt::getTrue(Emit::widen(e.b.getInt1Ty(), lanes().width));
  e.b.CreateMaskedScatter(v, addresses(param_id, index, k.src(s, 1)), Emit::align_of(t), m);
}

}  // namespace ost_cpu
