// Settings, errors, and what the device says about itself.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "standin.hpp"

namespace standin {
namespace {

std::string text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}
uint64_t number(const char* name, uint64_t otherwise) {
  return std::strtoull(text(name, std::to_string(otherwise).c_str()).c_str(), nullptr, 0);
}

std::atomic<int> sticky_error{kSuccess};
std::mutex calls_mutex;
std::map<std::string, unsigned long, std::less<>> calls;  // those of `entered`

// "CALL:N:ERROR"; N 0 is every call
Error injected(const char* call) {
  static std::atomic<uint64_t> seen{0};
  const std::string& spec = settings().fail;
  const size_t first = spec.find(':'), second = spec.find(':', first + 1);
  if (second == std::string::npos || spec.compare(0, first, call) != 0) return kSuccess;
  const uint64_t wanted = std::strtoull(spec.c_str() + first + 1, nullptr, 10);
  if (wanted != 0 && ++seen != wanted) return kSuccess;
  return static_cast<Error>(std::atoi(spec.c_str() + second + 1));
}

thread_local int device_now = 0;

bool has_device(int device) { return device >= 0 && device < settings().devices; }

Error write_properties(void* out, int device, size_t arch_at) {
  if (out == nullptr) return kInvalidValue;
  if (!has_device(device)) return kInvalidDevice;
  std::memset(out, 0, arch_at + 256);
  std::snprintf(static_cast<char*>(out) + arch_at, 256, "%s", settings().arch.c_str());
  return kSuccess;
}

}  // namespace

const Settings& settings() {
  static const Settings all{static_cast<int>(number("OST_STANDIN_DEVICES", 1)),
                            text("OST_STANDIN_ARCH", "gfx000"),
                            static_cast<unsigned>(number("OST_STANDIN_WAVE", 64)),
                            number("OST_STANDIN_REVERSE", 0) != 0,
                            number("OST_STANDIN_MEMORY", uint64_t{2} << 30),
                            text("OST_STANDIN_CXX", OST_STANDIN_DEFAULT_CXX),
                            text("OST_STANDIN_FAIL", "")};
  return all;
}

int current_device() { return device_now; }

Error sticky() { return static_cast<Error>(sticky_error.load()); }

Error entered(const char* call) {
  {
    const std::scoped_lock lock(calls_mutex);
    ++calls[call];
  }
  if (settings().devices < 1) return kNoDevice;
  if (const Error asked = injected(call)) {
    if (asked >= kIllegalAddress) fault(asked, std::string(call) + " fails as it was asked to");
    return asked;
  }
  return sticky();
}

void fault(Error error, const std::string& what) {
  int none = kSuccess;
  if (sticky_error.compare_exchange_strong(none, error))
    std::fprintf(stderr, "hip stand-in: %s\n", what.c_str());
}

}  // namespace standin

using namespace standin;

// For tests: how often a function was called.
STANDIN_API unsigned long standin_calls(const char* call) {
  const std::scoped_lock lock(calls_mutex);
  const auto it = calls.find(call);
  return it == calls.end() ? 0 : it->second;
}

STANDIN_API int hipInit(unsigned) { return entered("hipInit"); }
STANDIN_API int hipGetDeviceCount(int* out) {
  if (out == nullptr) return kInvalidValue;
  *out = settings().devices;
  return entered("hipGetDeviceCount");
}
STANDIN_API int hipSetDevice(int device) {
  if (const Error e = entered("hipSetDevice")) return e;
  if (!has_device(device)) return kInvalidDevice;
  device_now = device;
  return kSuccess;
}
STANDIN_API int hipDeviceCanAccessPeer(int* out, int device, int peer) {
  if (!has_device(device) || !has_device(peer)) return kInvalidDevice;
  *out = 0;
  return kSuccess;
}
STANDIN_API int hipRuntimeGetVersion(int* out) {
  *out = 1;
  return kSuccess;
}
STANDIN_API int hipDeviceGetName(char* out, int size, int device) {
  if (!has_device(device)) return kInvalidDevice;
  std::snprintf(out, static_cast<size_t>(size), "hip stand-in %d", device);
  return kSuccess;
}
STANDIN_API int hipDeviceTotalMem(size_t* out, int device) {
  if (!has_device(device)) return kInvalidDevice;
  *out = settings().memory;
  return kSuccess;
}
STANDIN_API int hipDeviceGetAttribute(int* out, int attribute, int device) {
  if (!has_device(device)) return kInvalidDevice;
  switch (attribute) {
    case 9:   // the host uses managed memory while kernels run
    case 24:  // managed memory
    case 88:  // memory pools
      *out = 1;
      return kSuccess;
    case 56:  // threads of a block
      *out = static_cast<int>(kMaxLanes);
      return kSuccess;
    case 63:  // multiprocessors
      *out = 1;
      return kSuccess;
    case 74:  // shared memory of a block
      *out = static_cast<int>(kMaxShared);
      return kSuccess;
    case 87:  // lanes of a wave
      *out = static_cast<int>(settings().wave);
      return kSuccess;
    default:
      return kInvalidValue;
  }
}
// The layouts of HIP 5 and of HIP 6 and 7.
STANDIN_API int hipGetDeviceProperties(void* out, int device) {
  return write_properties(out, device, 396);
}
STANDIN_API int hipGetDevicePropertiesR0600(void* out, int device) {
  return write_properties(out, device, 1160);
}
STANDIN_API const char* hipGetErrorName(int error) {
  switch (error) {
    case kSuccess:
      return "hipSuccess";
    case kInvalidValue:
      return "hipErrorInvalidValue";
    case kOutOfMemory:
      return "hipErrorOutOfMemory";
    case kNoDevice:
      return "hipErrorNoDevice";
    case kInvalidDevice:
      return "hipErrorInvalidDevice";
    case kInvalidImage:
      return "hipErrorInvalidImage";
    case kInvalidHandle:
      return "hipErrorInvalidHandle";
    case kNotFound:
      return "hipErrorNotFound";
    case kNotReady:
      return "hipErrorNotReady";
    case kIllegalAddress:
      return "hipErrorIllegalAddress";
    case kLaunchOutOfResources:
      return "hipErrorLaunchOutOfResources";
    case kLaunchFailure:
      return "hipErrorLaunchFailure";
    case kAlreadyRegistered:
      return "hipErrorHostMemoryAlreadyRegistered";
    case kCaptureUnsupported:
      return "hipErrorStreamCaptureUnsupported";
    case kCaptureInvalidated:
      return "hipErrorStreamCaptureInvalidated";
    default:
      return "hipErrorUnknown";
  }
}
