// A plugin that is right (kind good) but for one thing, which OST_TEST_KIND_... says.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "good_driver.hpp"

#ifdef OST_TEST_KIND_undefined_symbol
// Visible, or a linker may take it for one of its own and give it the address 0.
extern "C" [[gnu::visibility("default")]] int ost_test_nobody_has_this();
#endif
#ifdef OST_TEST_KIND_missing_dependency
extern "C" [[gnu::visibility("default")]] int ost_test_gone();
#endif

#ifndef OST_TEST_KIND_no_entry
namespace {

[[maybe_unused]] ost_status_t device_info(ost_device_info_t* info, uint32_t align, bool endless) {
  ost_device_info_t out{};
  out.size = sizeof out;
  out.form_count = 1;
  out.min_align = align;
  if (endless) std::memset(out.name, 'x', sizeof out.name);
  *info = out;
  return OST_OK;
}

// A plugin of a later version that has more fields and does not look how many were asked for. It
// keeps the caller's size. Through volatile: the compiler must not see how far this goes.
template <class T>
[[maybe_unused]] ost_status_t write_later(T* out) {
  auto* later = reinterpret_cast<volatile unsigned char*>(out) + sizeof(T);
  for (int i = 0; i < 16; ++i) later[i] = 1;
  return OST_OK;
}

const ost_driver_table_t* table() {
  static ost_driver_table_t t = ost::test::good_table();
#if defined(OST_TEST_KIND_null_table)
  return nullptr;
#elif defined(OST_TEST_KIND_null_entry)
  t.queue_submit = nullptr;
  t.compile = nullptr;
#elif defined(OST_TEST_KIND_short_table)
  t.size = 64;
#elif defined(OST_TEST_KIND_driver_null)
  t.driver_create = [](const ost_host_table_t*, ost_driver_t**, ost_error_t*) -> ost_status_t {
    return OST_OK;
  };
#elif defined(OST_TEST_KIND_driver_throws)
  t.driver_create = [](const ost_host_table_t*, ost_driver_t**, ost_error_t*) -> ost_status_t {
    throw std::runtime_error("not caught by its author");
  };
#elif defined(OST_TEST_KIND_driver_fails)
  t.driver_create = [](const ost_host_table_t*, ost_driver_t**,
                       ost_error_t* error) -> ost_status_t {
    std::snprintf(error->message, sizeof error->message,
                  "the vendor's runtime is too old: found 1, wanted 2");
    return error->status = OST_UNAVAILABLE;
  };
#elif defined(OST_TEST_KIND_no_device)
  t.device_count = [](ost_driver_t*, uint32_t* count, ost_sink_t reason,
                      ost_error_t*) -> ost_status_t {
    constexpr char kText[] = "no card in any slot";
    if (reason.write != nullptr) reason.write(reason.context, kText, sizeof kText - 1);
    *count = 0;
    return OST_OK;
  };
#elif defined(OST_TEST_KIND_too_many_devices)
  t.device_count = [](ost_driver_t*, uint32_t* count, ost_sink_t, ost_error_t*) -> ost_status_t {
    *count = 1000000;
    return OST_OK;
  };
#elif defined(OST_TEST_KIND_bad_align)
  t.device_info = [](ost_driver_t*, uint32_t, ost_device_info_t* info, ost_error_t*) {
    return device_info(info, 48, false);
  };
#elif defined(OST_TEST_KIND_endless_text)
  t.device_info = [](ost_driver_t*, uint32_t, ost_device_info_t* info, ost_error_t*) {
    return device_info(info, 64, true);
  };
#elif defined(OST_TEST_KIND_table_reserved)
  t.reserved = 1;
#elif defined(OST_TEST_KIND_info_tail)
  t.device_info = [](ost_driver_t*, uint32_t, ost_device_info_t* info, ost_error_t*) {
    return device_info(info, 64, false) | write_later(info);
  };
#elif defined(OST_TEST_KIND_info_reserved)
  t.device_info = [](ost_driver_t*, uint32_t, ost_device_info_t* info, ost_error_t*) {
    const ost_status_t status = device_info(info, 64, false);
    info->reserved[3] = 1;
    return status;
  };
#elif defined(OST_TEST_KIND_heap_tail)
  t.heap_info = [](ost_device_t*, uint32_t, ost_heap_info_t* heap, ost_error_t*) {
    return write_later(heap);
  };
#elif defined(OST_TEST_KIND_device_throws)
  t.device_create = [](ost_driver_t*, uint32_t, ost_device_t**, ost_error_t*) -> ost_status_t {
    throw 7;
  };
#elif defined(OST_TEST_KIND_compile_hangs)
  t.compile = [](ost_driver_t*, const ost_compile_t*, ost_error_t*) -> ost_status_t {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
#elif defined(OST_TEST_KIND_undefined_symbol)
  t.size += static_cast<uint32_t>(ost_test_nobody_has_this());
#elif defined(OST_TEST_KIND_missing_dependency)
  t.size += static_cast<uint32_t>(ost_test_gone());
#elif defined(OST_TEST_KIND_long_table)
  // A plugin for a later minor version: more entries behind those of 1.0.
  static struct {
    ost_driver_table_t v1;
    void (*later[4])();
  } longer{t, {[] {}, [] {}, [] {}, [] {}}};
  longer.v1.size = sizeof longer;
  return &longer.v1;
#endif
  return &t;
}

#if defined(OST_TEST_KIND_abi_too_new)
constexpr uint32_t kAbi = 0x00090000u;
#elif defined(OST_TEST_KIND_abi_too_old)
constexpr uint32_t kAbi = 0x00000001u;
#else
constexpr uint32_t kAbi = 0x00010000u;
#endif

#if defined(OST_TEST_KIND_bad_name)
constexpr const char* kName = "Not A Name";
#elif defined(OST_TEST_KIND_twin)
constexpr const char* kName = "good";
#else
constexpr const char* kName = OST_TEST_KIND;
#endif

}  // namespace

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
#if defined(OST_TEST_KIND_throws_standard)
  throw std::runtime_error("not caught by its author");
#elif defined(OST_TEST_KIND_throws_other)
  throw 7;
#elif defined(OST_TEST_KIND_aborts)
  std::abort();
#elif defined(OST_TEST_KIND_exits)
  std::exit(3);
#elif defined(OST_TEST_KIND_hangs)
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
#elif defined(OST_TEST_KIND_refuses_silently)
  return OST_UNAVAILABLE;
#endif
  const ost_status_t status = ost::test::good_negotiate(in, out, kName, kAbi, kAbi, table());
#if defined(OST_TEST_KIND_abi_lies)
  out->abi = 0x00070000u;
#elif defined(OST_TEST_KIND_endless_name)
  std::memset(out->name, 'x', sizeof out->name);
#elif defined(OST_TEST_KIND_negotiate_tail)
  write_later(out);
#elif defined(OST_TEST_KIND_negotiate_reserved)
  out->reserved = 1;
#elif defined(OST_TEST_KIND_overrun)
  // Through volatile: the compiler must not see how far this goes.
  reinterpret_cast<volatile char*>(out)[sizeof *out + 3] = 1;
#elif defined(OST_TEST_KIND_sanitizer)
  out->sanitizer =
      out->sanitizer == OST_SANITIZER_THREAD ? OST_SANITIZER_ADDRESS : OST_SANITIZER_THREAD;
#endif
  return status;
}
#endif  // OST_TEST_KIND_no_entry
