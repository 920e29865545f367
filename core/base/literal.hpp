// Host data with a type and a concrete shape: constants of graphs and programs, contents of .npy
// and .safetensors files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/dtype.hpp"

namespace ost {

// Row-major, contiguous, little endian. Immutable once shared.
struct Literal {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

using LiteralPtr = std::shared_ptr<const Literal>;

}  // namespace ost
