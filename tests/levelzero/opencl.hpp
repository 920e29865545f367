// An OpenCL 1.2 device that takes LLVM bitcode, as PoCL and oclgrind do: SPIR-V reaches it through a
// translator (llvm-spirv -r). Buffers, no shared memory, so that every access can be watched.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "spirv_lab.hpp"

namespace ost::test {

class OpenCl {
 public:
  // `translator`: a program, llvm-spirv-15. Fails with a reason where there is no device.
  static Result<std::unique_ptr<OpenCl>> open(std::string translator);
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;
  ~OpenCl();

  const std::string& name() const { return name_; }
  // The contents of the parameters afterwards. Memory around them that changed is an error.
  Result<std::vector<conform::Bytes>> run(const Spirv& spirv, cl_kernel kernel,
                                          const conform::Launch& launch);

  struct Program {
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
    Program() = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program();
  };
  Result<> build(const Spirv& spirv, Program& out);

 private:
  OpenCl() = default;
  std::string translator_, name_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

}  // namespace ost::test
