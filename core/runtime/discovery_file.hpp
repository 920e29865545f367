// The discovery file of a plugin, NAME.ostplugin.json, which says enough to refuse it without
// running its code:
//   {"format": "ostinato-plugin", "format_version": 1,
//    "library": "libostinato_cpu.so",      relative to this file
//    "abi": ["1.0", "1.0"],                first and last version of plugin.h that it has
//    "arch": "x86_64",                     as `uname -m` says it
//    "name": "cpu",                        optional: the driver's name, NAME otherwise
//    "sanitizer": "address"}               optional: "none", "address" or "thread"
// Other members are ignored.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"

namespace ost::runtime {

inline constexpr std::string_view kDiscoverySuffix = ".ostplugin.json";

struct DiscoveryFile {
  std::string library;  // absolute
  std::string name;     // of the driver
  uint32_t abi_min = 0;
  uint32_t abi_max = 0;
  std::string arch;
  uint32_t sanitizer = 0;  // OST_SANITIZER_*
};

// `path` is absolute. Errors carry the rule.
Result<DiscoveryFile> read_discovery_file(const std::string& path);

// "x86_64", "aarch64", ...: what this process can load.
std::string_view host_arch();
uint32_t host_sanitizer();
std::string_view sanitizer_name(uint32_t sanitizer);
std::string abi_name(uint32_t abi);          // "1.0"
bool is_driver_name(std::string_view name);  // [a-z][a-z0-9_]*

}  // namespace ost::runtime
