// The OpenCL devices of this machine, and what is open of one of them.
#pragma once

#include <condition_variable>
#include <map>
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

// A device that is open. Counts, by buffer, the uses that its queues have accepted and not ended.
class Device {
 public:
  explicit Device(const Candidate& candidate);

  cl_device_id id() const { return id_; }
  cl_context context() const { return context_.get(); }
  uint32_t align() const { return align_; }
  uint64_t max_alloc() const { return max_alloc_; }
  const std::string& target() const { return target_; }

  void begin_work(std::span<const cl_mem> buffers);
  void end_work(std::span<const cl_mem> buffers);
  void wait_until_unused(cl_mem buffer);
  void wait_until_idle();

  // Blocking transfers of bytes, behind all accepted work that uses the buffer.
  void write(cl_mem to, uint64_t offset, const void* data, uint64_t size);
  void read(cl_mem from, uint64_t offset, void* data, uint64_t size);

 private:
  cl_device_id id_;
  uint32_t align_;
  uint64_t max_alloc_;
  std::string target_;
  cl::Context context_;
  cl::CommandQueue transfers_;
  std::mutex transfer_mutex_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<cl_mem, uint64_t> uses_;  // not ended; no entry: none
  uint64_t jobs_ = 0;                // not ended
};
using DevicePtr = std::shared_ptr<Device>;

}  // namespace opencl
