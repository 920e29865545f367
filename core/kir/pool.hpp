// The records of a kernel under construction, hash-consed: an equal record is not made twice.
#pragma once

#include <unordered_set>

#include "core/kir/kernel.hpp"

namespace ost::kir {

// A record with these fields and everything else clear; operands that are kNone are left out.
Inst make_inst(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux = 0,
               uint64_t imm = 0);

class Pool {
 public:
  explicit Pool(Kernel& kernel) : kernel_(kernel), known_(64, Hash{&kernel}, Equal{&kernel}) {}

  const Kernel& kernel() const { return kernel_; }
  Value intern(const Inst& inst);  // an equal record if there is one, else a new one
  Value append(const Inst& inst);  // always a new one (axes, stores)
  Value constant(DType type, uint64_t bits);
  void clear();

 private:
  // The set holds positions; the record that is looked up is the last one, appended for the
  // look-up.
  struct Hash {
    const Kernel* kernel;
    size_t operator()(Value v) const;
  };
  struct Equal {
    const Kernel* kernel;
    bool operator()(Value a, Value b) const;
  };

  Kernel& kernel_;
  std::unordered_set<Value, Hash, Equal> known_;
};

}  // namespace ost::kir
