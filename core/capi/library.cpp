// Entry points that need no handle.
#include <fmt/format.h>

#include "core/base/dtype.hpp"
#include "core/base/sha256.hpp"
#include "core/capi/boundary.hpp"
#include "core/runtime/env.hpp"
#include "core/runtime/log.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

// What ost_env_count saw last on this thread; ost_env_at points into it.
std::vector<runtime::EnvValue>& environment() {
  thread_local std::vector<runtime::EnvValue> values;
  return values;
}
std::vector<std::string>& unknown_names() {
  thread_local std::vector<std::string> names;
  return names;
}

}  // namespace

extern "C" {

uint32_t ost_version(void) { return OST_VERSION; }

const char* ost_version_text(void) { return "0.1.0"; }
static_assert(OST_VERSION == 0x00000100u, "ost_version_text must say the same");

const char* ost_status_text(ost_status_t status) { return status_name(status); }

const char* ost_dtype_text(ost_dtype_t dtype) {
  if (dtype < OST_DTYPE_BOOL || dtype > OST_DTYPE_F64) return nullptr;
  return name_of(static_cast<DType>(dtype)).data();
}

uint32_t ost_dtype_bytes(ost_dtype_t dtype) {
  return dtype < OST_DTYPE_BOOL || dtype > OST_DTYPE_F64 ? 0 : size_of(static_cast<DType>(dtype));
}

ost_status_t ost_dtype_parse(const char* text, ost_dtype_t* out_dtype, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(text, "text"));
    OST_TRY(require(out_dtype, "out_dtype"));
    const auto dtype = dtype_from_name(text);
    if (!dtype) {
      return fail(OST_NOT_FOUND,
                  "'{}' is no element type, wanted one of bool i8 i16 i32 i64 u8 u16 u32 u64 f16 "
                  "bf16 f32 f64",
                  text);
    }
    *out_dtype = static_cast<ost_dtype_t>(*dtype);
    return {};
  });
}

void ost_sha256(const void* data, uint64_t size, char out_hex[65]) {
  if (out_hex == nullptr) return;
  const std::string hex = guard_value(std::string(), [&] {
    return sha256_hex(std::span(static_cast<const uint8_t*>(data), data == nullptr ? 0 : size));
  });
  std::memcpy(out_hex, hex.c_str(), hex.size() + 1);
}

void ost_log_set(ost_log_fn log, void* user, uint32_t most_verbose) {
  guard_value(0, [&] {
    const auto level =
        static_cast<runtime::LogLevel>(std::min<uint32_t>(most_verbose, OST_LOG_DEBUG));
    if (log == nullptr) {
      runtime::set_log_hook({}, level);
    } else {
      runtime::set_log_hook(
          [log, user](runtime::LogLevel at, std::string_view message) {
            log(user, static_cast<uint32_t>(at), std::string(message).c_str());
          },
          level);
    }
    return 0;
  });
}

uint32_t ost_env_count(void) {
  return guard_value(0u, [] {
    environment() = runtime::env_values();
    unknown_names() = runtime::unknown_env_names();
    return static_cast<uint32_t>(environment().size() + unknown_names().size());
  });
}

ost_status_t ost_env_at(uint32_t index, ost_env_desc_t* out_desc, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    if (environment().empty()) ost_env_count();
    const size_t known = environment().size();
    OST_TRY(check_index(index, known + unknown_names().size(), "environment variable"));
    ost_env_desc_t desc{};
    if (index < known) {
      const runtime::EnvValue& v = environment()[index];
      desc.name = v.variable.name;
      desc.meaning = v.variable.meaning;
      desc.value = v.value.c_str();
      desc.origin = v.origin.c_str();
    } else {
      desc.name = unknown_names()[index - known].c_str();
      desc.value = "";
      desc.origin = "unknown name";
    }
    return write_struct(out_desc, desc, "out_desc");
  });
}

}  // extern "C"
