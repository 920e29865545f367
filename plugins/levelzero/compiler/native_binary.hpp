// What is in the binaries of Intel's compiler: read, and not trusted.
#pragma once

#include <cstdint>
#include <string_view>

namespace levelzero {

// Bytes of instructions that the binary has for the kernel; 0 if it has none, or is damaged.
uint64_t instructions_of(std::string_view binary, std::string_view kernel);

}  // namespace levelzero
