// What a lowering knows about a kernel before it emits anything, beyond ostinato::kir::Analysis:
// what is needed only on the rare side of a `where`, and what must be read again inside of carry
// loops.
#pragma once

#include <ostinato/kir.hpp>

#include <vector>

namespace ost_cpu {

namespace kir = ostinato::kir;

struct Facts {
  explicit Facts(const kir::Kernel& kernel);

  const kir::Kernel& k;
  kir::Analysis a;
  // The rare `where` whose condition guards the value, kNone for what is always computed.
  std::vector<kir::Id> owner;
  // Made from a load of a param that the kernel also writes under a carry axis.
  std::vector<char> rereads;

  bool depends(kir::Id value, kir::Id axis) const { return a.depends(value, axis); }
  bool is_rare(kir::Id v) const {
    return k.op(v) == OST_KIR_OP_WHERE && (k[v].aux & OST_KIR_WHERE_RARE) != 0;
  }
  // The order of a reduction that matters: whatever is associative has `any`.
  uint32_t order(kir::Id reduction) const;
  // Is a value with this owner computed by code that runs under `context` (a rare where, or kNone)?
  bool in_context(kir::Id value, kir::Id context) const;
  // Does `value` need the result of record `of`?
  bool needs(kir::Id value, kir::Id of) const;
  // All records that the roots need, ascending.
  std::vector<kir::Id> closure(const std::vector<kir::Id>& roots) const;

 private:
  void find_owners();
  void find_rereads();
  kir::Id common(kir::Id x, kir::Id y) const;
  std::vector<unsigned> depth_;  // nesting of rare sides; by rare where: the depth of its slow side
};

}  // namespace ost_cpu
