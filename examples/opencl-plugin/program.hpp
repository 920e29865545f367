// Kernels: from source text to an image, from an image to something that can be launched.
#pragma once

#include <span>

#include "device.hpp"

namespace opencl {

// Source text -> image: the target, the entry's name and the binary of the OpenCL implementation.
std::string build_image(const Candidate& candidate, const ost_compile_t& job);

struct Image {
  std::string target, entry;
  std::string binary;
};
Image parse_image(
    std::span<const std::byte> bytes);  // fails on what is not an image of this driver

class Executable;
using Command = ost::plugin::Command<Buffer, Executable>;

// A loaded image. Launches from several threads are put one after the other: OpenCL keeps the
// arguments of a launch in the kernel object.
class Executable {
 public:
  Executable(const DevicePtr& device, const Image& image);

  const std::string& entry() const { return entry_; }
  // Refuses an entry that it has not, and wrong numbers of arguments.
  void check(const Command& command) const;
  // `event`: out, may be null.
  void launch(cl_command_queue queue, const Command& command, cl_event* event);

 private:
  DevicePtr device_;
  std::string entry_;
  cl::Program program_;
  cl::Kernel kernel_;
  cl_uint arguments_ = 0;
  std::mutex mutex_;
};

}  // namespace opencl
