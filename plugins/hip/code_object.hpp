// What an AMDGPU code object says about itself: an ELF file whose notes hold metadata in MessagePack.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hip {

struct CodeObject {
  std::string target;     // "gfx90a:xnack-", from the metadata
  uint32_t features = 0;  // of e_flags: what the target id must agree with
};

// Nothing if it is no AMDGPU object at all (the code of a stand-in); fails if it is a damaged one.
std::optional<CodeObject> read_code_object(std::string_view bytes);

}  // namespace hip
