// A loaded image: a module of Level Zero and its kernel.
#pragma once

#include "../compiler/image.hpp"
#include "memory.hpp"

namespace levelzero {

class Executable;
using Command = ost::plugin::Command<Buffer, Executable>;
using RecordedCommands = ost::plugin::CommandList<Buffer, Executable>;

class Executable {
 public:
  Executable(const DevicePtr& device, const Image& image);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const std::string& entry() const { return head_.entry; }
  // Fails unless it has the entry, takes that many arguments and can be launched in that shape.
  void check(const Command& command) const;
  // `signal` may be null. Any thread: a kernel keeps its arguments, so one launch at a time.
  void launch(ze::ListHandle list, const Command& command, ze::EventHandle signal);

 private:
  void build(const Image& image);
  void set(uint32_t index, size_t size, const void* value);

  DevicePtr device_;
  ImageHead head_;
  ze::ModuleHandle module_ = nullptr;
  ze::KernelHandle kernel_ = nullptr;
  std::mutex mutex_;  // of the kernel's arguments
};

}  // namespace levelzero
