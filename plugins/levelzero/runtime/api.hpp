// The entry points of Level Zero, from the loader of this machine.
#pragma once

#include <ostinato/plugin.hpp>
#include <string>
#include <type_traits>

#include "ze.hpp"

namespace levelzero {

// name, arguments; the result is a ze_result_t. REQ: since 1.0. OPT: used where present.
#define OST_ZE_FUNCTIONS(REQ, OPT)                                                               \
  REQ(zeInit, (uint32_t))                                                                        \
  REQ(zeDriverGet, (uint32_t*, ze::DriverHandle*))                                               \
  REQ(zeDriverGetApiVersion, (ze::DriverHandle, uint32_t*))                                      \
  REQ(zeDriverGetExtensionProperties, (ze::DriverHandle, uint32_t*, ze::ExtensionProperties*))   \
  REQ(zeDeviceGet, (ze::DriverHandle, uint32_t*, ze::DeviceHandle*))                             \
  REQ(zeDeviceGetProperties, (ze::DeviceHandle, ze::DeviceProperties*))                          \
  REQ(zeDeviceGetComputeProperties, (ze::DeviceHandle, ze::ComputeProperties*))                  \
  REQ(zeDeviceGetModuleProperties, (ze::DeviceHandle, ze::ModuleProperties*))                    \
  REQ(zeDeviceGetMemoryProperties, (ze::DeviceHandle, uint32_t*, ze::MemoryProperties*))         \
  REQ(zeDeviceGetMemoryAccessProperties, (ze::DeviceHandle, ze::MemoryAccessProperties*))        \
  REQ(zeDeviceGetCommandQueueGroupProperties,                                                    \
      (ze::DeviceHandle, uint32_t*, ze::QueueGroupProperties*))                                  \
  REQ(zeContextCreate, (ze::DriverHandle, const ze::FlagsDesc*, ze::ContextHandle*))             \
  REQ(zeContextDestroy, (ze::ContextHandle))                                                     \
  REQ(zeMemAllocDevice,                                                                          \
      (ze::ContextHandle, const ze::DeviceMemDesc*, size_t, size_t, ze::DeviceHandle, void**))   \
  REQ(zeMemAllocHost, (ze::ContextHandle, const ze::FlagsDesc*, size_t, size_t, void**))         \
  REQ(zeMemAllocShared, (ze::ContextHandle, const ze::DeviceMemDesc*, const ze::FlagsDesc*,      \
                         size_t, size_t, ze::DeviceHandle, void**))                              \
  REQ(zeMemFree, (ze::ContextHandle, void*))                                                     \
  REQ(zeCommandQueueCreate,                                                                      \
      (ze::ContextHandle, ze::DeviceHandle, const ze::QueueDesc*, ze::QueueHandle*))             \
  REQ(zeCommandQueueDestroy, (ze::QueueHandle))                                                  \
  REQ(zeCommandQueueExecuteCommandLists,                                                         \
      (ze::QueueHandle, uint32_t, ze::ListHandle*, ze::FenceHandle))                             \
  REQ(zeCommandQueueSynchronize, (ze::QueueHandle, uint64_t))                                    \
  REQ(zeFenceCreate, (ze::QueueHandle, const ze::FlagsDesc*, ze::FenceHandle*))                  \
  REQ(zeFenceDestroy, (ze::FenceHandle))                                                         \
  REQ(zeFenceHostSynchronize, (ze::FenceHandle, uint64_t))                                       \
  REQ(zeFenceReset, (ze::FenceHandle))                                                           \
  REQ(zeCommandListCreate,                                                                       \
      (ze::ContextHandle, ze::DeviceHandle, const ze::ListDesc*, ze::ListHandle*))               \
  REQ(zeCommandListCreateImmediate,                                                              \
      (ze::ContextHandle, ze::DeviceHandle, const ze::QueueDesc*, ze::ListHandle*))              \
  REQ(zeCommandListDestroy, (ze::ListHandle))                                                    \
  REQ(zeCommandListClose, (ze::ListHandle))                                                      \
  REQ(zeCommandListReset, (ze::ListHandle))                                                      \
  REQ(zeCommandListAppendBarrier, (ze::ListHandle, ze::EventHandle, uint32_t, ze::EventHandle*)) \
  REQ(zeCommandListAppendMemoryCopy,                                                             \
      (ze::ListHandle, void*, const void*, size_t, ze::EventHandle, uint32_t, ze::EventHandle*)) \
  REQ(zeCommandListAppendMemoryFill, (ze::ListHandle, void*, const void*, size_t, size_t,        \
                                      ze::EventHandle, uint32_t, ze::EventHandle*))              \
  REQ(zeCommandListAppendLaunchKernel, (ze::ListHandle, ze::KernelHandle, const ze::GroupCount*, \
                                        ze::EventHandle, uint32_t, ze::EventHandle*))            \
  REQ(zeModuleCreate, (ze::ContextHandle, ze::DeviceHandle, const ze::ModuleDesc*,               \
                       ze::ModuleHandle*, ze::LogHandle*))                                       \
  REQ(zeModuleDestroy, (ze::ModuleHandle))                                                       \
  REQ(zeModuleBuildLogGetString, (ze::LogHandle, size_t*, char*))                                \
  REQ(zeModuleBuildLogDestroy, (ze::LogHandle))                                                  \
  REQ(zeModuleGetNativeBinary, (ze::ModuleHandle, size_t*, uint8_t*))                            \
  REQ(zeKernelCreate, (ze::ModuleHandle, const ze::KernelDesc*, ze::KernelHandle*))              \
  REQ(zeKernelDestroy, (ze::KernelHandle))                                                       \
  REQ(zeKernelSetGroupSize, (ze::KernelHandle, uint32_t, uint32_t, uint32_t))                    \
  REQ(zeKernelSetArgumentValue, (ze::KernelHandle, uint32_t, size_t, const void*))               \
  REQ(zeEventPoolCreate,                                                                         \
      (ze::ContextHandle, const ze::PoolDesc*, uint32_t, ze::DeviceHandle*, ze::PoolHandle*))    \
  REQ(zeEventPoolDestroy, (ze::PoolHandle))                                                      \
  REQ(zeEventCreate, (ze::PoolHandle, const ze::EventDesc*, ze::EventHandle*))                   \
  REQ(zeEventDestroy, (ze::EventHandle))                                                         \
  REQ(zeEventHostReset, (ze::EventHandle))                                                       \
  REQ(zeEventQueryKernelTimestamp, (ze::EventHandle, ze::TimestampResult*))                      \
  OPT(zeInitDrivers, (uint32_t*, ze::DriverHandle*, const ze::InitDriverTypeDesc*))              \
  OPT(zeDriverGetExtensionFunctionAddress, (ze::DriverHandle, const char*, void**))              \
  OPT(zeDeviceGetGlobalTimestamps, (ze::DeviceHandle, uint64_t*, uint64_t*))

#define OST_ZE_DECLARE(name, arguments) ze::Result(*name) arguments = nullptr;

// `missing` says why there is no loader; it is empty where there is one.
struct Api {
  OST_ZE_FUNCTIONS(OST_ZE_DECLARE, OST_ZE_DECLARE)
  std::string path, missing;
};
#undef OST_ZE_DECLARE

// `library`: the file to open, or "" for the system's libze_loader.so.1. It is never closed.
Api load_api(const std::string& library);

std::string result_text(ze::Result code);  // "0x70000001 (ZE_RESULT_ERROR_DEVICE_LOST)"
ost::plugin::Failure failure_of(ze::Result code, const char* call);

// Throws what the code means. For calls that need no device that is open.
inline void check(ze::Result code, const char* call) {
  if (code != ze::kSuccess) throw failure_of(code, call);
}

// A struct with its head set and zeros behind it.
template <class T>
T typed(ze::Type type, const void* next = nullptr) {
  T out{};
  out.type = type;
  out.next = next;
  return out;
}

}  // namespace levelzero
