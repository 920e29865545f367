// Short texts for the parts of a program, shared by inspect and diff.
#pragma once

#include <span>
#include <string>

#include "core/schedule/program.hpp"

namespace ost::manifest {

std::string short_hash(std::string_view hex);  // its first 12 digits
std::string describe(DType dtype, const Shape& shape,
                     uint32_t device);         // "f32 [n, 64] on device 0"
std::string describe(const Literal& literal);  // "f32 [64, 32], 8192 bytes, sha256 1234abcd5678"
std::string buffer_label(const Program& program, uint32_t buffer);  // "input x", "temp 3"
std::string step_label(const Program& program, uint32_t step);      // "matmul(x, W1, temp 3; n)"
// The same with other names for the kernels.
std::string step_label(const Program& program, uint32_t step,
                       std::span<const std::string> kernel_names);
std::string kernel_label(const Program& program,
                         uint32_t kernel);  // axes with roles, parameters, operations

}  // namespace ost::manifest
