/* Kernels for the tests: position-independent code in one section, without constants, so that its
 * bytes can be put into an image as they are. Costs come from variables, so that a test decides
 * what is worth threads. */
#include "kernels.h"

#define KERNEL __attribute__((section("ost_test_kernels"), used, noinline))

static inline void plan1(void* out, int64_t tasks, int64_t flops) {
  ost_cpu_plan_t* plan = out;
  plan->phase_count = 1;
  plan->reserved = 0;
  plan->scratch_bytes = 0;
  plan->shared_bytes = 0;
  plan->phases[0].tasks = tasks;
  plan->phases[0].flops = (double)flops;
  plan->phases[0].bytes = 0;
}

/* out[i] = in[i] + 1 for i < n. vars: n, flops. One task for every 16 elements. */
KERNEL void add_one(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                    int64_t hi) {
  const int64_t n = call->vars[0];
  if (phase == OST_CPU_PHASE_PLAN) {
    plan1(scratch, (n + 15) / 16, call->vars[1]);
    return;
  }
  const int32_t* in = call->params[0];
  int32_t* out = call->params[1];
  for (int64_t i = lo * 16; i < hi * 16 && i < n; ++i) out[i] = in[i] + 1;
}

/* *value = *value * 3 + vars[0]: its effect depends on the order of calls. */
KERNEL void step(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                 int64_t hi) {
  if (phase == OST_CPU_PHASE_PLAN) {
    plan1(scratch, 1, 0);
    return;
  }
  int64_t* value = call->params[0];
  for (int64_t i = lo; i < hi; ++i) *value = *value * 3 + call->vars[0];
}

/* out = sum of in[0..n). vars: n, flops. Phase 0 writes sums of 64 to shared memory through
 * scratch, phase 1 adds. */
KERNEL void two_phase_sum(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                          int64_t hi) {
  const int64_t n = call->vars[0];
  const int64_t blocks = (n + 63) / 64;
  if (phase == OST_CPU_PHASE_PLAN) {
    plan1(scratch, blocks, call->vars[1]);
    ost_cpu_plan_t* plan = scratch;
    plan->phase_count = 2;
    plan->scratch_bytes = 64 * sizeof(int64_t);
    plan->shared_bytes = (uint64_t)blocks * sizeof(int64_t);
    plan->phases[1].tasks = 1;
    plan->phases[1].flops = 0;
    plan->phases[1].bytes = 0;
    return;
  }
  int64_t* shared = call->shared;
  if (phase == 1) {
    int64_t sum = 0;
    for (int64_t b = 0; b < blocks; ++b) sum += shared[b];
    *(int64_t*)call->params[1] = sum;
    return;
  }
  const int64_t* in = call->params[0];
  volatile int64_t* own = scratch;
  for (int64_t b = lo; b < hi; ++b) {
    int64_t count = 0;
    for (int64_t i = b * 64; i < b * 64 + 64 && i < n; ++i) own[count++] = in[i];
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += own[i];
    shared[b] = sum;
  }
}

/* Each task says that it is there and waits for all others. Counts those that met. vars: tasks,
 * cycles, flops. */
KERNEL void meet(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                 int64_t hi) {
  if (phase == OST_CPU_PHASE_PLAN) {
    plan1(scratch, call->vars[0], call->vars[2]);
    return;
  }
  int64_t* here = call->params[0];
  int64_t* met = call->params[1];
  for (int64_t i = lo; i < hi; ++i) {
    __atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
    const uint64_t start = __builtin_ia32_rdtsc();
    while (__atomic_load_n(here, __ATOMIC_SEQ_CST) < call->vars[0]) {
      if (__builtin_ia32_rdtsc() - start > (uint64_t)call->vars[1]) break;
      __builtin_ia32_pause();
    }
    if (__atomic_load_n(here, __ATOMIC_SEQ_CST) == call->vars[0])
      __atomic_add_fetch(met, 1, __ATOMIC_SEQ_CST);
  }
}

/* out[task] = MXCSR of the thread that ran it. vars: tasks, flops. */
KERNEL void control_word(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                         int64_t hi) {
  if (phase == OST_CPU_PHASE_PLAN) {
    plan1(scratch, call->vars[0], call->vars[1]);
    return;
  }
  uint32_t* out = call->params[0];
  for (int64_t i = lo; i < hi; ++i) out[i] = __builtin_ia32_stmxcsr();
}

KERNEL void impossible_plan(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo,
                            int64_t hi) {
  (void)call, (void)lo, (void)hi;
  if (phase != OST_CPU_PHASE_PLAN) return;
  plan1(scratch, 1, 0);
  ((ost_cpu_plan_t*)scratch)->phase_count = 99;
}
