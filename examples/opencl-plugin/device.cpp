#include "device.hpp"

#include <algorithm>

namespace opencl {
namespace {

bool has_word(const std::string& words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string::npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const bool ends = at + word.size() == words.size() || words[at + word.size()] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

// Everything that an image depends on: the compiler behind the device and what it compiles for.
std::string target_of(cl_device_id id, bool f64) {
  const auto platform = cl::device_value<cl_platform_id>(id, CL_DEVICE_PLATFORM);
  char version[256] = "";
  clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, nullptr);
  std::string key = ost::plugin::cat(cl::device_text(id, CL_DEVICE_NAME), ":", version, ":",
                                     cl::device_text(id, CL_DRIVER_VERSION), f64 ? ":f64" : "");
  for (char& c : key)
    if (c == ' ' || c == '"' || c == '\\') c = '_';
  return key;
}

uint32_t kind_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_CPU) return OST_DEVICE_KIND_CPU;
  return type & CL_DEVICE_TYPE_GPU ? OST_DEVICE_KIND_GPU : OST_DEVICE_KIND_ACCELERATOR;
}

Candidate describe(cl_device_id id) {
  Candidate c;
  c.id = id;
  const bool f64 = has_word(cl::device_text(id, CL_DEVICE_EXTENSIONS), "cl_khr_fp64");
  ost_device_info_t& info = c.info;
  info.size = sizeof info;
  info.kind = kind_of(cl::device_value<cl_device_type>(id, CL_DEVICE_TYPE));
  for (uint32_t t = OST_DTYPE_BOOL; t <= OST_DTYPE_F32; ++t) info.dtypes |= 1u << t;
  if (f64) info.dtypes |= 1u << OST_DTYPE_F64;
  ost::plugin::copy_text(info.name, cl::device_text(id, CL_DEVICE_NAME));
  ost::plugin::copy_text(info.target, target_of(id, f64));
  info.form_count = 1;
  info.forms[0] = OST_FORM_OPENCL_C;
  info.max_group =
      static_cast<uint32_t>(cl::device_value<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.subgroup = 1;
  info.local_bytes =
      static_cast<uint32_t>(cl::device_value<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE));
  info.memory_bytes = cl::device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_alloc = cl::device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.min_align =
      std::max<uint32_t>(64, cl::device_value<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  info.threads = cl::device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  if (!cl::device_value<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE)) {
    info.flags |= OST_DEVICE_UNUSABLE;
    ost::plugin::copy_text(info.reason, "this OpenCL device has no compiler");
  }
  // Division and square root as IEEE has them, where the device knows the option. What it does
  // without it, the host's self-test finds out.
  c.build_options = "-cl-std=CL1.2";
  if (cl::device_value<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG) &
      CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
    c.build_options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return c;
}

}  // namespace

std::vector<Candidate> find_devices(std::string& reason) {
  std::vector<Candidate> out;
  cl_uint count = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &count);
  if (code != CL_SUCCESS || count == 0) {
    reason = ost::plugin::cat("no OpenCL platform is installed: clGetPlatformIDs gives ", code);
    return out;
  }
  std::vector<cl_platform_id> platforms(count);
  cl::check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(devices);
    cl::check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr),
              "clGetDeviceIDs");
    for (cl_device_id id : ids) out.push_back(describe(id));
  }
  if (out.empty()) reason = ost::plugin::cat(count, " OpenCL platforms, none of them has a device");
  return out;
}

Device::Device(const Candidate& candidate)
    : id_(candidate.id),
      align_(candidate.info.min_align),
      max_alloc_(candidate.info.max_alloc),
      target_(candidate.info.target) {
  cl_int code = CL_SUCCESS;
  context_ = cl::Context(clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &code));
  cl::check(code, "clCreateContext");
  transfers_ = cl::CommandQueue(clCreateCommandQueue(context(), id_, 0, &code));
  cl::check(code, "clCreateCommandQueue");
}

void Device::write(const Buffer& to, uint64_t offset, const void* data, uint64_t size) {
  uses_.wait_until_unused(&to);
  if (size == 0) return;
  const std::scoped_lock lock(transfer_mutex_);
  cl::check(clEnqueueWriteBuffer(transfers_.get(), to.memory.get(), CL_TRUE, offset, size, data, 0,
                                 nullptr, nullptr),
            "clEnqueueWriteBuffer");
  // Intel's CPU runtime (2026.2) returns from a blocking write of a few hundred bytes before other
  // queues see it.
  cl::check(clFinish(transfers_.get()), "clFinish");
}

void Device::read(const Buffer& from, uint64_t offset, void* data, uint64_t size) {
  uses_.wait_until_unused(&from);
  if (size == 0) return;
  const std::scoped_lock lock(transfer_mutex_);
  cl::check(clEnqueueReadBuffer(transfers_.get(), from.memory.get(), CL_TRUE, offset, size, data, 0,
                                nullptr, nullptr),
            "clEnqueueReadBuffer");
}

}  // namespace opencl
