// SPIR-V to LLVM bitcode, for OpenCL implementations that take no SPIR-V (PoCL 3.1).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace standin {

// By the program `translator` (llvm-spirv). Results are kept in the folder `cache`, by the hash of
// the module, unless it is "". Throws std::runtime_error with what the translator said.
std::string translate(std::span<const uint32_t> words, const std::string& translator,
                      const std::string& cache);

}  // namespace standin
