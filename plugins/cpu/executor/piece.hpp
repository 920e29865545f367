// The unit of execution: some tasks of one phase of one bound kernel. A replay is a loop over an
// array of these.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../abi/kernel.h"

namespace ost_cpu {

struct Piece {
  ost_cpu_kernel_fn function;
  const ost_cpu_call_t* call;
  int64_t lo;
  int64_t hi;
  uint32_t phase;

  void run(void* scratch) const { function(call, scratch, phase, lo, hi); }
};

// Cuts [lo, hi) of `whole` into `count` pieces of nearly the same length.
inline void append_pieces(std::vector<Piece>& out, const Piece& whole, uint32_t count) {
  const int64_t tasks = whole.hi - whole.lo;
  const int64_t base = tasks / count;
  const int64_t longer = tasks % count;
  Piece piece = whole;
  for (uint32_t i = 0; i < count; ++i) {
    piece.hi = piece.lo + base + (i < longer ? 1 : 0);
    out.push_back(piece);
    piece.lo = piece.hi;
  }
}

// Strict numerics need denormals and round-to-nearest; the application's own setting comes back
// afterwards.
class StrictFloat {
 public:
  StrictFloat() : before_(_mm_getcsr()) {
    if ((before_ & kControl) != kDefault) _mm_setcsr(kDefault);
  }
  ~StrictFloat() {
    if ((before_ & kControl) != kDefault) _mm_setcsr(before_);
  }
  StrictFloat(const StrictFloat&) = delete;
  StrictFloat& operator=(const StrictFloat&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;  // exceptions masked, nearest even, no FTZ, no DAZ
  static constexpr unsigned kControl = 0xffc0;  // all but the sticky exception flags
  unsigned before_;
};

// Asks a kernel for its plan and checks that it makes sense; throws OST_DATA_LOSS.
ost_cpu_plan_t plan_of(ost_cpu_kernel_fn function, const ost_cpu_call_t& call);

}  // namespace ost_cpu
