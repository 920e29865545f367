// Modules and kernels.
#pragma once

#include "device.hpp"
#include "engine.hpp"

namespace standin {

struct Module : Object {
  static constexpr const char* kKind = "module";
  Module() : Object(kKind, nullptr) {}
  ~Module() override {
    if (program != nullptr) clReleaseProgram(program);
  }
  SpirvModule source;
  cl_program program = nullptr;
  std::string native;  // what OpenCL made of it
};

struct BuildLog : Object {
  static constexpr const char* kKind = "build log";
  explicit BuildLog(std::string log) : Object(kKind, nullptr), text(std::move(log)) {}
  std::string text;
};

struct Kernel : Object {
  static constexpr const char* kKind = "kernel";
  explicit Kernel(Module& from) : Object(kKind, &from), module(from) {}
  ~Kernel() override {
    if (handle != nullptr) clReleaseKernel(handle);
  }
  Module& module;
  std::string name;
  KernelInfo info;
  cl_kernel handle = nullptr;
  std::array<uint32_t, 3> group{};  // zeros: not set
  std::vector<Value> values;
};

}  // namespace standin
