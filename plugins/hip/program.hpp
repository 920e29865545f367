// Kernels: from source text to an image, from an image to something that can be launched.
#pragma once

#include "device.hpp"

namespace hip {

// What of an image is known without the code object: it is at the front of it.
struct ImageHead {
  std::string target, entry;
  uint32_t params = 0, vars = 0;
};
struct Image : ImageHead {
  std::string code;
};
Image parse_image(
    std::span<const std::byte> bytes);  // fails on what is not an image of this driver

// Compiler, version and flags, for cache keys.
std::string compiler_key(const Api& api);
// hip-cpp -> image. One at a time in a process: hipRTC 5 corrupts its heap when two threads compile.
std::string build_image(const Api& api, const ost_compile_t& job);

class Executable;
using Command = ost::plugin::Command<Buffer, Executable>;

// A loaded image.
class Executable {
 public:
  Executable(const DevicePtr& device, const Image& image);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const std::string& entry() const { return head_.entry; }
  // Fails unless it has the entry, takes that many arguments and can be launched in that shape.
  void check(const Command& command) const;
  void launch(Stream stream, const Command& command) const;

 private:
  DevicePtr device_;
  ImageHead head_;
  Module module_ = nullptr;
  Function function_ = nullptr;
};

}  // namespace hip
