#include "plugins/cpu/compiler/emit.hpp"

namespace ost_cpu {

Emit::Emit(llvm::Module& m, FeatureSet features)
    : module(m),
      b(m.getContext()),
      isa(features),
      avx512(has(features, "avx512f") && has(features, "avx512bw") && has(features, "avx512vl") &&
             has(features, "avx512dq")) {}

llvm::Function* Emit::begin(const std::string& name, llvm::ArrayRef<llvm::Type*> params,
                            llvm::Type* result, bool exported) {
  const auto linkage = exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  fn =
      llvm::Function::Create(llvm::FunctionType::get(result, params, false), linkage, name, module);
  const char* width = avx512 ? "512" : has(isa, "avx") ? "256" : "128";
  fn->addFnAttr("target-cpu", "x86-64");
  fn->addFnAttr("target-features", to_llvm_features(isa));
  fn->addFnAttr("tune-cpu", avx512 ? "znver4" : has(isa, "avx2") ? "znver3" : "x86-64");
  fn->addFnAttr("prefer-vector-width", width);
  fn->addFnAttr("min-legal-vector-width", width);
  fn->addFnAttr("frame-pointer",
                "all");          // stacks for profilers and debuggers without unwind tables
  fn->addFnAttr("no-builtins");  // nothing may become a call: an image has no imports
  fn->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", fn));
  return fn;
}

llvm::Type* Emit::type(uint32_t dtype) {
  switch (dtype) {
    case OST_DTYPE_BOOL:
      return b.getInt1Ty();
    case OST_DTYPE_F32:
      return b.getFloatTy();
    case OST_DTYPE_F64:
      return b.getDoubleTy();
    default:
      return b.getIntNTy(ostinato::kir::bits_of(dtype));
  }
}

unsigned Emit::lanes(const llvm::Type* t) {
  const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(t);
  return v ? v->getNumElements() : 1;
}

llvm::Type* Emit::widen(llvm::Type* scalar, unsigned lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

Value* Emit::constant(llvm::Type* t, uint64_t bits) {
  llvm::Type* s = t->getScalarType();
  if (s->isIntegerTy())
    return llvm::ConstantInt::get(t, llvm::APInt(s->getIntegerBitWidth(), bits, false, true));
  const unsigned width = s->isFloatTy() ? 32 : 64;
  return llvm::ConstantFP::get(
      t, llvm::APFloat(s->getFltSemantics(), llvm::APInt(width, bits, false, true)));
}

Value* Emit::iota(llvm::Type* element, unsigned lanes) {
  llvm::SmallVector<llvm::Constant*, 64> c;
  for (unsigned i = 0; i < lanes; ++i) c.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(c);
}

Value* Emit::slice(Value* v, unsigned from, unsigned lanes) {
  llvm::SmallVector<int, 64> index;
  for (unsigned i = 0; i < lanes; ++i) index.push_back(static_cast<int>(from + i));
  return b.CreateShuffleVector(v, index);
}

Value* Emit::concat(llvm::ArrayRef<Value*> parts) {
  Values level(parts.begin(), parts.end());
  while (level.size() > 1) {
    llvm::SmallVector<int, 64> index;
    for (unsigned i = 0; i < 2 * lanes(level[0]); ++i) index.push_back(static_cast<int>(i));
    Values next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(b.CreateShuffleVector(level[i], level[i + 1], index));
    level = std::move(next);
  }
  return level[0];
}

Value* Emit::reverse(Value* v) {
  llvm::SmallVector<int, 64> index;
  for (unsigned i = lanes(v); i-- > 0;) index.push_back(static_cast<int>(i));
  return b.CreateShuffleVector(v, index);
}

// Swaps the off-diagonal quarters of ever smaller blocks.
Values Emit::transpose(Values rows) {
  const auto n = static_cast<unsigned>(rows.size());
  for (unsigned s = n / 2; s > 0; s /= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (unsigned l = 0; l < n; ++l) {
      low.push_back(static_cast<int>(l & s ? n + l - s : l));
      high.push_back(static_cast<int>(l & s ? n + l : l + s));
    }
    for (unsigned i = 0; i < n; ++i) {
      if (i & s) continue;
      Value *x = rows[i], *y = rows[i + s];
      rows[i] = b.CreateShuffleVector(x, y, low);
      rows[i + s] = b.CreateShuffleVector(x, y, high);
    }
  }
  return rows;
}

Value* Emit::by_pieces(llvm::ArrayRef<Value*> operands, unsigned width,
                       llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> f) {
  unsigned total = 1;
  for (const Value* v : operands) total = std::max(total, lanes(v));
  if (total <= width) return f(operands);
  Values parts;
  for (unsigned from = 0; from < total; from += width) {
    Values piece;
    for (Value* v : operands) piece.push_back(lanes(v) == total ? slice(v, from, width) : v);
    parts.push_back(f(piece));
  }
  return concat(parts);
}

Value* Emit::prefix_mask(Value* count, unsigned lanes) {
  // Bytes are enough for up to 64 lanes and make the smallest vector.
  Value* limit = b.CreateVectorSplat(lanes, b.CreateTrunc(count, b.getInt8Ty()));
  return b.CreateICmpULT(iota(b.getInt8Ty(), lanes), limit);
}

Value* Emit::any(Value* mask) {
  if (!isa_vector(mask)) return mask;
  llvm::Type* bits = b.getIntNTy(lanes(mask));
  return b.CreateICmpNE(b.CreateBitCast(mask, bits), zero(bits));
}

Value* Emit::fold(Value* v, llvm::function_ref<Value*(Value*, Value*)> combine) {
  for (unsigned w = lanes(v) / 2; w > 0; w /= 2) {
    if (w > 1) {
      v = combine(slice(v, 0, w), slice(v, w, w));
    } else {
      v = combine(b.CreateExtractElement(v, uint64_t{0}), b.CreateExtractElement(v, uint64_t{1}));
    }
  }
  return v;
}

Value* Emit::min(Value* x, Value* y) {
  const auto *cx = llvm::dyn_cast<llvm::ConstantInt>(x), *cy = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (cx && cy) return cx->getValue().slt(cy->getValue()) ? x : y;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
}
Value* Emit::max(Value* x, Value* y) {
  const auto *cx = llvm::dyn_cast<llvm::ConstantInt>(x), *cy = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (cx && cy) return cx->getValue().sgt(cy->getValue()) ? x : y;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
}

// A constant mask with one lane is a scalar store here: LLVM 22 makes a store of 32 bits of it when
// the elements are narrower and were truncated, which writes behind the end.
void Emit::store(Value* v, Value* p, llvm::Align align, Value* mask) {
  if (!mask) {
    b.CreateAlignedStore(v, p, align);
    return;
  }
  if (const auto* c = llvm::dyn_cast<llvm::Constant>(mask)) {
    unsigned live = 0, lane = 0;
    for (unsigned i = 0; i < lanes(mask); ++i) {
      const auto* bit = c->getAggregateElement(i);
      if (bit && bit->isOneValue()) ++live, lane = i;
    }
    if (live == 0) return;
    if (live == 1) {
      Value* one = b.CreateExtractElement(v, uint64_t{lane});
      b.CreateAlignedStore(one, at(one->getType(), p, i64(lane)), align);
      return;
    }
  }
  b.CreateMaskedStore(v, p, align, mask);
}

Value* Emit::mul(Value* x, Value* y) {
  for (int swap = 0; swap < 2; ++swap, std::swap(x, y)) {
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(y);
    if (!c) continue;
    if (c->isOne()) return x;
    if (c->isZero()) return y;
  }
  return b.CreateMul(x, y);
}

Values Emit::loop(Value* lo, Value* hi, int64_t step, const Values& carry, Body body) {
  const auto *cl = llvm::dyn_cast<llvm::ConstantInt>(lo),
             *ch = llvm::dyn_cast<llvm::ConstantInt>(hi);
  const bool constant = cl && ch;
  if (constant && cl->getSExtValue() >= ch->getSExtValue()) return carry;
  if (constant && ch->getSExtValue() - cl->getSExtValue() <= step)
    return body(lo, carry);  // one trip: no loop
  auto& cx = b.getContext();
  auto* head = llvm::BasicBlock::Create(cx, "loop", fn);
  auto* exit = llvm::BasicBlock::Create(cx, "exit", fn);
  auto* before = b.GetInsertBlock();
  if (constant)
    b.CreateBr(head);
  else
    b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, exit);
  b.SetInsertPoint(head);
  auto* iv = b.CreatePHI(lo->getType(), 2);
  iv->addIncoming(lo, before);
  llvm::SmallVector<llvm::PHINode*, 16> phis;
  Values current;
  for (Value* c : carry) {
    auto* p = b.CreatePHI(c->getType(), 2);
    p->addIncoming(c, before);
    phis.push_back(p);
    current.push_back(p);
  }
  const Values next = body(iv, current);
  Value* advanced =
      b.CreateAdd(iv, llvm::ConstantInt::get(iv->getType(), static_cast<uint64_t>(step)));
  auto* latch = b.GetInsertBlock();
  exit->moveAfter(latch);
  b.CreateCondBr(b.CreateICmpSLT(advanced, hi), head, exit);
  iv->addIncoming(advanced, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b.SetInsertPoint(exit);
  if (constant) return next;
  Values merged;
  for (size_t i = 0; i < carry.size(); ++i) {
    auto* p = b.CreatePHI(carry[i]->getType(), 2);
    p->addIncoming(carry[i], before);
    p->addIncoming(next[i], latch);
    merged.push_back(p);
  }
  return merged;
}

void Emit::loop(Value* lo, Value* hi, int64_t step, llvm::function_ref<void(Value*)> body) {
  loop(lo, hi, step, {}, [&](Value* iv, const Values&) {
    body(iv);
    return Values{};
  });
}

Values Emit::branch(Value* cond, llvm::function_ref<Values()> then,
                    llvm::function_ref<Values()> otherwise) {
  if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond))
    return c->isOne() ? then() : otherwise();
  auto& cx = b.getContext();
  auto* t = llvm::BasicBlock::Create(cx, "then", fn);
  auto* o = llvm::BasicBlock::Create(cx, "else", fn);
  auto* j = llvm::BasicBlock::Create(cx, "join", fn);
  b.CreateCondBr(cond, t, o);
  b.SetInsertPoint(t);
  const Values tv = then();
  t = b.GetInsertBlock();
  b.CreateBr(j);
  o->moveAfter(t);
  b.SetInsertPoint(o);
  const Values ov = otherwise();
  o = b.GetInsertBlock();
  b.CreateBr(j);
  j->moveAfter(o);
  b.SetInsertPoint(j);
  Values merged;
  for (size_t i = 0; i < tv.size(); ++i) {
    auto* p = b.CreatePHI(tv[i]->getType(), 2);
    p->addIncoming(tv[i], t);
    p->addIncoming(ov[i], o);
    merged.push_back(p);
  }
  return merged;
}

void Emit::when(Value* cond, llvm::function_ref<void()> then) {
  branch(cond, [&] { return then(), Values{}; }, [] { return Values{}; });
}

Value* Emit::stack(llvm::Type* element, uint64_t count) {
  auto& entry = fn->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* a = at_entry.CreateAlloca(llvm::ArrayType::get(element, count));
  a->setAlignment(llvm::Align(64));
  return a;
}

}  // namespace ost_cpu
