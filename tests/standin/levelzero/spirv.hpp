// What the test driver has to know of a SPIR-V module: its kernels, their arguments, what it needs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace standin {

enum class ArgumentKind { kGlobal, kLocal, kValue };
struct Argument {
  ArgumentKind kind;
  size_t size;  // bytes of the value
};
struct KernelInfo {
  std::vector<Argument> arguments;
  std::array<uint32_t, 3> group{};  // required work-group, zeros if none is
};
struct SpirvModule {
  std::vector<uint32_t> words;
  std::map<std::string, KernelInfo> kernels;
  bool fp64 = false;
};

// Throws std::runtime_error on what is not a module with kernels. With `without_null`, constants
// that are OpConstantNull of a number or a bool become ordinary zeros: Debian's translator to
// LLVM 15 aborts on them.
SpirvModule parse_spirv(std::span<const uint8_t> bytes, bool without_null);

}  // namespace standin
