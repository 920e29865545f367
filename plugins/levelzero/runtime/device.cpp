#include "device.hpp"

#include <cstring>

#include "memory.hpp"
#include "staging.hpp"

namespace levelzero {

using ost::plugin::fail;

Device::Device(const Runtime& runtime, size_t index)
    : api_(runtime.api()),
      candidate_(runtime.candidate(index)),
      options_(runtime.options()),
      info_(runtime.devices()[index]) {
  access_ = typed<ze::MemoryAccessProperties>(ze::kMemoryAccessProperties);
  levelzero::check(api_.zeDeviceGetMemoryAccessProperties(handle(), &access_),
                   "zeDeviceGetMemoryAccessProperties");
  find_engines();
  const auto desc = typed<ze::FlagsDesc>(ze::kContextDesc);
  levelzero::check(api_.zeContextCreate(candidate_.driver, &desc, &context_), "zeContextCreate");
  pool_ = std::make_unique<Pool>(*this);
  staging_ = std::make_unique<Staging>(*this);
}

Device::~Device() {
  staging_.reset();
  pool_.reset();
  api_.zeContextDestroy(context_);
}

// The first group that computes, and the first that only copies.
void Device::find_engines() {
  uint32_t count = 0;
  const char* call = "zeDeviceGetCommandQueueGroupProperties";
  levelzero::check(api_.zeDeviceGetCommandQueueGroupProperties(handle(), &count, nullptr), call);
  std::vector<ze::QueueGroupProperties> groups(
      count, typed<ze::QueueGroupProperties>(ze::kQueueGroupProperties));
  levelzero::check(api_.zeDeviceGetCommandQueueGroupProperties(handle(), &count, groups.data()),
                   call);
  std::optional<Engine> compute;
  for (uint32_t i = 0; i < count; ++i) {
    const auto& g = groups[i];
    if (g.queues == 0) continue;
    const Engine engine{i, g.queues, g.max_pattern};
    if ((g.flags & ze::kGroupCompute) != 0) {
      if (!compute) compute = engine;
    } else if ((g.flags & ze::kGroupCopy) != 0 && !copy_) {
      copy_ = engine;
    }
  }
  if (!compute) fail(OST_UNAVAILABLE, "the device has no engine that computes");
  compute_ = *compute;
}

uint32_t Device::next_queue(const Engine& engine) {
  const std::scoped_lock lock(mutex_);
  return next_queue_++ % engine.queues;
}

void Device::use() const {
  const std::scoped_lock lock(mutex_);
  if (loss_) throw *loss_;
}

void Device::check(ze::Result code, const char* call) {
  if (code == ze::kSuccess) return;
  const ost::plugin::Failure failure = failure_of(code, call);
  if (failure.status() == OST_DEVICE_LOST) {
    const std::scoped_lock lock(mutex_);
    if (!loss_) loss_ = failure;
    throw *loss_;
  }
  throw failure;
}

void Device::write(const Buffer& to, uint64_t offset, const void* data, uint64_t size) {
  uses_.wait_until_unused(&to);
  use();
  if (size == 0) return;
  if (to.memory->on_host()) {
    std::memcpy(to.data() + offset, data, size);
    return;
  }
  staging_->write(to.data() + offset, static_cast<const std::byte*>(data), size);
}

void Device::read(const Buffer& from, uint64_t offset, void* data, uint64_t size) {
  uses_.wait_until_unused(&from);
  use();
  if (size == 0) return;
  if (from.memory->on_host()) {
    std::memcpy(data, from.data() + offset, size);
    return;
  }
  staging_->read(static_cast<std::byte*>(data), from.data() + offset, size);
}

}  // namespace levelzero
