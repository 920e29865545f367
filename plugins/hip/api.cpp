#include "api.hpp"

#include <dlfcn.h>

#include <vector>

namespace hip {
namespace {

using ost::plugin::cat;

std::string dl_reason() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown";
}

template <class F>
bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

#define OST_HIP_REQUIRED(name, result, arguments) \
  if (!find(library, #name, api.name)) lacking += std::string(lacking.empty() ? "" : ", ") + #name;
#define OST_HIP_OPTIONAL(name, result, arguments) find(library, #name, api.name);

std::string find_runtime(Api& api, void* library) {
  std::string lacking;
  OST_HIP_FUNCTIONS(OST_HIP_REQUIRED, OST_HIP_OPTIONAL)
  return lacking;
}
std::string find_rtc(Api& api, void* library) {
  std::string lacking;
  OST_HIPRTC_FUNCTIONS(OST_HIP_REQUIRED, OST_HIP_OPTIONAL)
  if (lacking.empty()) api.comgr.find_in(library);
  return lacking;
}

// Before HIP 6 the compiler is inside of the runtime library, from 6 on beside it.
void load_rtc(Api& api, void* runtime, const std::vector<std::string>& names) {
  std::string lacking = find_rtc(api, runtime);
  if (lacking.empty()) return;
  std::string why = cat(api.path, " has no ", lacking);
  for (const std::string& name : names) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why += "; " + dl_reason();
      continue;
    }
    lacking = find_rtc(api, library);
    if (lacking.empty()) return;
    why += cat("; ", name, " has no ", lacking);
  }
  api.rtc_missing = cat("no hipRTC: ", why);
}

ost_status_t status_of(Error code) {
  switch (code) {
    case kOutOfMemory:
      return OST_OUT_OF_MEMORY;
    case kNoDevice:
    case kInvalidDevice:
      return OST_UNAVAILABLE;
    case 200:  // invalid image
    case 209:  // no binary for this GPU
      return OST_INCOMPATIBLE;
    case 214:  // memory with an error that cannot be corrected
    case 700:  // illegal address
    case 709:  // the context is destroyed
    case 710:  // assert
    case 719:  // launch failure
      return OST_DEVICE_LOST;
    default:
      return OST_INTERNAL;
  }
}

}  // namespace

bool ComgrApi::find_in(void* library) {
  ComgrApi found;
  if (!find(library, "amd_comgr_get_isa_count", found.amd_comgr_get_isa_count) ||
      !find(library, "amd_comgr_get_isa_name", found.amd_comgr_get_isa_name))
    return false;
  *this = found;
  return true;
}

int Api::version() const {
  int number = 0;  // 50221153 is 5.2.21153
  if (hipRuntimeGetVersion == nullptr || hipRuntimeGetVersion(&number) != kSuccess) return 0;
  return number / 10000000 * 10 + number / 100000 % 100;
}

std::string Api::name_of(Error code) const {
  const char* name = hipGetErrorName != nullptr ? hipGetErrorName(code) : nullptr;
  return cat(code, name != nullptr ? " (" : "", name != nullptr ? name : "",
             name != nullptr ? ")" : "");
}

void Api::check(Error code, const char* call) const {
  if (code == kSuccess) return;
  throw ost::plugin::Failure(status_of(code), cat(call, " gives ", name_of(code)), 0, code);
}

Api load_api(const std::string& runtime, const std::string& rtc) {
  struct Place {
    std::string runtime;
    std::vector<std::string> rtc;
  };
  std::vector<Place> places;
  const auto rtc_or = [&](const std::string& name) { return rtc.empty() ? name : rtc; };
  if (!runtime.empty()) {
    places.push_back({runtime, {rtc_or("libhiprtc.so")}});
  } else {
    for (const char* major : {"7", "6", "5"})
      places.push_back({cat("libamdhip64.so.", major), {rtc_or(cat("libhiprtc.so.", major))}});
  }
  Api api;
  api.rtc_missing = "there is no HIP runtime, so no hipRTC";
  for (const Place& place : places) {
    void* library = dlopen(place.runtime.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      api.missing += (api.missing.empty() ? "no HIP runtime: " : "; ") + dl_reason();
      continue;
    }
    Api found;
    found.path = place.runtime;
    const std::string lacking = find_runtime(found, library);
    if (!lacking.empty()) {
      api.missing +=
          cat(api.missing.empty() ? "no HIP runtime: " : "; ", place.runtime, " has no ", lacking);
      continue;
    }
    load_rtc(found, library, place.rtc);
    return found;
  }
  return api;
}

}  // namespace hip
