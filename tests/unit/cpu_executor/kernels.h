/* The kernels of kernels.c, and where their bytes are. */
#ifndef OSTINATO_TESTS_CPU_EXECUTOR_KERNELS_H_
#define OSTINATO_TESTS_CPU_EXECUTOR_KERNELS_H_

#include "plugins/cpu/abi/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OST_TEST_KERNEL(name) \
  void name(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo, int64_t hi)
OST_TEST_KERNEL(add_one);
OST_TEST_KERNEL(step);
OST_TEST_KERNEL(two_phase_sum);
OST_TEST_KERNEL(meet);
OST_TEST_KERNEL(control_word);
OST_TEST_KERNEL(impossible_plan);

extern const char __start_ost_test_kernels[];
extern const char __stop_ost_test_kernels[];

#ifdef __cplusplus
}
#endif

#endif
