// What the checks of generated SPIR-V share: kernels with data, from the grid of the conformance kit
// and from random graphs, lowered for devices of several shapes and made into SPIR-V.
#pragma once

#include <string>
#include <vector>

#include "core/conformance/grid.hpp"
#include "core/kir/level2.hpp"

namespace ost::test {

// A kernel of level 1, and how it is made for one device.
struct Subject {
  std::string name;  // "add.f32.fixed"
  conform::Trial trial;
  uint32_t max_lanes = 256;
};

// The kernels whose name fits one of the patterns (all without any), in a fixed order.
std::vector<Subject> grid_subjects(const std::vector<std::string>& patterns);
// Many hard numbers, a few kernels ("wide.cast.f32").
std::vector<Subject> wide_subjects();
bool fits(const Subject& subject, const std::vector<std::string>& patterns);
// Kernels of programs of random graphs: without launches.
std::vector<Subject> graph_subjects(uint64_t first_seed, size_t graphs);

struct Spirv {
  std::string entry, words;
  kir::Kernel level2;
  uint32_t local_bytes = 0;
  bool fp64 = false;
};

struct SpirvOptions {
  bool soft_divide = false;
  int leave_out_barrier = -1;  // which one, by position
};
Result<Spirv> make_spirv(const Subject& subject, const SpirvOptions& options = {});
Result<Spirv> make_spirv(const kir::Kernel& level2, const std::string& entry,
                         const SpirvOptions& options = {});
size_t count_barriers(const kir::Kernel& level2);
kir::Kernel without_barrier(const kir::Kernel& level2, size_t which);

// OpConstantNull of a scalar becomes OpConstant 0: Debian's llvm-spirv stops at the former.
std::string without_scalar_nulls(const std::string& words);

}  // namespace ost::test
