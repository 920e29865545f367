// Kernels of level 2 as source text for compilers of C-like languages. <ostinato/plugin.h> says what
// each dialect's function looks like.
#pragma once

#include <string>
#include <string_view>

#include "core/kir/kernel.hpp"

namespace ost::codegen {

enum class Dialect : uint8_t { c99, opencl_c, hip_cpp, cuda_cpp };

// One translation unit with one kernel, `entry`. c99 has no lanes: the kernel must have been
// lowered for one.
Result<std::string> print(const kir::Kernel& kernel, Dialect dialect, std::string_view entry);

// prelude.cpp: types and functions that the kernels use, by dialect; `f64`: those for f64 too.
std::string prelude(Dialect dialect, bool f64);

}  // namespace ost::codegen
