// OpenCL's handles with owners, and its error codes as failures of the plugin ABI.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <ostinato/plugin.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cl {

using ost::plugin::fail;

inline ost_status_t status_of(cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_BUFFER_SIZE:
      return OST_OUT_OF_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
      return OST_DEVICE_LOST;
    case CL_BUILD_PROGRAM_FAILURE:
      return OST_COMPILE_FAILED;
    default:
      return OST_INTERNAL;
  }
}

inline void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  throw ost::plugin::Failure(status_of(code), ost::plugin::cat(call, " gives ", code), 0, code);
}

// One reference to an OpenCL object.
template <class T, cl_int (*Release)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) Release(handle_);
  }
  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};
using Context = Owned<cl_context, clReleaseContext>;
using CommandQueue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Memory = Owned<cl_mem, clReleaseMemObject>;
using Event = Owned<cl_event, clReleaseEvent>;

template <class T>
T device_value(cl_device_id device, cl_device_info what) {
  T value{};
  check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

inline std::string device_text(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  check(clGetDeviceInfo(device, what, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device, what, size, text.data(), nullptr), "clGetDeviceInfo");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace cl
