// Cost estimates: operations times the points that they run for, and the sizes of the params.
#include <map>

#include "plugins/cpu/compiler/ops.hpp"
#include "plugins/cpu/compiler/phase.hpp"

namespace ost_cpu {

namespace {

Value* real(Eval& ev, double v) { return llvm::ConstantFP::get(ev.e.b.getDoubleTy(), v); }
Value* to_real(Eval& ev, Value* n) { return ev.e.b.CreateSIToFP(n, ev.e.b.getDoubleTy()); }

Value* points(Eval& ev, kir::AxisSet axes) {
  Value* n = real(ev, 1);
  const auto& all = ev.f.a.axes();
  for (size_t i = 0; i < all.size(); ++i)
    if (axes >> i & 1) n = ev.e.b.CreateFMul(n, to_real(ev, ev.extent(all[i])));
  return n;
}

}  // namespace

Cost emit_cost(Eval& ev, const std::vector<Id>& roots) {
  const kir::Kernel& k = ev.k;
  std::map<kir::AxisSet, double> weights;  // ordered: code must not depend on addresses
  Value* bytes = real(ev, 0);
  for (const Id v : ev.f.closure(roots)) {
    if (k.op(v) == OST_KIR_OP_PARAM) {
      Value* count = to_real(ev, ev.count(k.src(v, 0)));
      bytes =
          ev.e.b.CreateFAdd(bytes, ev.e.b.CreateFMul(count, real(ev, kir::size_of(k.dtype(v)))));
    }
    if (ev.f.owner[v] != kNone) continue;  // rare
    kir::AxisSet axes = ev.f.a.deps(v);
    if (kir::is_reduction(k.op(v))) axes |= ev.f.a.bit(k.reduced_axis(v));
    // Scalar work of outer loops is not worth a term.
    if (const unsigned cost = op_cost(k.op(v)); cost && k.dtype(v) != OST_DTYPE_I64)
      weights[axes] += cost;
  }
  Value* flops = real(ev, 0);
  for (const auto& [axes, weight] : weights)
    flops = ev.e.b.CreateFAdd(flops, ev.e.b.CreateFMul(real(ev, weight), points(ev, axes)));
  return {flops, bytes};
}

}  // namespace ost_cpu
