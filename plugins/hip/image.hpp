// The image of a kernel: its target, its name and the numbers of its arguments, and the code object.
#pragma once

#include <ostinato/plugin.hpp>
#include <span>
#include <string>

namespace hip {

// What is known without the code object: it is at the front of the image.
struct ImageHead {
  std::string target, entry;
  uint32_t params = 0, vars = 0;
};
struct Image : ImageHead {
  std::string code;
};

std::string image_bytes(const Image& image);
// Fails on what is not an image of this driver, or whose code object is damaged or for another
// target than the image says.
Image parse_image(std::span<const std::byte> bytes);

// Fills the numbers of arguments from the source.
void read_signature(std::string_view source, ImageHead& head);

}  // namespace hip
