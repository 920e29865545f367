#include "core/kir/pool.hpp"

#include <xxhash.h>

#include <cstring>

namespace ost::kir {

Inst make_inst(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux,
               uint64_t imm) {
  Inst inst{};
  inst.op = static_cast<uint16_t>(op);
  inst.dtype = static_cast<uint8_t>(type);
  inst.aux = aux;
  inst.imm = imm;
  for (uint32_t& source : inst.src) source = kNone;
  for (Value v : operands) {
    if (v != kNone) inst.src[inst.nsrc++] = v;
  }
  return inst;
}

size_t Pool::Hash::operator()(Value v) const {
  return XXH3_64bits(&kernel->insts[v], sizeof(Inst));
}

bool Pool::Equal::operator()(Value a, Value b) const {
  return std::memcmp(&kernel->insts[a], &kernel->insts[b], sizeof(Inst)) == 0;
}

Value Pool::append(const Inst& inst) {
  kernel_.insts.push_back(inst);
  return static_cast<Value>(kernel_.insts.size() - 1);
}

Value Pool::intern(const Inst& inst) {
  const Value fresh = append(inst);
  const auto [known, inserted] = known_.insert(fresh);
  if (!inserted) kernel_.insts.pop_back();
  return *known;
}

Value Pool::constant(DType type, uint64_t bits) {
  return intern(make_inst(Op::constant, type, {}, 0, bits));
}

void Pool::clear() {
  known_.clear();
  kernel_.insts.clear();
}

}  // namespace ost::kir
