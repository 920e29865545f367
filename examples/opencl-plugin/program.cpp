#include "program.hpp"

#include <cstring>

namespace opencl {
namespace {

using ost::plugin::fail;
using ost::plugin::view;

constexpr std::string_view kMagic = "OSTOCL1\n";

void put_text(std::string& out, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += text;
}

std::string take_text(std::string_view& rest) {
  uint32_t size = 0;
  if (rest.size() < sizeof size) fail(OST_DATA_LOSS, "the image is cut off");
  std::memcpy(&size, rest.data(), sizeof size);
  rest.remove_prefix(sizeof size);
  if (rest.size() < size) fail(OST_DATA_LOSS, "the image is cut off");
  std::string text(rest.substr(0, size));
  rest.remove_prefix(size);
  return text;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string text(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, text.data(), nullptr);
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

void build(cl_program program, cl_device_id device, const std::string& options,
           const ost_sink_t& log) {
  const cl_int code = clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
  const std::string said = build_log(program, device);
  ost::plugin::put(log, said);
  if (code == CL_SUCCESS) return;
  throw ost::plugin::Failure(cl::status_of(code),
                             ost::plugin::cat("clBuildProgram gives ", code, ": ", said), 0, code);
}

std::string binary_of(cl_program program) {
  size_t size = 0;
  cl::check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
            "clGetProgramInfo");
  std::string binary(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  cl::check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr),
            "clGetProgramInfo");
  return binary;
}

}  // namespace

std::string build_image(const Candidate& candidate, const ost_compile_t& job) {
  if (job.form != OST_FORM_OPENCL_C)
    fail(OST_UNIMPLEMENTED, "form ", job.form, ", this driver compiles opencl-c");
  if (job.options.size != 0)
    fail(OST_INVALID_ARGUMENT, "unknown options \"", view(job.options), "\"");
  if (job.entry.size == 0) fail(OST_INVALID_ARGUMENT, "the kernel has no name");
  cl_int code = CL_SUCCESS;
  const cl::Context context(clCreateContext(nullptr, 1, &candidate.id, nullptr, nullptr, &code));
  cl::check(code, "clCreateContext");
  const char* text = static_cast<const char*>(job.code.data);
  const size_t size = job.code.size;
  const cl::Program program(clCreateProgramWithSource(context.get(), 1, &text, &size, &code));
  cl::check(code, "clCreateProgramWithSource");
  build(program.get(), candidate.id, candidate.build_options, job.log);
  const std::string entry(view(job.entry));
  const cl::Kernel kernel(clCreateKernel(program.get(), entry.c_str(), &code));
  if (code != CL_SUCCESS) fail(OST_COMPILE_FAILED, "the source has no kernel '", entry, "'");
  std::string image(kMagic);
  put_text(image, candidate.info.target);
  put_text(image, entry);
  put_text(image, binary_of(program.get()));
  return image;
}

Image parse_image(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!rest.starts_with(kMagic)) fail(OST_INCOMPATIBLE, "not an image of the opencl driver");
  rest.remove_prefix(kMagic.size());
  Image image;
  image.target = take_text(rest);
  image.entry = take_text(rest);
  image.binary = take_text(rest);
  if (!rest.empty()) fail(OST_DATA_LOSS, rest.size(), " bytes behind the end of the image");
  return image;
}

Executable::Executable(const DevicePtr& device, const Image& image)
    : device_(device), entry_(image.entry) {
  if (image.target != device->target())
    fail(OST_INCOMPATIBLE, "the image is for ", image.target, ", the device is ", device->target());
  const auto* data = reinterpret_cast<const unsigned char*>(image.binary.data());
  const size_t size = image.binary.size();
  const cl_device_id id = device->id();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  program_ = cl::Program(
      clCreateProgramWithBinary(device->context(), 1, &id, &size, &data, &status, &code));
  if (code != CL_SUCCESS) fail(OST_INCOMPATIBLE, "clCreateProgramWithBinary gives ", code);
  build(program_.get(), id, "", {nullptr, nullptr});
  kernel_ = cl::Kernel(clCreateKernel(program_.get(), entry_.c_str(), &code));
  cl::check(code, "clCreateKernel");
  cl::check(
      clGetKernelInfo(kernel_.get(), CL_KERNEL_NUM_ARGS, sizeof arguments_, &arguments_, nullptr),
      "clGetKernelInfo");
}

void Executable::check(const Command& c) const {
  if (c.entry != 0) fail(OST_NOT_FOUND, "entry ", c.entry, " of an image with 1");
  if (2 * c.refs.size() + c.vars.size() + 1 != arguments_)
    fail(OST_INVALID_ARGUMENT, c.refs.size(), " buffers and ", c.vars.size(), " variables make ",
         2 * c.refs.size() + c.vars.size() + 1, " arguments, the kernel has ", arguments_);
}

// The arguments of opencl-c (plugin.h): for each parameter memory and offset, then the variables,
// then the bits of 1.0f.
void Executable::launch(cl_command_queue queue, const Command& c, cl_event* event) {
  const std::scoped_lock lock(mutex_);
  cl_uint at = 0;
  const auto set = [&](const auto& value) {
    cl::check(clSetKernelArg(kernel_.get(), at++, sizeof value, &value), "clSetKernelArg");
  };
  for (const Command::Ref& r : c.refs) set(r.buffer->memory.get()), set(cl_ulong{r.offset});
  for (const int64_t v : c.vars) set(cl_long{v});
  set(cl_uint{0x3f800000u});
  size_t global[3], local[3];
  for (int d = 0; d < 3; ++d) global[d] = c.grid[d], local[d] = c.group[d];
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) return;
  cl::check(
      clEnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global, local, 0, nullptr, event),
      "clEnqueueNDRangeKernel");
}

}  // namespace opencl
