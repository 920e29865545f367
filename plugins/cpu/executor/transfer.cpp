#include "transfer.hpp"

#include <algorithm>
#include <cstring>

namespace ost_cpu {

namespace {

constexpr int64_t kBlock = 1 << 16;  // bytes of a task; a multiple of every pattern size

void plan_blocks(void* out, int64_t bytes, double traffic) {
  ost_cpu_plan_t plan{};
  plan.phase_count = 1;
  plan.phases[0] = {(bytes + kBlock - 1) / kBlock, 0, static_cast<double>(bytes) * traffic};
  std::memcpy(out, &plan, sizeof plan);
}

}  // namespace

void copy_kernel(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                 int64_t hi) {
  const int64_t bytes = call->vars[0];
  if (phase == OST_CPU_PHASE_PLAN) return plan_blocks(scratch, bytes, 2);
  const int64_t first = lo * kBlock;
  const int64_t last = std::min(hi * kBlock, bytes);
  if (last <= first) return;
  std::memmove(static_cast<char*>(call->params[0]) + first,
               static_cast<const char*>(call->params[1]) + first,
               static_cast<size_t>(last - first));
}

void fill_kernel(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                 int64_t hi) {
  const int64_t bytes = call->vars[0];
  if (phase == OST_CPU_PHASE_PLAN) return plan_blocks(scratch, bytes, 1);
  char* to = static_cast<char*>(call->params[0]);
  const int64_t last = std::min(hi * kBlock, bytes);
  int64_t at = lo * kBlock;
  for (; at + 8 <= last; at += 8) std::memcpy(to + at, &call->vars[1], 8);
  if (at < last) std::memcpy(to + at, &call->vars[1], static_cast<size_t>(last - at));
}

}  // namespace ost_cpu
