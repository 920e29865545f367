// Predicts how long a phase of a kernel takes on one thread, and decides from that whether to use
// several.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../abi/kernel.h"
#include "../abi/target.hpp"

namespace ost_cpu {

enum class Parallel {
  kNever,
  kIfAwake,  // pays only if no worker has to be woken
  kAlways,
};

struct CostModel {
  double flops_per_us;
  double bytes_per_us = 40e3;

  explicit CostModel(FeatureSet set)
      : flops_per_us(has(set, "avx512f") ? 240e3
                     : has(set, "fma")   ? 120e3
                                         : 24e3) {}

  double phase_us(const ost_cpu_phase_t& phase) const {
    return std::max(phase.flops / flops_per_us, phase.bytes / bytes_per_us);
  }
};

// Measured: a hot fork-join takes 0.2 to 0.9 us, waking a sleeping worker 12 to 17 us, of which the
// caller pays half.
constexpr double kHotPays = 8;
constexpr double kColdPays = 50;

constexpr Parallel decide(double us) {
  if (us >= kColdPays) return Parallel::kAlways;
  return us >= kHotPays ? Parallel::kIfAwake : Parallel::kNever;
}

// How long a task should be, if `us` of work are handed out: enough of them to balance, none so
// short that it matters.
inline double task_length(double us, unsigned threads) {
  constexpr double kShortest = 2;
  return std::max(kShortest, us / (16.0 * threads));
}

// Into how many pieces to cut a phase that takes `us`.
inline uint32_t piece_count(const ost_cpu_phase_t& phase, double us, double task_us) {
  const double pieces = std::clamp(us / task_us + 0.5, 1.0, 4096.0);
  return static_cast<uint32_t>(std::min<int64_t>(phase.tasks, static_cast<int64_t>(pieces)));
}

}  // namespace ost_cpu
