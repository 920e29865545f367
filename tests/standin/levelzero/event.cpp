#include "event.hpp"

#include <level_zero/ze_ddi.h>

#include <algorithm>
#include <chrono>

#include "tables.hpp"

namespace standin {

void Flag::set() {
  const std::scoped_lock lock(mutex_);
  set_ = true;
  changed_.notify_all();  // under the lock: who waits may destroy this at once
}
bool Flag::set_once() {
  const std::scoped_lock lock(mutex_);
  if (set_) return false;
  set_ = true;
  changed_.notify_all();
  return true;
}
void Flag::reset() {
  const std::scoped_lock lock(mutex_);
  set_ = false;
}
bool Flag::wait(uint64_t timeout_ns) {
  constexpr uint64_t kLongest = uint64_t{1} << 60;
  std::unique_lock lock(mutex_);
  if (timeout_ns > kLongest) {
    changed_.wait(lock, [&] { return set_; });
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  return changed_.wait_until(lock, end, [&] { return set_; });
}

namespace {

ze_result_t pool_create(ze_context_handle_t c, const ze_event_pool_desc_t* desc, uint32_t count,
                        ze_device_handle_t* devices, ze_event_pool_handle_t* out) {
  return device_entry("zeEventPoolCreate", [&] {
    of<Context>(c);
    need_desc(desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    if (desc->count == 0) refuse(ZE_RESULT_ERROR_INVALID_SIZE, "a pool of 0 events");
    if (count > 0) need(devices, "the devices");
    for (uint32_t i = 0; i < count; ++i) of<Device>(devices[i]);
    const bool timed = (desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
    give(std::make_unique<EventPool>(desc->count, timed), out);
  });
}
ze_result_t pool_destroy(ze_event_pool_handle_t h) {
  return entry("zeEventPoolDestroy", [&] { give_back<EventPool>(h); });
}

ze_result_t event_create(ze_event_pool_handle_t h, const ze_event_desc_t* desc,
                         ze_event_handle_t* out) {
  return device_entry("zeEventCreate", [&] {
    EventPool& pool = of<EventPool>(h);
    need_desc(desc, ZE_STRUCTURE_TYPE_EVENT_DESC);
    if (desc->index >= pool.count)
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "event " + std::to_string(desc->index) +
                                                   " of a pool of " + std::to_string(pool.count));
    give(std::make_unique<Event>(pool, desc->index), out);
  });
}
ze_result_t event_destroy(ze_event_handle_t h) {
  return entry("zeEventDestroy", [&] { give_back<Event>(h); });
}
ze_result_t event_signal(ze_event_handle_t h) {
  return device_entry("zeEventHostSignal", [&] { of<Event>(h).flag.set(); });
}
ze_result_t event_synchronize(ze_event_handle_t h, uint64_t timeout_ns) {
  return device_entry("zeEventHostSynchronize", [&] {
    return of<Event>(h).flag.wait(timeout_ns) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}
ze_result_t event_query(ze_event_handle_t h) {
  return device_entry("zeEventQueryStatus", [&] {
    return of<Event>(h).flag.wait(0) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}
ze_result_t event_reset(ze_event_handle_t h) {
  return device_entry("zeEventHostReset", [&] { of<Event>(h).flag.reset(); });
}
ze_result_t event_timestamp(ze_event_handle_t h, ze_kernel_timestamp_result_t* out) {
  return device_entry("zeEventQueryKernelTimestamp", [&] {
    Event& event = of<Event>(h);
    need(out, "the result");
    if (!event.pool.timestamps)
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event's pool is not for timestamps");
    if (!event.flag.wait(0)) return ZE_RESULT_NOT_READY;
    constexpr uint64_t kMask = (uint64_t{1} << kTimestampBits) - 1;
    out->global = {ticks_of(event.start_ns) & kMask, ticks_of(event.end_ns) & kMask};
    out->context = out->global;
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace

OST_ZE_TABLE(ze, EventPool, event_pool, table->pfnCreate = pool_create;
             table->pfnDestroy = pool_destroy)
OST_ZE_TABLE(ze, Event, event, table->pfnCreate = event_create; table->pfnDestroy = event_destroy;
             table->pfnHostSignal = event_signal; table->pfnHostSynchronize = event_synchronize;
             table->pfnQueryStatus = event_query; table->pfnHostReset = event_reset;
             table->pfnQueryKernelTimestamp = event_timestamp)

}  // namespace standin
