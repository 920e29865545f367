#include "core/runtime/device.hpp"

#include <cstring>

#include "core/runtime/call.hpp"
#include "core/runtime/guarded.hpp"
#include "core/runtime/log.hpp"
#include "core/runtime/self_test.hpp"

namespace ost::runtime {

// --- Device --------------------------------------------------------------------------------------

Result<DevicePtr> Driver::open(uint32_t index, const OpenOptions& options) {
  const std::scoped_lock lock(mutex_);
  if (index >= devices_.size())
    return fail(OST_NOT_FOUND, "{} has {} devices, wanted number {}", name(), devices_.size(),
                index);
  const ost_device_info_t& info = devices_[index];
  const std::string id = device_id(index);
  const char* reason = info.reason[0] != '\0' ? info.reason : "no reason given";
  if ((info.flags & OST_DEVICE_COMPILE_ONLY) != 0) {
    return fail(OST_UNAVAILABLE,
                "{} can only compile, it cannot run: {}; `ost link --targets {}` puts its images "
                "into a manifest",
                id, reason, id);
  }
  if ((info.flags & OST_DEVICE_UNUSABLE) != 0)
    return fail(OST_UNAVAILABLE, "{} cannot be opened: {}", id, reason);
  DevicePtr device = open_[index].lock();
  if (!device || !device->status()) {  // a lost device is made again
    device = DevicePtr(new Device);
    device->driver_ = shared_from_this();
    device->index_ = index;
    device->id_ = id;
    device->info_ = info;
    OST_TRY(call(id, "device_create", [&](ost_error_t* e) {
      return table().device_create(handle_, index, &device->handle_, e);
    }));
    if (device->handle_ == nullptr)
      return fail(OST_INTERNAL, "{}: device_create gave no device", id);
    OST_TRY(device->read_heaps());
    device->self_test_ = self_tests_[index];
    open_[index] = device;
  }
  if (options.self_test && !self_tests_[index].ran) {
    self_tests_[index] = run_self_tests(device, options.cache.get());
    device->self_test_ = self_tests_[index];
    if (!device->self_test_.exact)
      log(LogLevel::warning, "{} is inexact: {}", id, device->self_test_.reason);
  }
  return device;
}

Device::~Device() {
  if (handle_ != nullptr) call_quietly([this] { table().device_destroy(handle_); });
}

Result<> Device::status() const {
  return call(id_, "device_status",
              [&](ost_error_t* e) { return table().device_status(handle_, e); });
}

Result<> Device::read_heaps() {
  Guarded<ost_heap_info_t> heap;
  if (table().heap_count(handle_) == 0)
    return fail(OST_INCOMPATIBLE, "{}: the device has no memory heap", id_);
  const auto done = call(id_, "heap_info", [&](ost_error_t* e) {
    return table().heap_info(handle_, 0, heap.get(), e);
  });
  if (auto ok = heap.check("heap_info"); !ok) return std::unexpected(ok.error().in(id_));
  OST_TRY(done);
  heap_flags_ = heap.value().flags;
  if (host_visible() && !driver_->features().has_map) {
    return std::unexpected(Error{
        OST_INCOMPATIBLE,
        fmt::format("{}: heap 0 is host visible and the driver has no buffer_map", id_), 0, 3, 0});
  }
  return {};
}

Result<ExecutablePtr> Device::load(std::span<const uint8_t> image, std::string_view image_path,
                                   std::string_view entry) {
  ExecutablePtr out(new Executable);
  out->device_ = shared_from_this();
  OST_TRY(call(id_, "executable_load", [&](ost_error_t* e) {
    return table().executable_load(handle_, {image.data(), image.size()}, str(image_path),
                                   &out->handle_, e);
  }));
  OST_TRY(call(id_, "executable_entry", [&](ost_error_t* e) {
    return table().executable_entry(out->handle_, str(entry), &out->entry_, e);
  }));
  counters_.executables.fetch_add(1, std::memory_order_relaxed);
  return out;
}

Executable::~Executable() {
  if (handle_ != nullptr) call_quietly([this] { device_->table().executable_unload(handle_); });
}

// --- Timeline ------------------------------------------------------------------------------------

Result<std::shared_ptr<Timeline>> Timeline::create(DevicePtr device, uint64_t initial) {
  std::shared_ptr<Timeline> out(new Timeline);
  out->device_ = std::move(device);
  OST_TRY(call(out->device_->id(), "timeline_create", [&](ost_error_t* e) {
    return out->device_->table().timeline_create(out->device_->handle(), initial, &out->handle_, e);
  }));
  return out;
}

Timeline::~Timeline() {
  if (handle_ != nullptr) call_quietly([this] { device_->table().timeline_destroy(handle_); });
}

Result<uint64_t> Timeline::query() const {
  uint64_t value = 0;
  OST_TRY(call(device_->id(), "timeline_query", [&](ost_error_t* e) {
    return device_->table().timeline_query(handle_, &value, e);
  }));
  return value;
}

Result<> Timeline::wait(uint64_t value, uint64_t timeout_ns) const {
  return call(device_->id(), "timeline_wait", [&](ost_error_t* e) {
    return device_->table().timeline_wait(handle_, value, timeout_ns, e);
  });
}

Result<> Timeline::signal(uint64_t value) {
  return call(device_->id(), "timeline_signal",
              [&](ost_error_t* e) { return device_->table().timeline_signal(handle_, value, e); });
}

Result<> Timeline::fail(const Error& why) {
  ost_error_t error{};
  error.size = sizeof error;
  error.status = why.status;
  error.native_code = why.native_code;
  error.rule = why.rule;
  error.flags = why.flags;
  std::memcpy(error.message, why.message.data(),
              std::min(why.message.size(), sizeof error.message - 1));
  return call(device_->id(), "timeline_fail",
              [&](ost_error_t*) { return device_->table().timeline_fail(handle_, &error); });
}

// --- CommandList and Queue -----------------------------------------------------------------------

Result<std::unique_ptr<CommandList>> CommandList::create(DevicePtr device,
                                                         std::span<const ost_command_t> commands,
                                                         uint32_t slot_count, uint32_t var_count) {
  std::unique_ptr<CommandList> out(new CommandList);
  out->device_ = std::move(device);
  OST_TRY(call(out->device_->id(), "cmdlist_create", [&](ost_error_t* e) {
    return out->device_->table().cmdlist_create(out->device_->handle(), commands.data(),
                                                static_cast<uint32_t>(commands.size()), slot_count,
                                                var_count, &out->handle_, e);
  }));
  return out;
}

CommandList::~CommandList() {
  if (handle_ != nullptr) call_quietly([this] { device_->table().cmdlist_destroy(handle_); });
}

Result<std::unique_ptr<Queue>> Queue::create(DevicePtr device) {
  std::unique_ptr<Queue> out(new Queue);
  out->device_ = std::move(device);
  OST_TRY(call(out->device_->id(), "queue_create", [&](ost_error_t* e) {
    return out->device_->table().queue_create(out->device_->handle(), &out->handle_, e);
  }));
  return out;
}

Queue::~Queue() {
  if (handle_ != nullptr) call_quietly([this] { device_->table().queue_destroy(handle_); });
}

Result<> Queue::submit(std::span<const ost_point_t> waits, std::span<const ost_command_t> commands,
                       std::span<const ost_point_t> signals) {
  device_->counters().submits.fetch_add(1, std::memory_order_relaxed);
  return call(device_->id(), "queue_submit", [&](ost_error_t* e) {
    return device_->table().queue_submit(handle_, waits.data(), static_cast<uint32_t>(waits.size()),
                                         commands.data(), static_cast<uint32_t>(commands.size()),
                                         signals.data(), static_cast<uint32_t>(signals.size()), e);
  });
}

Result<> Queue::profile(bool on) {
  return call(device_->id(), "profile_enable",
              [&](ost_error_t* e) { return device_->table().profile_enable(handle_, on, e); });
}

Result<> Queue::drain_profile(std::vector<ost_profile_record_t>& out) {
  constexpr uint32_t kChunk = 256;
  for (;;) {
    const size_t before = out.size();
    out.resize(before + kChunk);
    for (size_t i = before; i < out.size(); ++i) out[i].size = sizeof(ost_profile_record_t);
    uint32_t count = 0;
    auto done = call(device_->id(), "profile_drain", [&](ost_error_t* e) {
      return device_->table().profile_drain(handle_, out.data() + before, kChunk, &count, e);
    });
    out.resize(before + std::min(done ? count : 0, kChunk));
    OST_TRY(done);
    if (count < kChunk) return {};
  }
}

}  // namespace ost::runtime
