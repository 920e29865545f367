// What a kernel demands of its buffers, in terms of a program's variables.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/sym.hpp"
#include "core/kir/kernel.hpp"

namespace ost {

struct KernelParam {
  DType dtype = DType::f32;
  Sym count;            // elements
  uint32_t access = 0;  // OST_KIR_READ | OST_KIR_WRITE
  kir::Value record = 0;
};

// Parameters of a verified kernel by slot. `vars`: the variable bound to each variable slot. Fails
// where a count is no expression of variables, may overflow, or where a variable's bounds are wider
// than the kernel allows.
Result<std::vector<KernelParam>> kernel_params(const kir::Kernel& kernel,
                                               std::span<const Var> vars);

struct KernelAxis {
  kir::Role role = kir::Role::parallel;
  Sym extent;
};

// The axes of a verified kernel, outermost first as they are declared. Fails like kernel_params.
Result<std::vector<KernelAxis>> kernel_axes(const kir::Kernel& kernel, std::span<const Var> vars);

}  // namespace ost
