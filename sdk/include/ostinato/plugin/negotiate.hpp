// The one exported function of a plugin, less its name: range logic and the fields that describe
// the build. Pure, as rule 12 demands.
#ifndef OSTINATO_PLUGIN_NEGOTIATE_HPP_
#define OSTINATO_PLUGIN_NEGOTIATE_HPP_

#include <algorithm>

#include "error.hpp"

#if defined(__has_feature)
#define OST_PLUGIN_HAS_FEATURE(x) __has_feature(x)
#else
#define OST_PLUGIN_HAS_FEATURE(x) 0
#endif

namespace ost::plugin {

struct About {
  const char* name;  // driver name: [a-z][a-z0-9_]*
  const char* version;
  const char* vendor;
  uint32_t abi_min = OST_PLUGIN_ABI_VERSION;  // the versions that the plugin was written for
  uint32_t abi_max = OST_PLUGIN_ABI_VERSION;
};

constexpr uint32_t sanitizer_of_build() {
#if defined(__SANITIZE_ADDRESS__) || OST_PLUGIN_HAS_FEATURE(address_sanitizer)
  return OST_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__) || OST_PLUGIN_HAS_FEATURE(thread_sanitizer)
  return OST_SANITIZER_THREAD;
#else
  return OST_SANITIZER_NONE;
#endif
}

inline std::string abi_text(uint32_t abi) { return cat(abi >> 16, ".", abi & 0xffff); }

// OST_INCOMPATIBLE with abi 0 and a reason if the two ranges do not meet.
inline ost_status_t negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out,
                              const About& about, const ost_driver_table_t* table) noexcept {
  if (in == nullptr || in->size < sizeof *in || out == nullptr || out->size < sizeof *out)
    return OST_INVALID_ARGUMENT;
  const uint32_t size = out->size;
  *out = {};
  out->size = size;
  out->sanitizer = sanitizer_of_build();
  copy_text(out->name, about.name);
  copy_text(out->version, about.version);
  copy_text(out->vendor, about.vendor);
  const uint32_t low = std::max(in->abi_min, about.abi_min);
  const uint32_t high = std::min(in->abi_max, about.abi_max);
  try {
    check_size(in, "ost_negotiate_in_t");
    if (low > high) {
      fail(OST_INCOMPATIBLE, "the host accepts ABI ", abi_text(in->abi_min), " to ",
           abi_text(in->abi_max), ", this plugin has ", abi_text(about.abi_min), " to ",
           abi_text(about.abi_max));
    }
  } catch (...) {
    const Failure failure = current_failure();
    copy_text(out->reason, failure.what());
    return OST_INCOMPATIBLE;
  }
  out->abi = high;
  out->table = table;
  return OST_OK;
}

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_NEGOTIATE_HPP_
