#include "api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

namespace levelzero {
namespace {

using ost::plugin::cat;

constexpr const char* kLoader = "libze_loader.so.1";

template <class F>
bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

#define OST_ZE_REQUIRED(name, arguments) \
  if (!find(library, #name, api.name)) lacking += std::string(lacking.empty() ? "" : ", ") + #name;
#define OST_ZE_OPTIONAL(name, arguments) find(library, #name, api.name);

std::string find_all(Api& api, void* library) {
  std::string lacking;
  OST_ZE_FUNCTIONS(OST_ZE_REQUIRED, OST_ZE_OPTIONAL)
  return lacking;
}

struct Meaning {
  ze::Result code;
  const char* name;
  ost_status_t status;
};
constexpr Meaning kMeanings[] = {
    {1, "ZE_RESULT_NOT_READY", OST_TIMEOUT},
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST", OST_DEVICE_LOST},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", OST_OUT_OF_MEMORY},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", OST_OUT_OF_MEMORY},
    {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE", OST_COMPILE_FAILED},
    {0x70000005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE", OST_COMPILE_FAILED},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET", OST_DEVICE_LOST},
    {0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE", OST_UNAVAILABLE},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS", OST_UNAVAILABLE},
    {0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE", OST_UNAVAILABLE},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE", OST_UNAVAILABLE},
    {0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED", OST_UNAVAILABLE},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION", OST_INCOMPATIBLE},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE", OST_UNIMPLEMENTED},
    {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT", OST_INTERNAL},
    {0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE", OST_OUT_OF_MEMORY},
    {0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT", OST_INVALID_ARGUMENT},
    {0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY", OST_INCOMPATIBLE},
    {0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME", OST_DATA_LOSS},
    {0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION", OST_INCOMPATIBLE},
    {0x78000018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED", OST_INCOMPATIBLE},
};

const Meaning* meaning_of(ze::Result code) {
  const auto* it = std::ranges::find(kMeanings, code, &Meaning::code);
  return it == std::end(kMeanings) ? nullptr : it;
}

}  // namespace

std::string result_text(ze::Result code) {
  char number[16];
  std::snprintf(number, sizeof number, "0x%x", code);
  const Meaning* meaning = meaning_of(code);
  return meaning == nullptr ? number : cat(number, " (", meaning->name, ")");
}

ost::plugin::Failure failure_of(ze::Result code, const char* call) {
  const Meaning* meaning = meaning_of(code);
  const ost_status_t status = meaning != nullptr ? meaning->status : ost_status_t{OST_INTERNAL};
  return {status, cat(call, " gives ", result_text(code)), 0, code};
}

Api load_api(const std::string& library) {
  Api api;
  api.path = library.empty() ? kLoader : library;
  void* handle = dlopen(api.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    api.missing = cat("no Level Zero: ", why != nullptr ? why : api.path);
    return api;
  }
  if (const std::string lacking = find_all(api, handle); !lacking.empty())
    api.missing = cat("no Level Zero: ", api.path, " has no ", lacking);
  return api;
}

}  // namespace levelzero
