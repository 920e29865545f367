#include "runtime.hpp"

namespace levelzero {

Runtime::Runtime(const ost::plugin::Host&)
    : reason_("this build of the levelzero driver only compiles") {}

namespace {

// No device can be created, so no handle of one comes in.
template <class... Arguments>
ost_status_t refuse(Arguments...) noexcept {
  return OST_UNAVAILABLE;
}

}  // namespace

void runtime_entries(ost_driver_table_t& t) {
  t.device_create = refuse;
  t.device_destroy = [](ost_device_t*) {};
  t.device_status = refuse;
  t.heap_count = [](ost_device_t*) { return 0u; };
  t.heap_info = refuse;
  t.buffer_alloc = refuse;
  t.buffer_free = [](ost_device_t*, ost_dbuffer_t*) {};
  t.buffer_map = refuse;
  t.buffer_unmap = refuse;
  t.buffer_write = refuse;
  t.buffer_read = refuse;
  t.queue_create = refuse;
  t.queue_destroy = [](ost_queue_t*) {};
  ost::plugin::timeline_entries(t);
  t.queue_submit = refuse;
  t.executable_load = refuse;
  t.executable_unload = [](ost_executable_t*) {};
  t.executable_entry = refuse;
}

}  // namespace levelzero
