// A stand-in for AMD's HIP runtime and hipRTC: the same C API, kernels run on the host's processor.
// It exists to execute the hip driver where there is no AMD GPU; README.md has its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#define STANDIN_API extern "C" __attribute__((visibility("default")))

namespace standin {

// hipError_t
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kAlreadyRegistered = 712,
  kLaunchFailure = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901
};

// --- settings, from the environment, read at the first use
struct Settings {
  int devices;           // OST_STANDIN_DEVICES, 1
  std::string arch;      // OST_STANDIN_ARCH, gfx000
  unsigned wave;         // OST_STANDIN_WAVE, 64
  bool reverse;          // OST_STANDIN_REVERSE: lanes and groups run from last to first
  uint64_t memory;       // OST_STANDIN_MEMORY, bytes, 2 GiB
  std::string compiler;  // OST_STANDIN_CXX, the compiler that built this
  std::string fail;      // OST_STANDIN_FAIL, "hipMalloc:3:2": the third call gives error 2
};
const Settings& settings();
constexpr unsigned kMaxLanes = 1024;
constexpr size_t kMaxShared = 65536;

// The error of this call that the settings ask for, the sticky error of the device, or kSuccess.
Error entered(const char* call);
// A fault of a kernel: said on stderr once, and from then on the result of every call, as on a GPU.
void fault(Error error, const std::string& what);
Error sticky();

// The current device of this thread.
int current_device();

// --- memory: red zones around each range, new memory is 0xff, which is a NaN in every format
enum class Side { kNowhere, kDevice, kPinned, kManaged, kRegistered };
Error allocate(void** out, size_t bytes, Side side);
Error release(void* pointer, Side side);
// Which memory [pointer, pointer + bytes) is in; `crosses`: it leaves the range that it begins in.
Side side_of(const void* pointer, size_t bytes, bool& crosses);
// Whether kernels of the device may use it: memory of this device, or any that the host has, too.
bool reaches(int device, const void* pointer);
// Whether the red zones of the range that holds the pointer are as they were.
bool zones_intact(const void* pointer);

// --- what the prelude of kernels has, too: dimensions
struct Dim {
  unsigned x, y, z;
};

// --- streams: a thread each, which runs what it is given in order
using Task = std::function<void()>;
Error enqueue(void* stream, Task task);
void drain_all();
int device_of(void* stream);

// --- graphs: a call on a stream that captures becomes a node, and is not done
struct Node {
  enum Type { kKernel = 0, kMemcpy = 1, kMemset = 2 } type;
  void* function = nullptr;  // of a kernel
  Dim block{};
  int device = 0;
  Task task = nullptr;
};
// Enqueues the task of the node, or captures it.
Error give(void* stream, Node node);
// Whether the stream captures; the call that asks has no node, and ends the capture.
bool capture_refuses(void* stream);
// What a launch does; `task` holds copies of the arguments.
Error make_launch(Node& out, void* function, Dim grid, Dim block, void** arguments);

// --- fibers: one lane each. Invariant: all of a group wait, or none does.
// Runs `lane(i)` for each i < count; wait() inside of one ends when all others have called it.
// Returns "" or what was wrong.
std::string run_lanes(unsigned count, bool reverse, const std::function<void(unsigned)>& before,
                      const std::function<void()>& lane);
void wait();

// --- what the prelude of kernels has, too
struct ModuleState {
  Dim thread, block, block_dim, grid_dim;
  void (*barrier)();
  char* shared_begin;
  char* shared_end;
};
struct KernelInfo {
  unsigned arguments;
  unsigned max_lanes;
  const unsigned char* kinds;
  void (*call)(void* const* arguments);
};

}  // namespace standin
