// The driver's own declarations of Level Zero have the layouts and the numbers of the real header.
#include <level_zero/ze_api.h>

#include "plugins/levelzero/runtime/ze.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // the structs have their head as a base

namespace {

namespace own = levelzero::ze;

#define SAME_SIZE(ours, theirs) static_assert(sizeof(own::ours) == sizeof(theirs))
#define SAME_PLACE(ours, field, theirs, their_field) \
  static_assert(offsetof(own::ours, field) == offsetof(theirs, their_field))
#define SAME(number, theirs) \
  static_assert(static_cast<uint32_t>(own::number) == static_cast<uint32_t>(theirs))

SAME_PLACE(Head, next, ze_device_properties_t, pNext);
SAME_SIZE(ExtensionProperties, ze_driver_extension_properties_t);
SAME_PLACE(ExtensionProperties, version, ze_driver_extension_properties_t, version);

SAME_SIZE(DeviceProperties, ze_device_properties_t);
SAME_PLACE(DeviceProperties, kind, ze_device_properties_t, type);
SAME_PLACE(DeviceProperties, flags, ze_device_properties_t, flags);
SAME_PLACE(DeviceProperties, max_alloc, ze_device_properties_t, maxMemAllocSize);
SAME_PLACE(DeviceProperties, threads_per_eu, ze_device_properties_t, numThreadsPerEU);
SAME_PLACE(DeviceProperties, slices, ze_device_properties_t, numSlices);
SAME_PLACE(DeviceProperties, timer_resolution, ze_device_properties_t, timerResolution);
SAME_PLACE(DeviceProperties, timestamp_bits, ze_device_properties_t, timestampValidBits);
SAME_PLACE(DeviceProperties, kernel_timestamp_bits, ze_device_properties_t,
           kernelTimestampValidBits);
SAME_PLACE(DeviceProperties, name, ze_device_properties_t, name);

SAME_SIZE(ComputeProperties, ze_device_compute_properties_t);
SAME_PLACE(ComputeProperties, max_group, ze_device_compute_properties_t, maxTotalGroupSize);
SAME_PLACE(ComputeProperties, local_bytes, ze_device_compute_properties_t, maxSharedLocalMemory);
SAME_PLACE(ComputeProperties, subgroups, ze_device_compute_properties_t, subGroupSizes);

SAME_SIZE(ModuleProperties, ze_device_module_properties_t);
SAME_PLACE(ModuleProperties, spirv_version, ze_device_module_properties_t, spirvVersionSupported);
SAME_PLACE(ModuleProperties, flags, ze_device_module_properties_t, flags);

SAME_SIZE(QueueGroupProperties, ze_command_queue_group_properties_t);
SAME_PLACE(QueueGroupProperties, max_pattern, ze_command_queue_group_properties_t,
           maxMemoryFillPatternSize);
SAME_PLACE(QueueGroupProperties, queues, ze_command_queue_group_properties_t, numQueues);

SAME_SIZE(MemoryProperties, ze_device_memory_properties_t);
SAME_PLACE(MemoryProperties, bytes, ze_device_memory_properties_t, totalSize);
SAME_SIZE(MemoryAccessProperties, ze_device_memory_access_properties_t);
SAME_PLACE(MemoryAccessProperties, shared, ze_device_memory_access_properties_t,
           sharedSingleDeviceAllocCapabilities);
SAME_PLACE(MemoryAccessProperties, shared_system, ze_device_memory_access_properties_t,
           sharedSystemAllocCapabilities);

SAME_SIZE(FlagsDesc, ze_context_desc_t);
SAME_SIZE(FlagsDesc, ze_fence_desc_t);
SAME_SIZE(FlagsDesc, ze_host_mem_alloc_desc_t);
SAME_SIZE(FlagsDesc, ze_relaxed_allocation_limits_exp_desc_t);
SAME_PLACE(FlagsDesc, flags, ze_host_mem_alloc_desc_t, flags);

SAME_SIZE(QueueDesc, ze_command_queue_desc_t);
SAME_PLACE(QueueDesc, index, ze_command_queue_desc_t, index);
SAME_PLACE(QueueDesc, mode, ze_command_queue_desc_t, mode);
SAME_SIZE(ListDesc, ze_command_list_desc_t);
SAME_PLACE(ListDesc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME_SIZE(PoolDesc, ze_event_pool_desc_t);
SAME_PLACE(PoolDesc, count, ze_event_pool_desc_t, count);
SAME_SIZE(EventDesc, ze_event_desc_t);
SAME_PLACE(EventDesc, signal, ze_event_desc_t, signal);
SAME_SIZE(DeviceMemDesc, ze_device_mem_alloc_desc_t);
SAME_PLACE(DeviceMemDesc, ordinal, ze_device_mem_alloc_desc_t, ordinal);
SAME_SIZE(ModuleDesc, ze_module_desc_t);
SAME_PLACE(ModuleDesc, size, ze_module_desc_t, inputSize);
SAME_PLACE(ModuleDesc, flags, ze_module_desc_t, pBuildFlags);
SAME_PLACE(ModuleDesc, constants, ze_module_desc_t, pConstants);
SAME_SIZE(KernelDesc, ze_kernel_desc_t);
SAME_PLACE(KernelDesc, name, ze_kernel_desc_t, pKernelName);
SAME_SIZE(GroupCount, ze_group_count_t);
SAME_SIZE(TimestampResult, ze_kernel_timestamp_result_t);
SAME_PLACE(TimestampResult, context, ze_kernel_timestamp_result_t, context);

SAME(kDeviceProperties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(kComputeProperties, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
SAME(kModuleProperties, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
SAME(kQueueGroupProperties, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME(kMemoryProperties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME(kMemoryAccessProperties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
SAME(kContextDesc, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
SAME(kQueueDesc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
SAME(kListDesc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
SAME(kPoolDesc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(kEventDesc, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(kFenceDesc, ZE_STRUCTURE_TYPE_FENCE_DESC);
SAME(kDeviceMemDesc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
SAME(kHostMemDesc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
SAME(kModuleDesc, ZE_STRUCTURE_TYPE_MODULE_DESC);
SAME(kKernelDesc, ZE_STRUCTURE_TYPE_KERNEL_DESC);
SAME(kRelaxedLimitsDesc, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
SAME(kDeviceProperties12, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);

SAME(kInitGpuOnly, ZE_INIT_FLAG_GPU_ONLY);
SAME(kDeviceTypeGpu, ZE_DEVICE_TYPE_GPU);
SAME(kModuleFp64, ZE_DEVICE_MODULE_FLAG_FP64);
SAME(kGroupCompute, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
SAME(kGroupCopy, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
SAME(kAccessRw, ZE_MEMORY_ACCESS_CAP_FLAG_RW);
SAME(kSynchronous, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
SAME(kAsynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
SAME(kPoolHostVisible, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(kPoolTimestamps, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(kScopeHost, ZE_EVENT_SCOPE_FLAG_HOST);
SAME(kRelaxedMaxSize, ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
SAME(kFormatSpirv, ZE_MODULE_FORMAT_IL_SPIRV);
SAME(kFormatNative, ZE_MODULE_FORMAT_NATIVE);
SAME(kSuccess, ZE_RESULT_SUCCESS);
SAME(kNotReady, ZE_RESULT_NOT_READY);

}  // namespace

int main() { return 0; }
