// Level 2 of KIR: a kernel as one work-group runs it, record by record (docs/kir.md §10).
//
// The interpreter is the oracle for everything that is made of level 2: it runs all lanes of a
// group in step, checks each access, and finds what a device would only sometimes show: accesses
// that race, barriers that not all lanes reach.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::kir {

// The rules of level 2: operations and types, regions that nest and end, operands that are visible,
// uniform grids, barriers where all lanes of a group arrive. Errors name the record.
Result<> verify_level2(const Kernel& kernel);

// By record: the same for all lanes of a group. Loads from shared memory at a uniform index count
// as uniform: if lanes disagreed there would be a race.
std::vector<char> uniform_in_group(const Kernel& kernel);

// How many groups a launch has in each dimension, for values of the variables: 1 where the kernel
// says nothing; nothing is launched if one of them is 0.
class LaunchGrid {
 public:
  LaunchGrid() = default;
  explicit LaunchGrid(const Kernel& kernel);  // verified, of level 2

  bool is_const() const { return vars_ == 0; }
  // `vars` by slot. Allocates nothing; not by two threads at the same time.
  std::array<uint64_t, 3> eval(std::span<const int64_t> vars);

 private:
  struct Step {
    Inst inst;
    void (*fn)(size_t, void*, const void*, const void*, const void*) = nullptr;
  };
  std::vector<Step> steps_;
  std::vector<int64_t> values_;
  uint32_t vars_ = 0;  // that decide it
};

struct Level2Options {
  bool reverse = false;    // the last group first, and the last lane's stores first
  bool find_races = true;  // costs memory and time
};
// Executes a verified kernel. Errors: an access out of bounds, a race, a barrier that some lanes
// miss, wrong parameters or variables.
Result<> interpret_level2(const Kernel& kernel, std::span<const ParamData> params,
                          std::span<const int64_t> vars, const Level2Options& options = {});

}  // namespace ost::kir
