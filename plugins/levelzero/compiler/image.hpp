// An image: what is known of a kernel without looking at its code, then the code. Numbers are u32,
// little endian; a text is its size and its bytes.
//   "OSTLZE1\n"  kind  target  entry  params  vars  lanes  local bytes  code
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace levelzero {

enum class ImageKind : uint32_t {
  spirv = 1,  // ZE_MODULE_FORMAT_IL_SPIRV
  native = 2  // ZE_MODULE_FORMAT_NATIVE: of ocloc, or of zeModuleGetNativeBinary
};

struct ImageHead {
  ImageKind kind = ImageKind::spirv;
  std::string target, entry;
  uint32_t params = 0, vars = 0;
  uint32_t lanes = 0;        // work-items of a group
  uint32_t local_bytes = 0;  // that the kernel declares
};
struct Image : ImageHead {
  std::string code;
};

std::string print_image(const ImageHead& head, std::string_view code);
// Fails on what is not an image of this driver, whatever its bytes.
Image parse_image(std::span<const std::byte> bytes);

}  // namespace levelzero
