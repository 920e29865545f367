// COPY and FILL as kernels of the plugin's own, so that a command list has one kind of record.
#pragma once

#include "../abi/kernel.h"

namespace ost_cpu {

// params: destination, source; vars: bytes.
void copy_kernel(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo, int64_t hi);
// params: destination; vars: bytes, pattern repeated to 8 bytes, bytes of the pattern.
void fill_kernel(const ost_cpu_call_t* call, void* scratch, uint32_t phase, int64_t lo, int64_t hi);

}  // namespace ost_cpu
