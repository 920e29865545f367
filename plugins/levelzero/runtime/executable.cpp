#include "executable.hpp"

#include "../compiler/compiler.hpp"

namespace levelzero {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;

// For buffers of more than 4 GiB: Intel's compiler then makes no 32-bit offsets.
constexpr const char* kLargeFlag = " -ze-opt-greater-than-4GB-buffer-required";

std::string take_log(const Api& api, ze::LogHandle log) {
  std::string text;
  if (log == nullptr) return text;
  size_t size = 0;
  if (api.zeModuleBuildLogGetString(log, &size, nullptr) == ze::kSuccess && size > 0) {
    text.resize(size);
    api.zeModuleBuildLogGetString(log, &size, text.data());
  }
  api.zeModuleBuildLogDestroy(log);
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

}  // namespace

Executable::Executable(const DevicePtr& device, const Image& image)
    : device_(device), head_(image) {
  if (image.target != device->info().target)
    fail(OST_INCOMPATIBLE, "the image is for ", image.target, ", the device is ",
         device->info().target);
  device_->use();
  build(image);
  const Api& api = device_->api();
  try {
    auto desc = typed<ze::KernelDesc>(ze::kKernelDesc);
    desc.name = head_.entry.c_str();
    device_->check(api.zeKernelCreate(module_, &desc, &kernel_), "zeKernelCreate");
    device_->check(api.zeKernelSetGroupSize(kernel_, head_.lanes, 1, 1), "zeKernelSetGroupSize");
  } catch (...) {
    if (kernel_ != nullptr) api.zeKernelDestroy(kernel_);
    api.zeModuleDestroy(module_);
    throw;
  }
}

Executable::~Executable() {
  device_->api().zeKernelDestroy(kernel_);
  device_->api().zeModuleDestroy(module_);
}

void Executable::build(const Image& image) {
  const Api& api = device_->api();
  const std::string flags = cat(kBuildFlags, device_->options().large_buffers ? kLargeFlag : "");
  auto desc = typed<ze::ModuleDesc>(ze::kModuleDesc);
  desc.format = image.kind == ImageKind::native ? ze::kFormatNative : ze::kFormatSpirv;
  desc.size = image.code.size();
  desc.input = reinterpret_cast<const uint8_t*>(image.code.data());
  desc.flags = image.kind == ImageKind::native ? nullptr : flags.c_str();
  ze::LogHandle log = nullptr;
  const ze::Result code =
      api.zeModuleCreate(device_->context(), device_->handle(), &desc, &module_, &log);
  const std::string said = take_log(api, log);
  if (code == ze::kSuccess) return;
  const ost::plugin::Failure failure = failure_of(code, "zeModuleCreate");
  if (failure.status() != OST_DEVICE_LOST && !said.empty())
    throw ost::plugin::Failure(failure.status(), cat(failure.what(), ": ", said), 0, code);
  device_->check(code, "zeModuleCreate");
}

void Executable::check(const Command& c) const {
  if (c.entry != 0) fail(OST_NOT_FOUND, "entry ", c.entry, " of an image with 1");
  if (c.refs.size() != head_.params || c.vars.size() != head_.vars)
    fail(OST_INVALID_ARGUMENT, c.refs.size(), " buffers and ", c.vars.size(),
         " variables, the kernel has ", head_.params, " and ", head_.vars);
  if (c.group[0] != head_.lanes || c.group[1] != 1 || c.group[2] != 1)
    fail(OST_INVALID_ARGUMENT, "groups of ", c.group[0], " x ", c.group[1], " x ", c.group[2],
         " work-items, the kernel has ", head_.lanes, " x 1 x 1");
  for (int d = 0; d < 3; ++d)
    if (c.grid[d] / c.group[d] > UINT32_MAX)
      fail(OST_INVALID_ARGUMENT, c.grid[d] / c.group[d], " groups in dimension ", d,
           ", Level Zero has 2^32 - 1 at most");
}

void Executable::set(uint32_t index, size_t size, const void* value) {
  device_->check(device_->api().zeKernelSetArgumentValue(kernel_, index, size, value),
                 "zeKernelSetArgumentValue");
}

// The order of the arguments is in compiler.hpp.
void Executable::launch(ze::ListHandle list, const Command& c, ze::EventHandle signal) {
  const auto groups = [&](int d) { return static_cast<uint32_t>(c.grid[d] / c.group[d]); };
  const std::scoped_lock lock(mutex_);
  uint32_t index = 0;
  for (const Command::Ref& ref : c.refs) {
    const void* data = ref.buffer->data();
    set(index++, sizeof data, &data);
    set(index++, sizeof ref.offset, &ref.offset);
  }
  for (const int64_t& var : c.vars) set(index++, sizeof var, &var);
  set(index, sizeof kOneBits, &kOneBits);
  const ze::GroupCount count{groups(0), groups(1), groups(2)};
  device_->check(
      device_->api().zeCommandListAppendLaunchKernel(list, kernel_, &count, signal, 0, nullptr),
      "zeCommandListAppendLaunchKernel");
}

}  // namespace levelzero
