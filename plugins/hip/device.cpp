#include "device.hpp"

#include <algorithm>
#include <cstring>

namespace hip {
namespace {

using ost::plugin::cat;

int attribute(const Api& api, int device, Attribute which) {
  int value = 0;
  api.check(api.hipDeviceGetAttribute(&value, static_cast<int>(which), device),
            "hipDeviceGetAttribute");
  return value;
}

// gcnArchName, "gfx90a:sramecc+:xnack-", from the struct whose layout changed with HIP 6: at 1160
// of the new one, at 396 of the old..
std::string architecture(const Api& api, int device) {
  const auto text_at = [](const std::vector<char>& bytes, size_t at) {
    const char* text = bytes.data() + at;
    const std::string found(text, strnlen(text, 256));
    return found.starts_with("gfx") ? found : std::string();
  };
  std::vector<char> bytes(8192);
  if (api.hipGetDevicePropertiesR0600 != nullptr &&
      api.hipGetDevicePropertiesR0600(bytes.data(), device) == kSuccess)
    return text_at(bytes, 1160);
  std::ranges::fill(bytes, '\0');
  if (api.hipGetDeviceProperties != nullptr &&
      api.hipGetDeviceProperties(bytes.data(), device) == kSuccess)
    return text_at(bytes, 396);
  return "";
}

Candidate describe(const Api& api, const std::string& no_compiler, int device) {
  Candidate c;
  c.index = device;
  ost_device_info_t& info = c.info = kernel_info();
  char name[OST_NAME_SIZE] = "";
  api.check(api.hipDeviceGetName(name, sizeof name - 1, device), "hipDeviceGetName");
  const std::string arch = architecture(api, device);
  ost::plugin::copy_text(info.name, name[0] != '\0' ? std::string_view(name) : arch);
  ost::plugin::copy_text(info.target, arch);
  info.max_group = static_cast<uint32_t>(attribute(api, device, Attribute::kMaxThreadsPerBlock));
  info.subgroup = static_cast<uint32_t>(attribute(api, device, Attribute::kWarpSize));
  info.local_bytes =
      static_cast<uint32_t>(attribute(api, device, Attribute::kSharedMemoryPerBlock));
  size_t bytes = 0;
  api.check(api.hipDeviceTotalMem(&bytes, device), "hipDeviceTotalMem");
  info.memory_bytes = info.max_alloc = bytes;
  info.threads = static_cast<uint32_t>(attribute(api, device, Attribute::kMultiprocessors));
  std::string reason;
  if (arch.empty()) reason = "HIP does not say the architecture of this device";
  if (!no_compiler.empty()) reason = no_compiler;
  if (!reason.empty()) {
    info.flags |= OST_DEVICE_UNUSABLE;
    ost::plugin::copy_text(info.reason, reason);
  }
  return c;
}

}  // namespace

ost_device_info_t kernel_info() {
  ost_device_info_t info{};
  info.size = sizeof info;
  info.kind = OST_DEVICE_KIND_GPU;
  for (uint32_t t = OST_DTYPE_BOOL; t <= OST_DTYPE_F64; ++t) info.dtypes |= 1u << t;
  info.form_count = 1;
  info.forms[0] = OST_FORM_HIP_CPP;
  info.min_align = kAlign;
  return info;
}

std::vector<Candidate> find_devices(const Api& api, const std::string& no_compiler,
                                    std::string& reason) {
  std::vector<Candidate> out;
  reason = api.missing;
  if (!reason.empty()) return out;
  int count = 0;
  Error code = api.hipInit(0);
  const char* call = "hipInit";
  if (code == kSuccess) {
    code = api.hipGetDeviceCount(&count);
    call = "hipGetDeviceCount";
  }
  if (code != kSuccess || count == 0) {
    reason = cat("no device: ", call, " of ", api.path, " gives ", api.name_of(code));
    return out;
  }
  for (int i = 0; i < count; ++i) out.push_back(describe(api, no_compiler, i));
  return out;
}

// --- the device

Device::Device(const Api& api, const Candidate& candidate, std::vector<ost_device_info_t> all,
               bool pool)
    : api_(api),
      index_(candidate.index),
      info_(candidate.info),
      all_(std::move(all)),
      transfers_(api, index_) {
  const auto has = [&](Attribute which) {
    int value = 0;
    return api_.hipDeviceGetAttribute(&value, static_cast<int>(which), index_) == kSuccess &&
           value != 0;
  };
  heaps_ = {Place::device};
  if (api_.has_pinned_memory()) heaps_.push_back(Place::pinned);
  // Only what the host may also use while the device works is like any other mapped memory.
  if (api_.hipMallocManaged != nullptr && has(Attribute::kManagedMemory) &&
      has(Attribute::kConcurrentManagedAccess))
    heaps_.push_back(Place::managed);
  if (pool && api_.has_pool() && has(Attribute::kMemoryPools))
    pool_ = std::make_unique<StreamPool>(api_, index_);
}

void Device::use() const {
  {
    const std::scoped_lock lock(mutex_);
    if (loss_) throw *loss_;
  }
  api_.check(api_.hipSetDevice(index_), "hipSetDevice");
}

void Device::check(Error code, const char* call) {
  try {
    api_.check(code, call);
  } catch (const ost::plugin::Failure& failure) {
    if (failure.status() == OST_DEVICE_LOST) {
      const std::scoped_lock lock(mutex_);
      if (!loss_) loss_ = failure;
    }
    throw;
  }
}

void Device::transfer(const Buffer& buffer, void* to, const void* from, uint64_t size) {
  uses_.wait_until_unused(&buffer);
  use();
  if (size == 0) return;
  const std::scoped_lock lock(transfer_mutex_);
  check(api_.hipMemcpyAsync(to, from, size, kMemcpyDefault, transfers_.get()), "hipMemcpyAsync");
  check(api_.hipStreamSynchronize(transfers_.get()), "hipStreamSynchronize");
}

void check_home(const Device& device, const Buffer& buffer) {
  if (buffer.device->index() != device.index())
    fail(OST_INVALID_ARGUMENT, "a buffer of device ", buffer.device->index(), ", the queue is of ",
         device.index());
}

void Device::write(const Buffer& to, uint64_t offset, const void* data, uint64_t size) {
  transfer(to, to.memory->data() + offset, data, size);
}

void Device::read(const Buffer& from, uint64_t offset, void* data, uint64_t size) {
  transfer(from, data, from.memory->data() + offset, size);
}

}  // namespace hip
