#include "engine.hpp"

#include <cstring>
#include <stdexcept>

#include "standin.hpp"
#include "translate.hpp"

namespace standin {
namespace {

std::string text(cl_device_id device, cl_device_info what) {
  char buffer[1024] = "";
  clGetDeviceInfo(device, what, sizeof buffer, buffer, nullptr);
  buffer[sizeof buffer - 1] = '\0';
  return buffer;
}
bool has_spirv(cl_device_id device) {
  return text(device, CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos;
}

// A device that takes SPIR-V, or else any.
cl_device_id find_device() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  cl_device_id other = nullptr;
  for (cl_platform_id platform : platforms) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) continue;
    if (has_spirv(device)) return device;
    if (other == nullptr) other = device;
  }
  return other;
}

}  // namespace

Engine& Engine::get() {
  static auto* engine = new Engine;
  return *engine;
}

Engine::Engine() {
  cl_device_id device = find_device();
  if (device == nullptr) return;
  cl_int error = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return;
  queue_ = clCreateCommandQueueWithProperties(context_, device, nullptr, &error);
  if (error != CL_SUCCESS) return;
  name_ = text(device, CL_DEVICE_NAME);
  clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units_, &units_, nullptr);
  takes_spirv_ = has_spirv(device);
  device_ = device;
}

cl_program Engine::build(const SpirvModule& module, const std::string& options,
                         std::string& native) {
  if (!takes_spirv_) {
    native = translate(module.words, settings().translator, settings().cache);
    return finish(from_binary(native), options);
  }
  cl_int error = CL_SUCCESS;
  cl_program program = clCreateProgramWithIL(context_, module.words.data(),
                                             module.words.size() * sizeof(uint32_t), &error);
  if (error != CL_SUCCESS)
    throw std::runtime_error("OpenCL takes no such SPIR-V: error " + std::to_string(error));
  program = finish(program, options);
  size_t size = 0;
  clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  native.resize(size);
  auto* data = reinterpret_cast<unsigned char*>(native.data());
  clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr);
  return program;
}

cl_program Engine::build_native(std::string_view binary, const std::string& options) {
  return finish(from_binary(binary), options);
}

cl_program Engine::from_binary(std::string_view binary) {
  cl_int error = CL_SUCCESS, status = CL_SUCCESS;
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_program program =
      clCreateProgramWithBinary(context_, 1, &device_, &size, &data, &status, &error);
  if (error != CL_SUCCESS)
    throw std::runtime_error("OpenCL takes no such binary: error " + std::to_string(error));
  return program;
}

cl_program Engine::finish(cl_program program, const std::string& options) {
  const cl_int error = clBuildProgram(program, 1, &device_, options.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return program;
  size_t size = 0;
  clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size > 0)
    clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  clReleaseProgram(program);
  throw std::runtime_error("OpenCL does not build it: error " + std::to_string(error) + ": " +
                           log.c_str());
}

cl_int Engine::launch(cl_kernel kernel, const std::vector<Argument>& arguments,
                      const std::vector<Value>& values, const size_t* global, const size_t* local) {
  const std::scoped_lock lock(mutex_);
  cl_int error = CL_SUCCESS;
  for (cl_uint i = 0; i < arguments.size() && error == CL_SUCCESS; ++i) {
    const Value& v = values[i];
    if (arguments[i].kind == ArgumentKind::kGlobal) {
      void* pointer = nullptr;
      std::memcpy(&pointer, v.bytes.data(), sizeof pointer);
      error = clSetKernelArgSVMPointer(kernel, i, pointer);
    } else {
      error = clSetKernelArg(kernel, i, v.size, v.bytes.empty() ? nullptr : v.bytes.data());
    }
  }
  if (error == CL_SUCCESS)
    error = clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr);
  if (error == CL_SUCCESS) error = clFinish(queue_);
  return error;
}

}  // namespace standin
