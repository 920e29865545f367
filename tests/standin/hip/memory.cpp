// Memory of the device and pinned memory: between red zones, poisoned when it is new.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "standin.hpp"

namespace standin {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kZone =
    1024;  // before the range; behind it up to the end of its page and one more
constexpr unsigned char kZoneByte = 0xa5;
constexpr size_t kPoisoned = 1u << 20;  // of a larger range only this much

// base: no access | page with the red zone | range, red zone | no access
struct Range {
  size_t bytes, tail, mapped;
  char* base;  // null: memory of the caller's
  Side side;
  int device;
};
std::mutex mutex;
std::map<const char*, Range> ranges;
std::map<int, uint64_t> used;  // by device

size_t round_up(size_t n) { return (n + kPage - 1) / kPage * kPage; }

// With the lock.
auto find(const void* pointer) {
  auto it = ranges.upper_bound(static_cast<const char*>(pointer));
  if (it == ranges.begin()) return ranges.end();
  --it;
  return static_cast<const char*>(pointer) <= it->first + it->second.bytes ? it : ranges.end();
}

bool intact(const char* start, const Range& range) {
  if (range.base == nullptr) return true;
  const auto zone = [](char c) { return static_cast<unsigned char>(c) == kZoneByte; };
  return std::all_of(start - kZone, start, zone) &&
         std::all_of(start + range.bytes, start + range.bytes + range.tail, zone);
}

}  // namespace

Error allocate(void** out, size_t bytes, Side side) {
  if (out == nullptr || bytes == 0) return kInvalidValue;
  *out = nullptr;
  const std::scoped_lock lock(mutex);
  if (bytes > settings().memory ||
      (side == Side::kDevice && used[current_device()] + bytes > settings().memory))
    return kOutOfMemory;
  const size_t body = round_up(bytes) + (round_up(bytes) - bytes < kZone ? kPage : 0);
  const size_t mapped = 2 * kPage + body + kPage;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  char* base = static_cast<char*>(memory);
  char* start = base + 2 * kPage;
  const Range range{bytes, body - bytes, mapped, base, side, current_device()};
  std::memset(start - kZone, kZoneByte, kZone);
  std::memset(start, 0xff, std::min(bytes, kPoisoned));
  std::memset(start + bytes, kZoneByte, range.tail);
  mprotect(base, kPage, PROT_NONE);
  mprotect(base + mapped - kPage, kPage, PROT_NONE);
  ranges.emplace(start, range);
  if (side == Side::kDevice) used[range.device] += bytes;
  *out = start;
  return kSuccess;
}

Error release(void* pointer, Side side) {
  if (pointer == nullptr) return kSuccess;
  const std::scoped_lock lock(mutex);
  const auto it = ranges.find(static_cast<char*>(pointer));
  if (it == ranges.end() || it->second.side != side) return kInvalidValue;
  if (!intact(it->first, it->second))
    fault(kIllegalAddress,
          "a write outside of a range of " + std::to_string(it->second.bytes) + " bytes");
  munmap(it->second.base, it->second.mapped);
  if (side == Side::kDevice) used[it->second.device] -= it->second.bytes;
  ranges.erase(it);
  return kSuccess;
}

Side side_of(const void* pointer, size_t bytes, bool& crosses) {
  crosses = false;
  const std::scoped_lock lock(mutex);
  const auto it = find(pointer);
  if (it == ranges.end()) return Side::kNowhere;
  crosses =
      bytes > it->second.bytes - static_cast<size_t>(static_cast<const char*>(pointer) - it->first);
  return it->second.side;
}

bool reaches(int device, const void* pointer) {
  const std::scoped_lock lock(mutex);
  const auto it = find(pointer);
  return it != ranges.end() && (it->second.side != Side::kDevice || it->second.device == device);
}

bool zones_intact(const void* pointer) {
  const std::scoped_lock lock(mutex);
  const auto it = find(pointer);
  return it == ranges.end() || intact(it->first, it->second);
}

}  // namespace standin

using namespace standin;

STANDIN_API int hipMalloc(void** out, size_t bytes) {
  if (const Error e = entered("hipMalloc")) return e;
  return allocate(out, bytes, Side::kDevice);
}
STANDIN_API int hipFree(void* pointer) {
  drain_all();
  bool crosses;
  const bool managed = side_of(pointer, 0, crosses) == Side::kManaged;
  return release(pointer, managed ? Side::kManaged : Side::kDevice);
}
STANDIN_API int hipMallocManaged(void** out, size_t bytes, unsigned flags) {
  if (const Error e = entered("hipMallocManaged")) return e;
  return flags == 1 ? allocate(out, bytes, Side::kManaged) : kInvalidValue;
}

// Memory in the order of a stream: it may be used when the stream has come there.
STANDIN_API int hipMallocAsync(void** out, size_t bytes, void* stream) {
  if (const Error e = entered("hipMallocAsync")) return e;
  if (const Error e = allocate(out, bytes, Side::kDevice)) return e;
  return enqueue(stream, [] {});
}
STANDIN_API int hipFreeAsync(void* pointer, void* stream) {
  if (const Error e = entered("hipFreeAsync")) return e;
  return enqueue(stream, [=] { release(pointer, Side::kDevice); });
}
STANDIN_API int hipDeviceGetDefaultMemPool(void** out, int) {
  static int pool;
  *out = &pool;
  return entered("hipDeviceGetDefaultMemPool");
}
STANDIN_API int hipMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return pool != nullptr && attribute == 4 && value != nullptr ? kSuccess : kInvalidValue;
}

// Memory of the caller's, which has no zones.
STANDIN_API int hipHostRegister(void* pointer, size_t bytes, unsigned) {
  if (const Error e = entered("hipHostRegister")) return e;
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  const std::scoped_lock lock(mutex);
  const char* start = static_cast<char*>(pointer);
  const auto next = ranges.upper_bound(start + bytes - 1);
  if (next != ranges.begin()) {
    const auto& [other, range] = *std::prev(next);
    if (start < other + range.bytes) return kAlreadyRegistered;
  }
  ranges.emplace(start, Range{bytes, 0, 0, nullptr, Side::kRegistered, current_device()});
  return kSuccess;
}
STANDIN_API int hipHostUnregister(void* pointer) {
  drain_all();
  const std::scoped_lock lock(mutex);
  const auto it = ranges.find(static_cast<char*>(pointer));
  if (it == ranges.end() || it->second.side != Side::kRegistered) return kInvalidValue;
  ranges.erase(it);
  return kSuccess;
}
STANDIN_API int hipHostGetDevicePointer(void** out, void* pointer, unsigned) {
  bool crosses;
  const Side side = side_of(pointer, 0, crosses);
  if (side != Side::kRegistered && side != Side::kPinned) return kInvalidValue;
  *out = pointer;
  return entered("hipHostGetDevicePointer");
}
STANDIN_API int hipHostMalloc(void** out, size_t bytes, unsigned) {
  if (const Error e = entered("hipHostMalloc")) return e;
  return allocate(out, bytes, Side::kPinned);
}
STANDIN_API int hipHostFree(void* pointer) {
  drain_all();
  return release(pointer, Side::kPinned);
}

// Kinds: 0 host to host, 1 to device, 2 from device, 3 in the device, 4 whatever the pointers say.
STANDIN_API int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  if (const Error e = entered("hipMemcpyAsync")) return e;
  if (kind < 0 || kind > 4 || to == nullptr || from == nullptr) return kInvalidValue;
  bool to_crosses, from_crosses;
  const Side to_side = side_of(to, bytes, to_crosses),
             from_side = side_of(from, bytes, from_crosses);
  if (to_crosses || from_crosses) return kInvalidValue;
  if ((kind == 1 || kind == 3) && to_side != Side::kDevice) return kInvalidValue;
  if ((kind == 2 || kind == 3) && from_side != Side::kDevice) return kInvalidValue;
  Node node{.type = Node::kMemcpy};
  node.task = [=] { std::memcpy(to, from, bytes); };
  return give(stream, std::move(node));
}
STANDIN_API int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                   size_t bytes, void* stream) {
  if (!reaches(to_device, to) || !reaches(from_device, from)) return kInvalidValue;
  return hipMemcpyAsync(to, from, bytes, 4, stream);
}

template <class T>
static int set(const char* call, void* to, T value, size_t count, void* stream) {
  if (const Error e = entered(call)) return e;
  bool crosses;
  if (side_of(to, count * sizeof(T), crosses) == Side::kNowhere || crosses) return kInvalidValue;
  if (reinterpret_cast<uintptr_t>(to) % sizeof(T) != 0) return kInvalidValue;
  Node node{.type = Node::kMemset};
  node.task = [=] { std::fill_n(static_cast<T*>(to), count, value); };
  return give(stream, std::move(node));
}
STANDIN_API int hipMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  return set("hipMemsetAsync", to, static_cast<unsigned char>(value), bytes, stream);
}
STANDIN_API int hipMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
  return set("hipMemsetD16Async", to, value, count, stream);
}
STANDIN_API int hipMemsetD32Async(void* to, int value, size_t count, void* stream) {
  return set("hipMemsetD32Async", to, value, count, stream);
}
