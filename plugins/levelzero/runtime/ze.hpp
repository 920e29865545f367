// The part of Level Zero that this driver uses, by its own declarations: no header of Level Zero is
// needed, and newer entry points are known to a plugin that was built beside an old loader. The
// layouts and numbers are those of ze_api.h, to which the test levelzero_header holds them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace levelzero::ze {

using Result = uint32_t;  // ze_result_t
constexpr Result kSuccess = 0, kNotReady = 1;

using DriverHandle = struct OpaqueDriver*;
using DeviceHandle = struct OpaqueDevice*;
using ContextHandle = struct OpaqueContext*;
using QueueHandle = struct OpaqueQueue*;
using ListHandle = struct OpaqueList*;
using FenceHandle = struct OpaqueFence*;
using PoolHandle = struct OpaquePool*;
using EventHandle = struct OpaqueEvent*;
using ModuleHandle = struct OpaqueModule*;
using LogHandle = struct OpaqueLog*;
using KernelHandle = struct OpaqueKernel*;

// ze_structure_type_t
enum Type : uint32_t {
  kDeviceProperties = 3,
  kComputeProperties = 4,
  kModuleProperties = 5,
  kQueueGroupProperties = 6,
  kMemoryProperties = 7,
  kMemoryAccessProperties = 8,
  kContextDesc = 0xd,
  kQueueDesc = 0xe,
  kListDesc = 0xf,
  kPoolDesc = 0x10,
  kEventDesc = 0x11,
  kFenceDesc = 0x12,
  kDeviceMemDesc = 0x15,
  kHostMemDesc = 0x16,
  kModuleDesc = 0x1b,
  kKernelDesc = 0x1d,
  kRelaxedLimitsDesc = 0x20001,
  kDeviceProperties12 = 0x20006,
  kInitDriverTypeDesc = 0x20021
};

// Flags and enumerators of the fields below.
constexpr uint32_t kInitGpuOnly = 1, kDeviceTypeGpu = 1;
constexpr uint32_t kModuleFp64 = 2;
constexpr uint32_t kGroupCompute = 1, kGroupCopy = 2;
constexpr uint32_t kAccessRw = 1;
constexpr uint32_t kSynchronous = 1, kAsynchronous = 2;  // modes of a queue
constexpr uint32_t kPoolHostVisible = 1, kPoolTimestamps = 4;
constexpr uint32_t kScopeHost = 4;
constexpr uint32_t kRelaxedMaxSize = 1;
constexpr uint32_t kFormatSpirv = 0, kFormatNative = 1;

struct Head {
  uint32_t type;
  const void* next;
};
struct InitDriverTypeDesc : Head {
  uint32_t flags;
};
struct ExtensionProperties {
  char name[256];
  uint32_t version;
};
struct DeviceProperties : Head {
  uint32_t kind, vendor_id, device_id, flags, subdevice_id, clock_rate;
  uint64_t max_alloc;
  uint32_t max_contexts, max_priority, threads_per_eu, simd_width, eus_per_subslice,
      subslices_per_slice, slices;
  uint64_t timer_resolution;
  uint32_t timestamp_bits, kernel_timestamp_bits;
  uint8_t uuid[16];
  char name[256];
};
struct ComputeProperties : Head {
  uint32_t max_group, max_group_of[3], max_groups_of[3], local_bytes, subgroup_count, subgroups[8];
};
struct ModuleProperties : Head {
  uint32_t spirv_version, flags, fp16, fp32, fp64, max_argument_bytes, printf_bytes;
  uint8_t native_kernel[16];
};
struct QueueGroupProperties : Head {
  uint32_t flags;
  size_t max_pattern;
  uint32_t queues;
};
struct MemoryProperties : Head {
  uint32_t flags, clock_rate, bus_width;
  uint64_t bytes;
  char name[256];
};
struct MemoryAccessProperties : Head {
  uint32_t host, device, shared, shared_cross, shared_system;
};
struct FlagsDesc : Head {  // contexts, fences, host memory, relaxed limits
  uint32_t flags;
};
struct QueueDesc : Head {
  uint32_t ordinal, index, flags, mode, priority;
};
struct ListDesc : Head {
  uint32_t ordinal, flags;
};
struct PoolDesc : Head {
  uint32_t flags, count;
};
struct EventDesc : Head {
  uint32_t index, signal, wait;
};
struct DeviceMemDesc : Head {
  uint32_t flags, ordinal;
};
struct ModuleDesc : Head {
  uint32_t format;
  size_t size;
  const uint8_t* input;
  const char* flags;
  const void* constants;
};
struct KernelDesc : Head {
  uint32_t flags;
  const char* name;
};
struct GroupCount {
  uint32_t x, y, z;
};
struct TimestampData {
  uint64_t start, end;
};
struct TimestampResult {
  TimestampData global, context;
};

}  // namespace levelzero::ze
