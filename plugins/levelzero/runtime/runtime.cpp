#include "runtime.hpp"

#include <cstdlib>

#include "../compiler/compiler.hpp"

namespace levelzero {
namespace {

using ost::plugin::cat;

constexpr uint32_t kSpirv12 = 1u << 16 | 2;
constexpr uint32_t kApi12 = 1u << 16 | 2;
constexpr std::string_view kRelaxedLimits = "ZE_experimental_relaxed_allocation_limits";

Options read_options(const ost::plugin::Host& host) {
  Options out;
  out.library = host.option("library");
  if (out.library.empty())
    if (const char* set = secure_getenv("OSTINATO_LEVELZERO_LIBRARY")) out.library = set;
  out.large_buffers = host.option("large_buffers") == "1";
  out.pool = host.option("pool") != "0";
  out.target = host.option("target");
  return out;
}

// An array of this API: its number first, then its elements.
template <class T, class Call>
std::vector<T> array_of(const char* name, const T& empty, Call&& call) {
  uint32_t count = 0;
  check(call(&count, nullptr), name);
  std::vector<T> out(count, empty);
  if (count > 0) check(call(&count, out.data()), name);
  out.resize(count);
  return out;
}

// zeInitDrivers is zeInit and zeDriverGet in one, since spec 1.10.
std::vector<ze::DriverHandle> find_drivers(const Api& api) {
  if (api.zeInitDrivers != nullptr) {
    auto desc = typed<ze::InitDriverTypeDesc>(ze::kInitDriverTypeDesc);
    desc.flags = ze::kInitGpuOnly;
    return array_of<ze::DriverHandle>("zeInitDrivers", nullptr,
                                      [&](uint32_t* count, ze::DriverHandle* out) {
                                        return api.zeInitDrivers(count, out, &desc);
                                      });
  }
  check(api.zeInit(ze::kInitGpuOnly), "zeInit");
  return array_of<ze::DriverHandle>("zeDriverGet", nullptr, api.zeDriverGet);
}

bool has_extension(const Api& api, ze::DriverHandle driver, std::string_view name) {
  const auto all = array_of<ze::ExtensionProperties>(
      "zeDriverGetExtensionProperties", {}, [&](uint32_t* count, ze::ExtensionProperties* out) {
        return api.zeDriverGetExtensionProperties(driver, count, out);
      });
  for (const auto& e : all)
    if (name == e.name) return true;
  return false;
}

Candidate describe(const Api& api, ze::DriverHandle driver, ze::DeviceHandle device) {
  Candidate c;
  c.driver = driver;
  c.device = device;
  uint32_t version = 0;
  check(api.zeDriverGetApiVersion(driver, &version), "zeDriverGetApiVersion");
  c.ticks_are_cycles = version >= kApi12;
  c.properties = typed<ze::DeviceProperties>(c.ticks_are_cycles ? ze::kDeviceProperties12
                                                                : ze::kDeviceProperties);
  check(api.zeDeviceGetProperties(device, &c.properties), "zeDeviceGetProperties");
  c.relaxed_limits = has_extension(api, driver, kRelaxedLimits);
  return c;
}

bool has_fp64(const ze::ModuleProperties& module) { return (module.flags & ze::kModuleFp64) != 0; }

// SPIR-V, or the instructions of the GPU that the user says it is.
Target target_of(const ze::ModuleProperties& module, const std::string& wanted) {
  const Target spirv = *find_target(spirv_target(has_fp64(module)));
  return wanted.empty() ? spirv : find_target(wanted).value_or(spirv);
}

// Why kernels of this driver cannot run there, or "".
std::string unfit(const ze::ComputeProperties& compute, const ze::ModuleProperties& module,
                  const std::string& wanted) {
  const auto target = find_target(wanted);
  if (!wanted.empty() && !target) return cat("levelzero.target=", wanted, ": no such target");
  if (target && target->fp64 && !has_fp64(module))
    return cat("levelzero.target=", wanted, " has f64, the device has not");
  if (module.spirv_version < kSpirv12)
    return cat("it takes SPIR-V ", module.spirv_version >> 16, ".", module.spirv_version & 0xffff,
               ", wanted 1.2");
  if (compute.max_group < kMaxGroup)
    return cat("it has groups of ", compute.max_group, " work-items, wanted ", kMaxGroup);
  if (compute.local_bytes < kLocalBytes)
    return cat("it has ", compute.local_bytes, " bytes of local memory, wanted ", kLocalBytes);
  return "";
}

ost_device_info_t info_of(const Api& api, const Candidate& c, const Options& options) {
  auto compute = typed<ze::ComputeProperties>(ze::kComputeProperties);
  check(api.zeDeviceGetComputeProperties(c.device, &compute), "zeDeviceGetComputeProperties");
  auto module = typed<ze::ModuleProperties>(ze::kModuleProperties);
  check(api.zeDeviceGetModuleProperties(c.device, &module), "zeDeviceGetModuleProperties");
  const auto memories = array_of<ze::MemoryProperties>(
      "zeDeviceGetMemoryProperties", typed<ze::MemoryProperties>(ze::kMemoryProperties),
      [&](uint32_t* count, ze::MemoryProperties* out) {
        return api.zeDeviceGetMemoryProperties(c.device, count, out);
      });
  const Target target = target_of(module, options.target);
  const ze::DeviceProperties& p = c.properties;
  ost_device_info_t info{};
  info.size = sizeof info;
  info.kind = OST_DEVICE_KIND_GPU;
  info.dtypes = dtypes_of(target);
  ost::plugin::copy_text(info.name, p.name);
  ost::plugin::copy_text(info.target, target.key);
  info.form_count = 1;
  info.forms[0] = OST_FORM_KIR_L2;
  info.max_group = kMaxGroup;
  info.subgroup = 1;
  info.local_bytes = kLocalBytes;
  for (const auto& m : memories) info.memory_bytes += m.bytes;
  info.max_alloc = options.large_buffers && c.relaxed_limits ? info.memory_bytes : p.max_alloc;
  info.min_align = 64;
  info.threads = p.slices * p.subslices_per_slice * p.eus_per_subslice * p.threads_per_eu;
  if (const std::string why = unfit(compute, module, options.target); !why.empty()) {
    info.flags |= OST_DEVICE_UNUSABLE;
    ost::plugin::copy_text(info.reason, why);
  }
  return info;
}

}  // namespace

Runtime::Runtime(const ost::plugin::Host& host)
    : options_(read_options(host)), api_(load_api(options_.library)), reason_(api_.missing) {
  if (!reason_.empty()) return;
  try {
    for (ze::DriverHandle driver : find_drivers(api_)) {
      const auto devices = array_of<ze::DeviceHandle>("zeDeviceGet", nullptr,
                                                      [&](uint32_t* count, ze::DeviceHandle* out) {
                                                        return api_.zeDeviceGet(driver, count, out);
                                                      });
      for (ze::DeviceHandle device : devices) {
        const Candidate c = describe(api_, driver, device);
        if (c.properties.kind != ze::kDeviceTypeGpu) continue;
        devices_.push_back(info_of(api_, c, options_));
        candidates_.push_back(c);
      }
    }
    if (devices_.empty()) reason_ = cat("no device: ", api_.path, " knows no GPU");
  } catch (const ost::plugin::Failure& why) {
    devices_.clear();
    candidates_.clear();
    reason_ = cat("no device: ", api_.path, ": ", why.what());
  }
}

}  // namespace levelzero
