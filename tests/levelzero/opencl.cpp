#include "opencl.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ost::test {
namespace {

using conform::Bytes;

Result<> ok(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return {};
  return fail(OST_INTERNAL, "{} gives {}", call, code);
}

Result<std::string> to_bitcode(const std::string& translator, const Spirv& spirv) {
  const auto base = std::filesystem::temp_directory_path() /
                    fmt::format("ostinato-spirv-{}", static_cast<unsigned>(::getpid()));
  const std::string in = base.string() + ".spv", out = base.string() + ".bc";
  std::ofstream(in, std::ios::binary) << without_scalar_nulls(spirv.words);
  const std::string command = fmt::format("{} -r {} -o {}", translator, in, out);
  const int code = std::system(command.c_str());
  std::ifstream file(out, std::ios::binary);
  std::string bitcode{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(in);
  std::filesystem::remove(out);
  if (code != 0 || bitcode.empty())
    return fail(OST_INTERNAL, "{}: {} ends with {}", spirv.entry, translator, code);
  return bitcode;
}

constexpr size_t kPad = 64;
constexpr uint8_t kPoison = 0xa5;

}  // namespace

Result<std::unique_ptr<OpenCl>> OpenCl::open(std::string translator) {
  std::unique_ptr<OpenCl> out(new OpenCl);
  out->translator_ = std::move(translator);
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return fail(OST_UNAVAILABLE, "there is no OpenCL platform");
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms)
    if (out->device_ == nullptr)
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &out->device_, nullptr);
  if (out->device_ == nullptr) return fail(OST_UNAVAILABLE, "there is no OpenCL device");
  char name[256] = "";
  clGetDeviceInfo(out->device_, CL_DEVICE_NAME, sizeof name, name, nullptr);
  out->name_ = name;
  cl_int code = CL_SUCCESS;
  out->context_ = clCreateContext(nullptr, 1, &out->device_, nullptr, nullptr, &code);
  OST_TRY(ok(code, "clCreateContext"));
  out->queue_ = clCreateCommandQueue(out->context_, out->device_, 0, &code);
  OST_TRY(ok(code, "clCreateCommandQueue"));
  return out;
}

OpenCl::~OpenCl() {
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
  if (context_ != nullptr) clReleaseContext(context_);
}

OpenCl::Program::~Program() {
  if (kernel != nullptr) clReleaseKernel(kernel);
  if (program != nullptr) clReleaseProgram(program);
}

Result<> OpenCl::build(const Spirv& spirv, Program& out) {
  OST_TRY_ASSIGN(const std::string bitcode, to_bitcode(translator_, spirv));
  const auto* bytes = reinterpret_cast<const unsigned char*>(bitcode.data());
  const size_t size = bitcode.size();
  cl_int code = CL_SUCCESS;
  out.program = clCreateProgramWithBinary(context_, 1, &device_, &size, &bytes, nullptr, &code);
  OST_TRY(ok(code, "clCreateProgramWithBinary"));
  code = clBuildProgram(out.program, 1, &device_, "", nullptr, nullptr);
  if (code != CL_SUCCESS) {
    char log[4096] = "";
    clGetProgramBuildInfo(out.program, device_, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, nullptr);
    return fail(OST_COMPILE_FAILED, "{}: clBuildProgram gives {}: {}", spirv.entry, code, log);
  }
  out.kernel = clCreateKernel(out.program, spirv.entry.c_str(), &code);
  return ok(code, "clCreateKernel");
}

Result<std::vector<Bytes>> OpenCl::run(const Spirv& spirv, cl_kernel kernel,
                                       const conform::Launch& launch) {
  struct Memory {
    cl_mem handle = nullptr;
    Memory() = default;
    Memory(Memory&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    ~Memory() {
      if (handle != nullptr) clReleaseMemObject(handle);
    }
  };
  std::vector<Memory> memory;
  cl_uint argument = 0;
  const auto set = [&](const auto& value) {
    return ok(clSetKernelArg(kernel, argument++, sizeof value, &value), "clSetKernelArg");
  };
  for (const Bytes& content : launch.params) {
    Bytes padded(content.size() + 2 * kPad, kPoison);
    std::ranges::copy(content, padded.begin() + kPad);
    cl_int code = CL_SUCCESS;
    Memory m;
    m.handle = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, padded.size(),
                              padded.data(), &code);
    OST_TRY(ok(code, "clCreateBuffer"));
    OST_TRY(set(m.handle));
    OST_TRY(set(uint64_t{kPad}));
    memory.push_back(std::move(m));
  }
  for (const int64_t v : launch.vars) OST_TRY(set(v));
  OST_TRY(set(uint32_t{0x3f800000}));
  const auto groups = kir::LaunchGrid(spirv.level2).eval(launch.vars);
  const size_t global[3] = {groups[0] * spirv.level2.lanes, groups[1], groups[2]};
  const size_t local[3] = {spirv.level2.lanes, 1, 1};
  if (global[0] * global[1] * global[2] > 0)
    OST_TRY(
        ok(clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr),
           "clEnqueueNDRangeKernel"));
  OST_TRY(ok(clFinish(queue_), "clFinish"));
  std::vector<Bytes> out;
  for (size_t p = 0; p < memory.size(); ++p) {
    Bytes padded(launch.params[p].size() + 2 * kPad);
    OST_TRY(ok(clEnqueueReadBuffer(queue_, memory[p].handle, CL_TRUE, 0, padded.size(),
                                   padded.data(), 0, nullptr, nullptr),
               "clEnqueueReadBuffer"));
    const auto poisoned = [](uint8_t b) { return b == kPoison; };
    if (!std::all_of(padded.begin(), padded.begin() + kPad, poisoned) ||
        !std::all_of(padded.end() - kPad, padded.end(), poisoned))
      return fail(OST_INTERNAL, "{}: memory around parameter {} has changed", spirv.entry, p);
    out.emplace_back(padded.begin() + kPad, padded.end() - kPad);
  }
  return out;
}

}  // namespace ost::test
