// A kernel in a form that a device accepts, with what its launch needs.
#pragma once

#include <ostinato/plugin.h>

#include <optional>
#include <span>

#include "core/kir/level2.hpp"

namespace ost::codegen {

struct Launch {
  uint32_t lanes = 1;  // work-items of a group
  kir::LaunchGrid grid;
};

struct Formed {
  uint32_t form = OST_FORM_KIR_L1;
  std::vector<uint8_t> code;
  std::optional<Launch> launch;  // not for level 1, where the kernel knows its range
};

// The first of the device's forms that can be made. OST_UNIMPLEMENTED if there is none.
Result<Formed> form_for(const kir::Kernel& kernel, const ost_device_info_t& info,
                        std::string_view entry);

// "kir-l1", "opencl-c", ...
std::string_view form_name(uint32_t form);

}  // namespace ost::codegen
