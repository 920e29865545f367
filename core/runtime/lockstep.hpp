// One program on two lists of devices, kernel by kernel: which is the first whose bits differ?
//
// Each launch runs alone on both sides, on the same bytes, and everything that it may write is
// compared; so a difference is that kernel's own and not inherited. Then the whole program runs on
// each side, which the first part does not see: arenas, order, copies.
#pragma once

#include <array>
#include <optional>

#include "core/runtime/compiler.hpp"
#include "core/runtime/instance.hpp"

namespace ost::runtime {

struct LockstepDifference {
  uint32_t step = kNoIndex;    // kNoIndex: only the whole program differs
  uint32_t buffer = kNoIndex;  // of the program, that holds the element
  uint64_t index = 0;          // of the first element that differs
  uint64_t different = 0;      // elements of the buffer that differ
  std::array<uint64_t, 2> bits{};
  uint64_t ulp =
      0;  // representable numbers between the two; UINT64_MAX if one is a NaN; integers: |a - b|
};

struct LockstepResult {
  uint64_t compared = 0;  // launches
  std::optional<LockstepDifference> first;
};

struct LockstepCall {
  std::vector<std::span<const uint8_t>> inputs;  // by position, bytes for `vars`
  std::vector<int64_t> vars;                     // by position
};

// The program has been verified; devices[side][i] is logical device i. All NaNs are one value.
Result<LockstepResult> lockstep(const std::shared_ptr<const Program>& program,
                                const std::array<std::vector<DevicePtr>, 2>& devices,
                                Compiler& compiler, const LockstepCall& call,
                                const InstanceOptions& options = {});

// How far apart two values of a type are, see LockstepDifference::ulp; 0 if they are equal, or both
// NaN.
uint64_t bit_distance(DType type, uint64_t a, uint64_t b);

}  // namespace ost::runtime
