// The reference driver as a plugin, with one fault that the option "fault" names: what the kit must
// find. Without the option it is right.
#include <ostinato/plugin.hpp>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "core/runtime/ref_driver.hpp"

namespace {

std::string fault;  // written once, before there is a device
const ost_driver_table_t* ref = nullptr;

bool has(const char* name) { return fault == name; }

// The bytes of a ref and `more` behind it.
unsigned char* memory_of(const ost_ref_t& r, uint64_t more) {
  void* at = nullptr;
  if (ref->buffer_map(r.buffer, r.offset, r.size + more, &at, nullptr) != OST_OK) return nullptr;
  return static_cast<unsigned char*>(at);
}

ost_status_t driver_create(const ost_host_table_t* host, ost_driver_t** out, ost_error_t* error) {
  const char* name = host->option(host->context, "fault");
  fault = name != nullptr ? name : "";
  if (has("crash_at_create")) std::raise(SIGABRT);
  return ref->driver_create(host, out, error);
}

ost_status_t device_info(ost_driver_t* driver, uint32_t index, ost_device_info_t* out,
                         ost_error_t* error) {
  const ost_status_t status = ref->device_info(driver, index, out, error);
  if (status != OST_OK) return status;
  if (has("no_f64")) out->dtypes &= ~(1u << OST_DTYPE_F64);
  if (has("unknown_form")) out->forms[out->form_count++] = 77;
  if (has("info_changes")) {
    static uint32_t calls = 0;
    out->threads = ++calls;
  }
  return status;
}

ost_status_t heap_info(ost_device_t* device, uint32_t heap, ost_heap_info_t* out,
                       ost_error_t* error) {
  static int calls = 0;
  if (has("exits") && ++calls > 1) std::_Exit(3);
  return ref->heap_info(device, heap, out, error);
}

void misbehave(uint64_t bytes) {
  if (bytes != 4097) return;
  if (has("crashes")) std::raise(SIGSEGV);
  while (has("hangs")) std::this_thread::sleep_for(std::chrono::seconds(1));
}

ost_status_t buffer_import_host(ost_device_t* device, void* pointer, uint64_t bytes,
                                ost_dbuffer_t** out, ost_error_t* error) {
  misbehave(bytes);
  return ref->buffer_import_host(device, pointer, bytes, out, error);
}

ost_status_t buffer_alloc(ost_device_t* device, uint32_t heap, uint64_t bytes, uint32_t align,
                          ost_dbuffer_t** out, ost_error_t* error) {
  misbehave(bytes);
  return ref->buffer_alloc(device, heap, bytes, align, out, error);
}

ost_status_t compile(ost_driver_t* driver, const ost_compile_t* job, ost_error_t* error) {
  if (has("mute")) return OST_UNIMPLEMENTED;
  if (has("differs")) {
    static std::atomic<uint32_t> calls{0};
    const uint32_t call = ++calls;
    const ost_status_t status = ref->compile(driver, job, error);
    if (call == 2) job->image.write(job->image.context, &call, sizeof call);
    return status;
  }
  return ref->compile(driver, job, error);
}

ost_status_t timeline_signal(ost_timeline_t* t, uint64_t value, ost_error_t* error) {
  const ost_status_t status = ref->timeline_signal(t, value, error);
  return has("signals_twice") ? ost_status_t{OST_OK} : status;
}

void spoil(const ost_command_t& c) {
  if (c.ref_count == 0) return;
  const ost_ref_t& last = c.refs[c.ref_count - 1];
  if (has("overruns")) {
    if (unsigned char* at = memory_of(last, 1)) at[last.size] = 1;
  }
  if (has("wrong_bit") && last.size > 8) {
    if (unsigned char* at = memory_of(last, 0)) at[last.size - 1] ^= 1;
  }
}

ost_status_t queue_submit(ost_queue_t* queue, const ost_point_t* waits, uint32_t wait_count,
                          const ost_command_t* commands, uint32_t count, const ost_point_t* signals,
                          uint32_t signal_count, ost_error_t* error) {
  const ost_command_t* run = commands;
  std::vector<ost_command_t> fixed;
  if (has("fill_is_short") && count == 1 && commands[0].kind == OST_CMD_FILL &&
      commands[0].size == sizeof(ost_command_t) && commands[0].refs[0].size > 64) {
    return ref->queue_submit(queue, waits, wait_count, nullptr, 0, signals, signal_count, error);
  }
  if (has("forgets_signals")) {
    const ost_status_t status =
        ref->queue_submit(queue, waits, wait_count, run, count, nullptr, 0, error);
    for (uint32_t i = 0; status == OST_OK && i < signal_count; ++i)
      ref->timeline_signal(signals[i].timeline, signals[i].value, nullptr);
    return status;
  }
  const ost_status_t status =
      ref->queue_submit(queue, waits, wait_count, run, count, signals, signal_count, error);
  for (uint32_t i = 0; status == OST_OK && i < count; ++i) {
    if (commands[i].size == sizeof(ost_command_t) && commands[i].kind == OST_CMD_DISPATCH)
      spoil(commands[i]);
  }
  return status;
}

ost_status_t link_query(ost_device_t* a, const ost_device_info_t* b, ost_link_t* out,
                        ost_error_t* error) {
  const ost_status_t status = ref->link_query(a, b, out, error);
  if (has("unknown_link")) *out = 9;
  return status;
}

const ost_driver_table_t* table() {
  static ost_driver_table_t t = [] {
    const ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
    ost_negotiate_out_t out{};
    out.size = sizeof out;
    ost::runtime::ref_negotiate(&in, &out);
    ref = out.table;
    ost_driver_table_t mine = *ref;
    mine.driver_create = driver_create;
    mine.device_info = device_info;
    mine.heap_info = heap_info;
    mine.buffer_alloc = buffer_alloc;
    mine.buffer_import_host = buffer_import_host;
    mine.compile = compile;
    mine.timeline_signal = timeline_signal;
    mine.queue_submit = queue_submit;
    mine.link_query = link_query;
    return mine;
  }();
  return &t;
}

}  // namespace

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return ost::plugin::negotiate(in, out, {"faulty", "1.0", "Test"}, table());
}
