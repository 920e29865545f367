// Loads and stores of the interpreter: any alignment, every index checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.hpp"

namespace ost::kir::interp {

struct Memory {
  std::byte* data = nullptr;
  uint64_t count = 0;  // elements
  // Move n elements between a block and data[index[i]], except where the mask is false (a load
  // gives 0 there). They return n, or the position of the first index that is out of bounds.
  size_t (*gather)(const Memory&, size_t n, std::byte* out, const int64_t* index,
                   const bool* mask) = nullptr;
  size_t (*scatter)(const Memory&, size_t n, const std::byte* values, const int64_t* index,
                    const bool* mask) = nullptr;
};

Memory make_memory(DType type, void* data, uint64_t count);

}  // namespace ost::kir::interp
