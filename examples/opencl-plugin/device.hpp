// The OpenCL devices of this machine, and what is open of one of them.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "cl.hpp"

namespace opencl {

// A device as it was found, with what it says about itself.
struct Candidate {
  cl_device_id id = nullptr;
  ost_device_info_t info{};
  std::string build_options;
};

// All devices of all platforms, in the order of OpenCL. `reason`: why there is none.
std::vector<Candidate> find_devices(std::string& reason);

struct Buffer;

// A device that is open.
class Device {
 public:
  explicit Device(const Candidate& candidate);

  cl_device_id id() const { return id_; }
  cl_context context() const { return context_.get(); }
  uint32_t align() const { return align_; }
  uint64_t max_alloc() const { return max_alloc_; }
  const std::string& target() const { return target_; }

  // What the accepted work of its queues uses.
  ost::plugin::Uses& uses() { return uses_; }

  // Blocking transfers of bytes, behind all accepted work that uses the buffer.
  void write(const Buffer& to, uint64_t offset, const void* data, uint64_t size);
  void read(const Buffer& from, uint64_t offset, void* data, uint64_t size);

 private:
  cl_device_id id_;
  uint32_t align_;
  uint64_t max_alloc_;
  std::string target_;
  cl::Context context_;
  cl::CommandQueue transfers_;
  std::mutex transfer_mutex_;
  ost::plugin::Uses uses_;
};
using DevicePtr = std::shared_ptr<Device>;

struct Buffer {
  DevicePtr device;
  cl::Memory memory;
  uint64_t size = 0;
};

}  // namespace opencl
