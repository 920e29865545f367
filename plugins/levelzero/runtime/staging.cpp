#include "staging.hpp"

#include <algorithm>
#include <cstring>

namespace levelzero {

constexpr uint64_t kStagingBytes = 4 << 20;

Staging::~Staging() {
  if (list_ != nullptr) device_.api().zeCommandListDestroy(list_);
}

// An immediate list of the copy engine, if there is one: what is appended has run when the call
// returns.
void Staging::open() {
  if (memory_ == nullptr) memory_ = allocate(device_, Heap::host, kStagingBytes, 4096);
  if (list_ != nullptr) return;
  const Engine& engine = device_.copy() ? *device_.copy() : device_.compute();
  auto desc = typed<ze::QueueDesc>(ze::kQueueDesc);
  desc.ordinal = engine.ordinal;
  desc.mode = ze::kSynchronous;
  device_.check(device_.api().zeCommandListCreateImmediate(device_.context(), device_.handle(),
                                                           &desc, &list_),
                "zeCommandListCreateImmediate");
}

void Staging::copy(void* to, const void* from, uint64_t size) {
  device_.check(
      device_.api().zeCommandListAppendMemoryCopy(list_, to, from, size, nullptr, 0, nullptr),
      "zeCommandListAppendMemoryCopy");
}

void Staging::write(std::byte* to, const std::byte* from, uint64_t size) {
  const std::scoped_lock lock(mutex_);
  open();
  for (uint64_t at = 0; at < size; at += kStagingBytes) {
    const uint64_t n = std::min(kStagingBytes, size - at);
    std::memcpy(memory_->data(), from + at, n);
    copy(to + at, memory_->data(), n);
  }
}

void Staging::read(std::byte* to, const std::byte* from, uint64_t size) {
  const std::scoped_lock lock(mutex_);
  open();
  for (uint64_t at = 0; at < size; at += kStagingBytes) {
    const uint64_t n = std::min(kStagingBytes, size - at);
    copy(memory_->data(), from + at, n);
    std::memcpy(to + at, memory_->data(), n);
  }
}

}  // namespace levelzero
