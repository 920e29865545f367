// The entry points of HIP and hipRTC that this driver calls, by its own prototypes: no header of
// HIP is needed, and one plugin serves the majors 5, 6 and 7, whose signatures and enumerators are
// the same. Structs whose layout differs between them are not used.
#pragma once

#include <ostinato/plugin.hpp>
#include <string>

namespace hip {

using ost::plugin::fail;

using Error = int;  // hipError_t
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;
using GraphNode = struct OpaqueGraphNode*;
using Pool = struct OpaquePool*;
using RtcError = int;  // hiprtcResult
using RtcProgram = struct OpaqueRtcProgram*;

constexpr Error kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101;
constexpr Error kAlreadyRegistered = 712;
constexpr int kMemcpyDefault = 4;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kAttachGlobal = 1, kRegisterMapped = 2;
constexpr int kCaptureRelaxed = 2;
constexpr int kPoolReleaseThreshold = 4;

struct Dim3 {
  unsigned x, y, z;
};
// hipKernelNodeParams
struct KernelNodeParams {
  Dim3 block;
  void** extra;
  void* function;
  Dim3 grid;
  void** arguments;
  unsigned shared_bytes;
};

// hipDeviceAttribute_t.
enum class Attribute : int {
  kConcurrentManagedAccess = 9,
  kManagedMemory = 24,
  kMaxThreadsPerBlock = 56,
  kMultiprocessors = 63,
  kSharedMemoryPerBlock = 74,
  kWarpSize = 87,
  kMemoryPools = 88
};

// name, result, arguments. OPT: a feature is off where it is absent.
#define OST_HIP_FUNCTIONS(REQ, OPT)                                                            \
  REQ(hipInit, Error, (unsigned))                                                              \
  REQ(hipGetDeviceCount, Error, (int*))                                                        \
  REQ(hipSetDevice, Error, (int))                                                              \
  REQ(hipDeviceGetAttribute, Error, (int*, int, int))                                          \
  REQ(hipDeviceGetName, Error, (char*, int, int))                                              \
  REQ(hipDeviceTotalMem, Error, (size_t*, int))                                                \
  REQ(hipMalloc, Error, (void**, size_t))                                                      \
  REQ(hipFree, Error, (void*))                                                                 \
  REQ(hipMemcpyAsync, Error, (void*, const void*, size_t, int, Stream))                        \
  REQ(hipMemsetAsync, Error, (void*, int, size_t, Stream))                                     \
  REQ(hipStreamCreateWithFlags, Error, (Stream*, unsigned))                                    \
  REQ(hipStreamDestroy, Error, (Stream))                                                       \
  REQ(hipStreamSynchronize, Error, (Stream))                                                   \
  REQ(hipModuleLoadData, Error, (Module*, const void*))                                        \
  REQ(hipModuleUnload, Error, (Module))                                                        \
  REQ(hipModuleGetFunction, Error, (Function*, Module, const char*))                           \
  REQ(hipModuleLaunchKernel, Error,                                                            \
      (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
       void**, void**))                                                                        \
  OPT(hipRuntimeGetVersion, Error, (int*))                                                     \
  OPT(hipGetErrorName, const char*, (Error))                                                   \
  OPT(hipGetDevicePropertiesR0600, Error, (void*, int))                                        \
  OPT(hipGetDeviceProperties, Error, (void*, int))                                             \
  OPT(hipHostMalloc, Error, (void**, size_t, unsigned))                                        \
  OPT(hipHostFree, Error, (void*))                                                             \
  OPT(hipMemsetD16Async, Error, (void*, unsigned short, size_t, Stream))                       \
  OPT(hipMemsetD32Async, Error, (void*, int, size_t, Stream))                                  \
  OPT(hipEventCreate, Error, (Event*))                                                         \
  OPT(hipEventDestroy, Error, (Event))                                                         \
  OPT(hipEventRecord, Error, (Event, Stream))                                                  \
  OPT(hipEventSynchronize, Error, (Event))                                                     \
  OPT(hipEventElapsedTime, Error, (float*, Event, Event))                                      \
  OPT(hipMallocManaged, Error, (void**, size_t, unsigned))                                     \
  OPT(hipHostRegister, Error, (void*, size_t, unsigned))                                       \
  OPT(hipHostUnregister, Error, (void*))                                                       \
  OPT(hipHostGetDevicePointer, Error, (void**, void*, unsigned))                               \
  OPT(hipMallocAsync, Error, (void**, size_t, Stream))                                         \
  OPT(hipFreeAsync, Error, (void*, Stream))                                                    \
  OPT(hipDeviceGetDefaultMemPool, Error, (Pool*, int))                                         \
  OPT(hipMemPoolSetAttribute, Error, (Pool, int, void*))                                       \
  OPT(hipDeviceCanAccessPeer, Error, (int*, int, int))                                         \
  OPT(hipMemcpyPeerAsync, Error, (void*, int, const void*, int, size_t, Stream))               \
  OPT(hipStreamBeginCapture, Error, (Stream, int))                                             \
  OPT(hipStreamEndCapture, Error, (Stream, Graph*))                                            \
  OPT(hipStreamGetCaptureInfo_v2, Error,                                                       \
      (Stream, int*, unsigned long long*, Graph*, const GraphNode**, size_t*))                 \
  OPT(hipGraphInstantiate, Error, (GraphExec*, Graph, GraphNode*, char*, size_t))              \
  OPT(hipGraphLaunch, Error, (GraphExec, Stream))                                              \
  OPT(hipGraphDestroy, Error, (Graph))                                                         \
  OPT(hipGraphExecDestroy, Error, (GraphExec))                                                 \
  OPT(hipGraphKernelNodeGetParams, Error, (GraphNode, KernelNodeParams*))                      \
  OPT(hipGraphExecKernelNodeSetParams, Error, (GraphExec, GraphNode, const KernelNodeParams*)) \
  OPT(hipGraphExecMemcpyNodeSetParams1D, Error,                                                \
      (GraphExec, GraphNode, void*, const void*, size_t, int))

#define OST_HIPRTC_FUNCTIONS(REQ, OPT)                                                      \
  REQ(hiprtcVersion, RtcError, (int*, int*))                                                \
  REQ(hiprtcCreateProgram, RtcError,                                                        \
      (RtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  REQ(hiprtcDestroyProgram, RtcError, (RtcProgram*))                                        \
  REQ(hiprtcCompileProgram, RtcError, (RtcProgram, int, const char* const*))                \
  REQ(hiprtcGetProgramLogSize, RtcError, (RtcProgram, size_t*))                             \
  REQ(hiprtcGetProgramLog, RtcError, (RtcProgram, char*))                                   \
  REQ(hiprtcGetCodeSize, RtcError, (RtcProgram, size_t*))                                   \
  REQ(hiprtcGetCode, RtcError, (RtcProgram, char*))

#define OST_HIP_DECLARE(name, result, arguments) result(*name) arguments = nullptr;

// What lists the architectures of AMD's compiler: in its own library, which hipRTC opens when it
// compiles, or in hipRTC's.
struct ComgrApi {
  int (*amd_comgr_get_isa_count)(size_t*) = nullptr;
  int (*amd_comgr_get_isa_name)(size_t, const char**) = nullptr;
  bool find_in(void* library);
  bool is_there() const { return amd_comgr_get_isa_name != nullptr; }
};

// The libraries that were found. `missing` says why there is no runtime, `rtc_missing` why there is
// no compiler; both are empty where there is one.
struct Api {
  OST_HIP_FUNCTIONS(OST_HIP_DECLARE, OST_HIP_DECLARE)
  OST_HIPRTC_FUNCTIONS(OST_HIP_DECLARE, OST_HIP_DECLARE)
  ComgrApi comgr;
  std::string path, missing, rtc_missing;

  bool has_pinned_memory() const { return hipHostMalloc != nullptr && hipHostFree != nullptr; }
  bool has_events() const {
    return hipEventCreate != nullptr && hipEventDestroy != nullptr && hipEventRecord != nullptr &&
           hipEventSynchronize != nullptr && hipEventElapsedTime != nullptr;
  }
  bool has_import() const {
    return hipHostRegister != nullptr && hipHostUnregister != nullptr &&
           hipHostGetDevicePointer != nullptr;
  }
  bool has_pool() const {
    return hipMallocAsync != nullptr && hipFreeAsync != nullptr &&
           hipDeviceGetDefaultMemPool != nullptr && hipMemPoolSetAttribute != nullptr;
  }
  // What only copies need, hipGraphExecMemcpyNodeSetParams1D, may be absent.
  bool has_graphs() const {
    return hipStreamBeginCapture != nullptr && hipStreamEndCapture != nullptr &&
           hipStreamGetCaptureInfo_v2 != nullptr && hipGraphInstantiate != nullptr &&
           hipGraphLaunch != nullptr && hipGraphDestroy != nullptr &&
           hipGraphExecDestroy != nullptr && hipGraphKernelNodeGetParams != nullptr &&
           hipGraphExecKernelNodeSetParams != nullptr;
  }
  int version() const;  // of HIP: 52 is 5.2; 0 if unknown
  std::string name_of(Error code) const;
  void check(Error code, const char* call) const;  // throws what the code means
};
#undef OST_HIP_DECLARE

// `runtime` and `rtc`: the files to open, or "" for those of the system: the newest major version
// first, and the compiler of the same major as the runtime. Libraries are never closed.
Api load_api(const std::string& runtime, const std::string& rtc);

}  // namespace hip
