#include "plugins/cpu/compiler/facts.hpp"

namespace ost_cpu {

using kir::Id;
using kir::kNone;

Facts::Facts(const kir::Kernel& kernel)
    : k(kernel), a(kernel), owner(kernel.size(), kNone), rereads(kernel.size(), 0) {
  find_owners();
  find_rereads();
}

// The innermost rare side that contains both x and y (rare where records, kNone: no side).
Id Facts::common(Id x, Id y) const {
  const auto depth = [&](Id w) { return w == kNone ? 0 : depth_[w]; };
  while (x != y) {
    if (depth(x) < depth(y)) std::swap(x, y);
    x = owner[x];
  }
  return x;
}

void Facts::find_owners() {
  depth_.assign(k.size(), 0);
  constexpr Id kUnused = kNone - 1;
  std::vector<Id> found(k.size(), kUnused);
  for (Id v = k.size(); v-- > 0;) {  // users first
    owner[v] = found[v] == kUnused ? kNone : found[v];
    if (is_rare(v)) depth_[v] = 1 + (owner[v] == kNone ? 0 : depth_[owner[v]]);
    const auto operands = k.operands(v);
    for (unsigned i = 0; i < operands.size(); ++i) {
      const Id s = operands[i];
      const bool slow = is_rare(v) && i == 1 && operands[0] != s && operands[2] != s;
      const Id side = slow ? v : owner[v];
      found[s] = found[s] == kUnused ? side : common(found[s], side);
    }
  }
}

void Facts::find_rereads() {
  if (!a.axes_of_role(OST_KIR_AXIS_CARRY)) return;
  for (Id v = 0; v < k.size(); ++v) {
    if (k.op(v) == OST_KIR_OP_LOAD && (k[k.src(v, 0)].aux & OST_KIR_WRITE)) rereads[v] = 1;
    for (const Id s : k.operands(v)) rereads[v] |= rereads[s];
  }
}

uint32_t Facts::order(Id r) const {
  if (k.op(r) == OST_KIR_OP_ATTN) return OST_KIR_ORDER_ATTN;
  if (k.op(r) == OST_KIR_OP_ARGREDUCE || !kir::is_float(k.dtype(r))) return OST_KIR_ORDER_ANY;
  if (k.combine(r) == OST_KIR_COMBINE_MAX || k.combine(r) == OST_KIR_COMBINE_MIN)
    return OST_KIR_ORDER_ANY;
  return k.order(r) == OST_KIR_ORDER_ANY ? uint32_t{OST_KIR_ORDER_TREE} : k.order(r);
}

bool Facts::in_context(Id value, Id context) const {
  const Id wanted = owner[value];
  for (Id c = context;; c = owner[c]) {
    if (c == wanted) return true;
    if (c == kNone) return false;
  }
}

bool Facts::needs(Id value, Id of) const {
  for (const Id v : closure({value}))
    if (v == of) return true;
  return false;
}

std::vector<Id> Facts::closure(const std::vector<Id>& roots) const {
  std::vector<char> seen(k.size(), 0);
  std::vector<Id> work(roots), out;
  while (!work.empty()) {
    const Id v = work.back();
    work.pop_back();
    if (seen[v]) continue;
    seen[v] = 1;
    for (const Id s : k.operands(v)) work.push_back(s);
  }
  for (Id v = 0; v < k.size(); ++v)
    if (seen[v]) out.push_back(v);
  return out;
}

}  // namespace ost_cpu
