// Level 2 of KIR: a kernel as one work-group runs it, record by record (docs/kir.md §10).
//
// The interpreter is the oracle for everything that is made of level 2: it runs all lanes of a
// group in step, checks each access, and finds what a device would only sometimes show: accesses
// that race, barriers that not all lanes reach.
#pragma once

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

// How many groups a launch with these variables has in each dimension; 1 where the kernel says
// nothing. Nothing is launched if one of them is 0. The kernel is verified.
struct Grid {
  uint64_t count[3];
};
Result<Grid> grid_of(const Kernel& kernel, std::span<const int64_t> vars);

struct Level2Options {
  bool reverse = false;    // the last group first, and the last lane's stores first
  bool find_races = true;  // costs memory and time
};
// Executes a verified kernel. Errors: an access out of bounds, a race, a barrier that some lanes
// miss, wrong parameters or variables.
Result<> interpret_level2(const Kernel& kernel, std::span<const ParamData> params,
                          std::span<const int64_t> vars, const Level2Options& options = {});

}  // namespace ost::kir
