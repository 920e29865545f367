// The plugin's own prototypes and numbers of HIP against the headers of one (Debian's libamdhip64-dev).
// All of it is looked at by the compiler.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <cstddef>
#include <type_traits>

#include "plugins/hip/api.hpp"

namespace {

// The plugin calls an enumeration int, a handle a pointer to a struct of its own, and a struct by
// the same layout: what a call passes is the same.
template <class Theirs, class Ours>
constexpr bool same_value() {
  if constexpr (std::is_same_v<Theirs, Ours>) {
    return true;
  } else if constexpr (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours>) {
    using A = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    using B = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    if constexpr (std::is_pointer_v<A> || std::is_enum_v<A> || std::is_arithmetic_v<A> ||
                  std::is_void_v<A>)
      return same_value<A, B>() || std::is_void_v<A> || std::is_void_v<B>;
    else
      return std::is_class_v<A> && (std::is_class_v<B> || std::is_void_v<B>);
  } else {
    return sizeof(Theirs) == sizeof(Ours) &&
           (std::is_enum_v<Theirs> || std::is_integral_v<Theirs>) && std::is_integral_v<Ours>;
  }
}

template <class Theirs, class Ours>
struct Same : std::false_type {};
template <class R, class... A, class Q, class... B>
struct Same<R (*)(A...), Q (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return same_value<R, Q>() && (same_value<A, B>() && ...);
  }();
};

// It does say no.
static_assert(!Same<int (*)(int), int (*)(int, int)>::value);
static_assert(!Same<int (*)(int), int (*)(size_t)>::value);
static_assert(!Same<int (*)(int), int (*)(int*)>::value);
static_assert(!Same<int (*)(int*), int (*)(size_t*)>::value);

#define OST_NOTHING(name, result, arguments)
#define OST_SAME(name, result, arguments) \
  static_assert(Same<decltype(&::name), result(*) arguments>::value, #name);
// hipGetDevicePropertiesR0600 is HIP 6's.
#define hipGetDevicePropertiesR0600 hipGetDeviceProperties
// The header overloads this one for C++; the cast finds the function of the library.
using MallocAsync = hipError_t (*)(void**, size_t, hipStream_t);
static_assert(std::is_same_v<MallocAsync, decltype(static_cast<MallocAsync>(&::hipMallocAsync))>);
}  // namespace
std::remove_pointer_t<MallocAsync> c_malloc_async;
namespace {
#define hipMallocAsync c_malloc_async
namespace hip_functions {
using namespace hip;
OST_HIP_FUNCTIONS(OST_SAME, OST_SAME)
OST_HIPRTC_FUNCTIONS(OST_SAME, OST_SAME)
}  // namespace hip_functions

static_assert(hipSuccess == int{hip::kSuccess} && hipErrorOutOfMemory == int{hip::kOutOfMemory});
static_assert(hipErrorNoDevice == int{hip::kNoDevice});
static_assert(hipErrorInvalidDevice == int{hip::kInvalidDevice});
static_assert(hipErrorHostMemoryAlreadyRegistered == int{hip::kAlreadyRegistered});
static_assert(hipErrorInvalidImage == 200 && hipErrorNoBinaryForGpu == 209);
static_assert(hipErrorECCNotCorrectable == 214 && hipErrorIllegalAddress == 700);
static_assert(hipErrorContextIsDestroyed == 709 && hipErrorAssert == 710);
static_assert(hipErrorLaunchFailure == 719);
static_assert(hipMemcpyDefault == int{hip::kMemcpyDefault});
static_assert(hipStreamNonBlocking == hip::kStreamNonBlocking);
static_assert(hipMemAttachGlobal == hip::kAttachGlobal);
static_assert(hipHostRegisterMapped == hip::kRegisterMapped);
static_assert(hipStreamCaptureModeRelaxed == int{hip::kCaptureRelaxed});
static_assert(hipMemPoolAttrReleaseThreshold == int{hip::kPoolReleaseThreshold});

#define OST_ATTRIBUTE(theirs, ours) \
  static_assert(int{hipDeviceAttribute##theirs} == static_cast<int>(hip::Attribute::ours));
OST_ATTRIBUTE(ConcurrentManagedAccess, kConcurrentManagedAccess)
OST_ATTRIBUTE(ManagedMemory, kManagedMemory)
OST_ATTRIBUTE(MaxThreadsPerBlock, kMaxThreadsPerBlock)
OST_ATTRIBUTE(MultiprocessorCount, kMultiprocessors)
OST_ATTRIBUTE(MaxSharedMemoryPerBlock, kSharedMemoryPerBlock)
OST_ATTRIBUTE(WarpSize, kWarpSize)
OST_ATTRIBUTE(MemoryPoolsSupported, kMemoryPools)

using Theirs = hipKernelNodeParams;
using Ours = hip::KernelNodeParams;
static_assert(sizeof(Theirs) == sizeof(Ours));
static_assert(offsetof(Theirs, blockDim) == offsetof(Ours, block));
static_assert(offsetof(Theirs, extra) == offsetof(Ours, extra));
static_assert(offsetof(Theirs, func) == offsetof(Ours, function));
static_assert(offsetof(Theirs, gridDim) == offsetof(Ours, grid));
static_assert(offsetof(Theirs, kernelParams) == offsetof(Ours, arguments));
static_assert(offsetof(Theirs, sharedMemBytes) == offsetof(Ours, shared_bytes));

// The older layout of the properties of a device.
static_assert(HIP_VERSION_MAJOR > 5 || offsetof(hipDeviceProp_t, gcnArchName) == 396);

}  // namespace
