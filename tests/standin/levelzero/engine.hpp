// The OpenCL device that runs kernels: the first CPU of the platforms that the ICD loader finds.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "spirv.hpp"

namespace standin {

// One argument of a launch, as it was when the launch was appended.
struct Value {
  bool set = false;
  size_t size = 0;
  std::vector<std::byte> bytes;  // of a pointer: the address
};

class Engine {
 public:
  static Engine& get();  // never destroyed
  bool found() const { return device_ != nullptr; }
  const std::string& name() const { return name_; }
  uint32_t units() const { return units_; }
  bool takes_spirv() const { return takes_spirv_; }

  // Throws std::runtime_error with the build log.
  // `native`: what build_native takes, without the translator. PoCL's is the bitcode: a program that
  // is made from PoCL's own binary of a program that was made from bitcode crashes PoCL 3.1.
  cl_program build(const SpirvModule& module, const std::string& options, std::string& native);
  cl_program build_native(std::string_view binary, const std::string& options);

  // Returns an OpenCL error. One launch at a time.
  cl_int launch(cl_kernel kernel, const std::vector<Argument>& arguments,
                const std::vector<Value>& values, const size_t* global, const size_t* local);

 private:
  Engine();
  cl_program from_binary(std::string_view binary);
  cl_program finish(cl_program program, const std::string& options);

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::string name_;
  uint32_t units_ = 1;
  bool takes_spirv_ = false;
  std::mutex mutex_;
};

}  // namespace standin
