// Host memory of the device: aligned, and in huge pages where that pays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ost_cpu {

inline constexpr uint32_t kAlign = 64;  // a cache line, and the widest vector

// `align` is a power of two; never returns null (throws std::bad_alloc). Contents are undefined.
void* allocate(uint64_t bytes, uint64_t align);
void deallocate(void* memory) noexcept;

// A block that only grows. Growing drops the contents.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { deallocate(data_); }

  void reserve(uint64_t bytes) {
    if (bytes <= size_) return;
    void* bigger = allocate(bytes, kAlign);
    deallocate(data_);
    data_ = static_cast<std::byte*>(bigger);
    size_ = bytes;
  }
  // Null as long as nothing was reserved.
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ost_cpu
