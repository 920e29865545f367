// The link step: object files become an image (plugins/cpu/abi/image.hpp).
#pragma once

#include <string>
#include <string_view>

namespace ost_cpu {

// `object` is an x86-64 ELF relocatable file as LLVM writes it for a kernel. Refuses what an image
// may not have: writable data, imports, relocations that are not PC-relative.
std::string link_image(std::string_view object, std::string_view note);

}  // namespace ost_cpu
