#include "plugins/cpu/compiler/merge_axes.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace ost_cpu {

namespace kir = ostinato::kir;
using kir::Id;
using kir::Kernel;
using kir::kNone;
using kir::Stride;

namespace {

constexpr size_t kMostAxes = 12;  // more are not worth the search

// Integer arithmetic in which an axis stays a linear term; everything else that uses such a value
// is a place where the whole term counts.
bool is_linear(const Kernel& k, Id v) {
  const uint16_t op = k.op(v);
  return k.dtype(v) == OST_DTYPE_I64 &&
         (op == OST_KIR_OP_ADD || op == OST_KIR_OP_SUB || op == OST_KIR_OP_MUL);
}

// Does the value move by stride * length for `outer` where it moves by stride for `inner`?
bool fits(const kir::Analysis& a, Id v, Id outer, Id inner, int64_t length) {
  const Stride o = a.stride(v, outer), i = a.stride(v, inner);
  int64_t wanted;
  return o.kind == Stride::constant && i.kind == Stride::constant &&
         !__builtin_mul_overflow(i.value, length, &wanted) && o.value == wanted;
}

bool can_merge(const Kernel& k, const kir::Analysis& a, Id outer, Id inner) {
  const auto length = a.const_extent(inner);
  if (!length || *length < 1) return false;
  for (Id v = 0; v < k.size(); ++v) {
    for (const Id s : k.operands(v)) {
      if (!a.depends(s, outer) && !a.depends(s, inner)) continue;
      if (k.dtype(s) != OST_DTYPE_I64 || (s != outer && s != inner && !is_linear(k, s)))
        continue;  // judged at its operands
      if (is_linear(k, v) && a.stride(v, outer).kind == Stride::constant &&
          a.stride(v, inner).kind == Stride::constant)
        continue;
      if (!fits(a, s, outer, inner, *length)) return false;
    }
  }
  return true;
}

std::optional<std::pair<Id, Id>> find_pair(const Kernel& k) {
  const kir::Analysis a(k);
  if (a.axes().size() > kMostAxes) return std::nullopt;
  const auto parallel = [&](Id axis) { return k[axis].aux == OST_KIR_AXIS_PARALLEL; };
  for (const Id outer : a.axes())
    for (const Id inner : a.axes())
      if (outer != inner && parallel(outer) && parallel(inner) && can_merge(k, a, outer, inner))
        return std::pair(outer, inner);
  return std::nullopt;
}

// The kernel with `inner` running over both axes and 0 for `outer`. What is made of constants and
// variables comes first, so that the new extent can.
Kernel merged(const Kernel& k, Id outer, Id inner) {
  Kernel out;
  out.header = k.header;
  std::vector<Id> at(k.size(), kNone);
  std::vector<char> early(k.size(), 0);
  const auto add = [&](const ost_kir_inst_t& inst) {
    out.insts.push_back(inst);
    return out.size() - 1;
  };
  const auto copy = [&](Id v) {
    ost_kir_inst_t inst = k[v];
    for (unsigned i = 0; i < inst.nsrc; ++i) inst.src[i] = at[inst.src[i]];
    at[v] = add(inst);
  };
  for (Id v = 0; v < k.size(); ++v) {
    const uint16_t op = k.op(v);
    early[v] = op == OST_KIR_OP_CONST || op == OST_KIR_OP_VAR ||
               (op >= OST_KIR_OP_NEG && op <= OST_KIR_OP_BITCAST);
    for (const Id s : k.operands(v)) early[v] = early[v] && early[s];
    if (early[v]) copy(v);
  }
  ost_kir_inst_t product{};
  product.op = OST_KIR_OP_MUL, product.dtype = OST_DTYPE_I64, product.nsrc = 2;
  for (uint32_t& s : product.src) s = OST_KIR_NO_INDEX;
  product.src[0] = at[k.src(outer, 0)], product.src[1] = at[k.src(inner, 0)];
  ost_kir_inst_t zero{};
  zero.op = OST_KIR_OP_CONST, zero.dtype = OST_DTYPE_I64;
  for (uint32_t& s : zero.src) s = OST_KIR_NO_INDEX;
  const Id extent = add(product);
  at[outer] = add(zero);
  for (Id v = 0; v < k.size(); ++v) {
    if (early[v] || v == outer) continue;
    copy(v);
    if (v == inner) out.insts[at[v]].src[0] = extent;
  }
  out.header.inst_count = out.size();
  return out;
}

}  // namespace

Kernel merge_axes(Kernel kernel) {
  while (const auto pair = find_pair(kernel)) kernel = merged(kernel, pair->first, pair->second);
  return kernel;
}

}  // namespace ost_cpu
