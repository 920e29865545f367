/* The kernel ABI of the cpu plugin: what code in an image looks like to the executor. Internal to
 * the two libraries of the plugin; OST_CPU_KERNEL_ABI is stamped into every image and an executor
 * takes its own value only.
 *
 * An image has one exported function per kernel, its symbol is the kernel's entry name. It is
 * called with
 *   phase == OST_CPU_PHASE_PLAN   to ask for the plan: `scratch` points to an ost_cpu_plan_t that
 *   it fills from
 *                                 call->vars; nothing else of the call is read;
 *   phase <  plan.phase_count     to run tasks [lo, hi) of that phase. All tasks of a phase are
 *   independent and may run
 *                                 in any order, on any threads, in any split of [0, tasks); all
 *                                 tasks of phase p must have ended (with their writes visible)
 *                                 before one of phase p+1 starts.
 * The caller sets MXCSR to its default (round to nearest, no flush to zero, exceptions masked) on
 * every thread. */
#ifndef OSTINATO_PLUGINS_CPU_ABI_KERNEL_H_
#define OSTINATO_PLUGINS_CPU_ABI_KERNEL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OST_CPU_KERNEL_ABI 1u

#define OST_CPU_PHASE_PLAN 0xffffffffu
#define OST_CPU_MAX_PHASES 4u

/* One call of a kernel. The kernel only reads it, so it may be bound once and used for every
 * replay. */
typedef struct ost_cpu_call_t {
  void* const* params; /* pointers by parameter slot, aligned to the element size at least */
  const int64_t* vars; /* values by variable slot */
  /* plan.shared_bytes, aligned to 64, one for all tasks of all phases; NULL if 0 bytes */
  void* shared;
} ost_cpu_call_t;

typedef struct ost_cpu_phase_t {
  int64_t tasks; /* >= 0; 0: nothing to run */
  /* estimates for the whole phase: arithmetic operations on elements, weighted by their cost ... */
  double flops;
  double bytes; /* ... and bytes that are read and written */
} ost_cpu_phase_t;

typedef struct ost_cpu_plan_t {
  uint32_t phase_count; /* 1 .. OST_CPU_MAX_PHASES */
  uint32_t reserved;
  /* per running thread, aligned to 64, contents need not survive a call; NULL if 0 bytes */
  uint64_t scratch_bytes;
  uint64_t shared_bytes; /* per call in flight */
  ost_cpu_phase_t phases[OST_CPU_MAX_PHASES];
} ost_cpu_plan_t;

typedef void (*ost_cpu_kernel_fn)(const ost_cpu_call_t* call, void* scratch, uint32_t phase,
                                  int64_t lo, int64_t hi);

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_PLUGINS_CPU_ABI_KERNEL_H_ */
