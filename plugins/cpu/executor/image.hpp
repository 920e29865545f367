// Reads an image (../abi/image.hpp) without trusting it: every offset and count is checked against
// the bytes there are, nothing is read through a misaligned pointer, and whatever is wrong becomes
// an OST_DATA_LOSS failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../abi/target.hpp"

namespace ost_cpu {

struct ImageFunction {
  std::string name;
  uint64_t offset = 0;  // into the text
};

struct Image {
  uint64_t text_offset = 0;  // into the file, a multiple of the page size
  uint64_t text_size = 0;
  FeatureSet target = 0;
  std::string compiler;
  std::vector<ImageFunction> functions;  // the kernels, by name
};

// Also refuses an image for another kernel ABI (OST_INCOMPATIBLE).
Image parse_image(std::span<const std::byte> bytes);

}  // namespace ost_cpu
