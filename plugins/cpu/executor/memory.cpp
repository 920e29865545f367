#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace ost_cpu {

namespace {
constexpr uint64_t kHugePage = 2u << 20;
constexpr uint64_t kHugeFrom =
    4u << 20;  // below, rounding up to whole huge pages wastes more than it gains
}  // namespace

void* allocate(uint64_t bytes, uint64_t align) {
  const bool huge = bytes >= kHugeFrom;
  align = std::max<uint64_t>({align, kAlign, huge ? kHugePage : 0});
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX) - align) throw std::bad_alloc();
  const uint64_t rounded = std::max(align, (bytes + align - 1) / align * align);
  void* memory = std::aligned_alloc(align, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, rounded, MADV_HUGEPAGE);  // advice: a kernel without huge pages says no
  return memory;
}

void deallocate(void* memory) noexcept { std::free(memory); }

}  // namespace ost_cpu
