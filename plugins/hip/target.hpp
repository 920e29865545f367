// Target ids of AMD's compilers: an architecture and what is on or off of its two features,
// "gfx90a:sramecc+:xnack-"; an absent feature is code that runs either way.
#pragma once

#include <optional>
#include <ostinato/plugin.hpp>
#include <span>
#include <string>
#include <string_view>

namespace hip {

struct Architecture {
  std::string_view name;  // "gfx90a"
  uint32_t wave;          // lanes of a wave
  uint32_t local_kib;     // local memory of a group
  bool sramecc, xnack;    // which features it has
  int hip;                // the first HIP whose hipRTC has it, 52 is 5.2; 0: not known of any
  int clang;              // the first clang whose code for it can be used here
  std::string_view like;  // generic code: the start of the architectures that run it
};

// Of those that the driver knows, in the order of their names; null for another one.
std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);

struct Target {
  std::string architecture;
  std::optional<bool> sramecc, xnack;  // nothing: either
};

// Fails on what is no target id, and on a feature that the architecture has not.
Target parse_target(std::string_view text);
// Whether code for `image` runs on a device of target `device`.
bool runs_on(const Target& image, const Target& device);

}  // namespace hip
