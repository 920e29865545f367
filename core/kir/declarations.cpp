#include "core/kir/declarations.hpp"

#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

constexpr size_t kMaxSlots = 1024;  // bounds the work of whoever walks them

template <typename... Args>
std::unexpected<Error> wrong(Value v, fmt::format_string<Args...> format, Args&&... args) {
  return fail(OST_INVALID_ARGUMENT, "kir record {}: {}", v,
              fmt::format(format, std::forward<Args>(args)...));
}

Result<> check_slots(const Kernel& kernel, Op op) {
  std::vector<char> seen(op == Op::param ? kernel.param_count() : kernel.var_count(), 0);
  if (seen.size() > kMaxSlots)
    return fail(OST_INVALID_ARGUMENT, "kir: {} records of {} are above the limit of {}",
                seen.size(), info(op).name, kMaxSlots);
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    if (kernel.op(v) != op) continue;
    const uint64_t slot = kernel.insts[v].imm;
    if (slot >= seen.size())
      return wrong(v, "{}: slot {} of {}: slots must be dense", info(op).name, slot, seen.size());
    if (seen[slot]) return wrong(v, "{}: slot {} is declared twice", info(op).name, slot);
    seen[slot] = 1;
  }
  return {};
}

}  // namespace

Result<> check_declarations(const Kernel& kernel) {
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    if (kernel.op(v) != Op::var) continue;
    const auto min = static_cast<int64_t>(kernel.insts[kernel.insts[v].src[0]].imm);
    const auto max = static_cast<int64_t>(kernel.insts[kernel.insts[v].src[1]].imm);
    if (min < 0) return wrong(v, "var: the minimum is {}, wanted at least 0", min);
    if (max < min) return wrong(v, "var: the maximum {} is below the minimum {}", max, min);
  }
  OST_TRY(check_slots(kernel, Op::param));
  return check_slots(kernel, Op::var);
}

}  // namespace ost::kir
