#include "core/kir/kernel.hpp"

#include <cstring>

#include "core/base/sha256.hpp"

namespace ost::kir {
namespace {

uint32_t count_of(const Kernel& kernel, Op op) {
  uint32_t count = 0;
  for (const Inst& inst : kernel.insts) count += inst.op == static_cast<uint16_t>(op);
  return count;
}

}  // namespace

uint32_t Kernel::param_count() const { return count_of(*this, Op::param); }

uint32_t Kernel::var_count() const { return count_of(*this, Op::var); }

bool operator==(const Kernel& a, const Kernel& b) {
  return a.numerics == b.numerics && a.level == b.level && a.lanes == b.lanes &&
         a.insts.size() == b.insts.size() &&
         (a.insts.empty() ||
          std::memcmp(a.insts.data(), b.insts.data(), a.insts.size() * sizeof(Inst)) == 0);
}

std::string hash_of(const Kernel& kernel) { return sha256_hex(to_binary(kernel)); }

}  // namespace ost::kir
