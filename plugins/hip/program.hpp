// Kernels that can be launched.
#pragma once

#include "device.hpp"
#include "image.hpp"

namespace hip {

class Executable;
using Command = ost::plugin::Command<Buffer, Executable>;

inline std::byte* address_of(const Command::Ref& ref) {
  return ref.buffer->memory->data() + ref.offset;
}

// The arguments of a launch, as HIP wants them: pointers to each.
class Arguments {
 public:
  explicit Arguments(const Command& command);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  void** pointers() { return pointers_.data(); }
  Dim3 blocks() const { return blocks_; }

 private:
  std::vector<std::byte*> params_;
  std::vector<int64_t> vars_;
  std::vector<void*> pointers_;
  Dim3 blocks_;
};

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
