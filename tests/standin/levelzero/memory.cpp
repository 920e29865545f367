#include "memory.hpp"

#include <level_zero/ze_ddi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tables.hpp"

namespace standin {
namespace {

constexpr size_t kPage = 4096;
constexpr auto kZoneByte = std::byte{0xa5};
constexpr int kNewByte = 0xff;          // a NaN in every format
constexpr size_t kPoisoned = 1u << 20;  // of a larger range only this much
constexpr size_t kMostAlign = 1u << 21;

// Never destroyed.
struct State {
  std::mutex mutex;
  std::map<const std::byte*, Allocation> ranges;
  uint64_t next_id = 1, used = 0;
};
State& state() {
  static State* all = new State;
  return *all;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// With the lock: the range that holds the pointer, its end included, or null.
Allocation* find(const void* pointer) {
  auto& ranges = state().ranges;
  const auto* at = static_cast<const std::byte*>(pointer);
  auto it = ranges.upper_bound(at);
  if (it == ranges.begin()) return nullptr;
  --it;
  return at <= it->first + it->second.bytes ? &it->second : nullptr;
}

// base: no access | a page of red zone | range, red zone to the end of its pages and one page more |
// no access
bool intact(const Allocation& a) {
  if (a.base == nullptr) return true;
  const auto zone = [](std::byte b) { return b == kZoneByte; };
  const std::byte *front = a.base + kPage, *start = a.start, *end = a.base + a.mapped - kPage;
  return std::all_of(front, start, zone) && std::all_of(start + a.bytes, end, zone);
}

void protect(const Allocation& a, int how) {
  if (settings().guard && a.base != nullptr && a.type == ZE_MEMORY_TYPE_DEVICE)
    mprotect(a.base + kPage, a.mapped - 2 * kPage, how);
}

void* allocate(ze_memory_type_t type, size_t bytes, size_t align, Device* device, bool relaxed) {
  if (bytes == 0 || (bytes > settings().max_alloc && !relaxed))
    refuse(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, std::to_string(bytes) + " bytes");
  if ((align & (align - 1)) != 0 || align > kMostAlign)
    refuse(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "alignment " + std::to_string(align));
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  // Neither does a real driver say more of it than the code.
  if (bytes > settings().memory ||
      (type == ZE_MEMORY_TYPE_DEVICE && s.used + bytes > settings().memory))
    throw Refusal(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the memory is used up");
  const size_t front = std::max(kPage, align);
  const size_t mapped = kPage + front + round_up(bytes, kPage) + kPage + kPage + align;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory");
  auto* base = static_cast<std::byte*>(memory);
  const auto first = reinterpret_cast<uintptr_t>(base) + 2 * kPage;
  std::byte* start = base + (round_up(first, front) - reinterpret_cast<uintptr_t>(base));
  // What alignment took at the front and the back stays unmapped, so the red zones are small.
  std::byte* low = start - 2 * kPage;
  std::byte* high = start + round_up(bytes, kPage) + 2 * kPage;
  if (low > base) munmap(base, static_cast<size_t>(low - base));
  if (base + mapped > high) munmap(high, static_cast<size_t>(base + mapped - high));
  Allocation a{start, bytes, type, device, s.next_id++, low, static_cast<size_t>(high - low)};
  std::memset(low + kPage, static_cast<int>(kZoneByte), kPage);
  std::memset(start, kNewByte, std::min(bytes, kPoisoned));
  std::memset(start + bytes, static_cast<int>(kZoneByte),
              static_cast<size_t>(high - kPage - (start + bytes)));
  mprotect(low, kPage, PROT_NONE);
  mprotect(high - kPage, kPage, PROT_NONE);
  protect(a, PROT_NONE);
  if (type == ZE_MEMORY_TYPE_DEVICE) s.used += bytes;
  s.ranges.emplace(start, a);
  return start;
}

// Whether the program asks for more than maxMemAllocSize; anything else in the chain is unknown.
bool is_relaxed(const void* next) {
  if (next == nullptr) return false;
  const auto* desc = static_cast<const ze_relaxed_allocation_limits_exp_desc_t*>(next);
  need_desc(desc, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
  return (desc->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE) != 0;
}

// --- entries

ze_result_t alloc_device(ze_context_handle_t c, const ze_device_mem_alloc_desc_t* desc,
                         size_t bytes, size_t align, ze_device_handle_t d, void** out) {
  return device_entry("zeMemAllocDevice", [&] {
    of<Context>(c);
    need_desc(desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
    need(out, "the out-parameter");
    *out = allocate(ZE_MEMORY_TYPE_DEVICE, bytes, align, &of<Device>(d), is_relaxed(desc->pNext));
  });
}
ze_result_t alloc_host(ze_context_handle_t c, const ze_host_mem_alloc_desc_t* desc, size_t bytes,
                       size_t align, void** out) {
  return device_entry("zeMemAllocHost", [&] {
    of<Context>(c);
    need_desc(desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
    need(out, "the out-parameter");
    *out = allocate(ZE_MEMORY_TYPE_HOST, bytes, align, nullptr, is_relaxed(desc->pNext));
  });
}
ze_result_t alloc_shared(ze_context_handle_t c, const ze_device_mem_alloc_desc_t* desc,
                         const ze_host_mem_alloc_desc_t* host, size_t bytes, size_t align,
                         ze_device_handle_t d, void** out) {
  return device_entry("zeMemAllocShared", [&] {
    of<Context>(c);
    need_desc(desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
    need_desc(host, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
    need(out, "the out-parameter");
    *out = allocate(ZE_MEMORY_TYPE_SHARED, bytes, align, &of<Device>(d), is_relaxed(desc->pNext));
  });
}

ze_result_t mem_free(ze_context_handle_t c, void* pointer) {
  return entry("zeMemFree", [&] {
    of<Context>(c);
    need(pointer, "the memory");
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    const auto it = s.ranges.find(static_cast<std::byte*>(pointer));
    if (it == s.ranges.end() || it->second.base == nullptr)
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no allocation begins there");
    const Allocation a = it->second;
    if (a.uses > 0)
      refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "memory that work uses which has not ended");
    protect(a, PROT_READ | PROT_WRITE);
    const bool whole = intact(a);
    s.ranges.erase(it);
    munmap(a.base, a.mapped);
    if (a.type == ZE_MEMORY_TYPE_DEVICE) s.used -= a.bytes;
    if (!whole)
      lose_device("zeMemFree",
                  "a write outside of an allocation of " + std::to_string(a.bytes) + " bytes");
  });
}

ze_result_t alloc_properties(ze_context_handle_t c, const void* pointer,
                             ze_memory_allocation_properties_t* out, ze_device_handle_t* device) {
  return entry("zeMemGetAllocProperties", [&] {
    of<Context>(c);
    need_desc(out, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
    const std::scoped_lock lock(state().mutex);
    const Allocation* a = find(pointer);
    out->type = a != nullptr ? a->type : ZE_MEMORY_TYPE_UNKNOWN;
    out->id = a != nullptr ? a->id : 0;
    out->pageSize = a != nullptr ? kPage : 0;
    if (device != nullptr)
      *device = a != nullptr ? reinterpret_cast<ze_device_handle_t>(static_cast<Object*>(a->device))
                             : nullptr;
  });
}
ze_result_t address_range(ze_context_handle_t c, const void* pointer, void** base, size_t* bytes) {
  return entry("zeMemGetAddressRange", [&] {
    of<Context>(c);
    const std::scoped_lock lock(state().mutex);
    const Allocation* a = find(pointer);
    if (a == nullptr) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no allocation holds that");
    if (base != nullptr) *base = a->start;
    if (bytes != nullptr) *bytes = a->bytes;
  });
}

}  // namespace

Allocation& find_memory(const void* pointer, size_t bytes) {
  const std::scoped_lock lock(state().mutex);
  Allocation* a = find(pointer);
  if (a == nullptr)
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a pointer that is no memory of this driver");
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(pointer) - a->start);
  if (bytes > a->bytes - offset)
    refuse(ZE_RESULT_ERROR_INVALID_SIZE, std::to_string(bytes) + " bytes at " +
                                             std::to_string(offset) + " of an allocation of " +
                                             std::to_string(a->bytes));
  return *a;
}

void begin_memory_use(std::span<const void* const> pointers) {
  const std::scoped_lock lock(state().mutex);
  for (const void* p : pointers)
    if (Allocation* a = find(p)) ++a->uses;
}
void end_memory_use(std::span<const void* const> pointers) {
  const std::scoped_lock lock(state().mutex);
  for (const void* p : pointers)
    if (Allocation* a = find(p)) --a->uses;
}

Access::Access(std::span<const void* const> pointers) : pointers_(pointers) {
  const std::scoped_lock lock(state().mutex);
  for (const void* p : pointers_)
    if (Allocation* a = find(p); a != nullptr && a->open++ == 0)
      protect(*a, PROT_READ | PROT_WRITE);
}
Access::~Access() {
  const std::scoped_lock lock(state().mutex);
  for (const void* p : pointers_)
    if (Allocation* a = find(p); a != nullptr && --a->open == 0) protect(*a, PROT_NONE);
}
std::string Access::finish() const {
  const std::scoped_lock lock(state().mutex);
  for (const void* p : pointers_)
    if (const Allocation* a = find(p); a != nullptr && !intact(*a))
      return "a write outside of an allocation of " + std::to_string(a->bytes) + " bytes";
  return "";
}

// --- imported memory

void import_memory(void* pointer, size_t bytes) {
  need(pointer, "the memory");
  if (bytes == 0) refuse(ZE_RESULT_ERROR_INVALID_SIZE, "0 bytes");
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  auto* start = static_cast<std::byte*>(pointer);
  const auto it = s.ranges.lower_bound(start);
  const bool overlaps =
      (find(start) != nullptr && start < find(start)->start + find(start)->bytes) ||
      (it != s.ranges.end() && it->first < start + bytes);
  if (overlaps) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory that is known already");
  s.ranges.emplace(start,
                   Allocation{start, bytes, ZE_MEMORY_TYPE_HOST, nullptr, s.next_id++, nullptr, 0});
}
void release_imported(void* pointer) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto it = s.ranges.find(static_cast<std::byte*>(pointer));
  if (it == s.ranges.end() || it->second.base != nullptr)
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no imported memory begins there");
  if (it->second.uses > 0)
    refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "memory that work uses which has not ended");
  s.ranges.erase(it);
}

int report_memory_leaks() {
  const std::scoped_lock lock(state().mutex);
  for (const auto& [start, a] : state().ranges)
    say("leak", std::to_string(a.bytes) + (a.base != nullptr ? " bytes" : " imported bytes"));
  return static_cast<int>(state().ranges.size());
}

OST_ZE_TABLE(ze, Mem, mem, table->pfnAllocDevice = alloc_device; table->pfnAllocHost = alloc_host;
             table->pfnAllocShared = alloc_shared; table->pfnFree = mem_free;
             table->pfnGetAllocProperties = alloc_properties;
             table->pfnGetAddressRange = address_range)

}  // namespace standin
