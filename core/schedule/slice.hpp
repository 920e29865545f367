// A kernel on a part of one of its parallel axes: iterations are independent, so the parts together
// are the kernel, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost {

// The parallel axes of a constant extent, and the extents.
struct SliceAxis {
  kir::Value axis;
  int64_t extent;
};
std::vector<SliceAxis> slice_axes(const kir::Kernel& kernel);

// Iterations part * extent / parts up to the next part of an axis. The parameter `slot`, of
// `elements` elements, becomes a buffer for this part alone: elements / parts long, beginning at the
// element part * elements / parts of the whole. Nothing if it cannot be proved that every access to
// it then stays inside.
std::optional<kir::Kernel> slice_of(const kir::Kernel& kernel, SliceAxis axis, int64_t parts,
                                    int64_t part, uint32_t slot, int64_t elements);

}  // namespace ost
