// A hard cap on the arenas: the steps in another order, values computed again instead of kept, and
// values computed and used part by part, until the memory plan fits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/program.hpp"
#include "core/schedule/schedule.hpp"

namespace ost {

// Changes the steps of a program whose temps have no place yet so that the arena of every device
// fits options.arena_limit, and returns what the largest arena then needs. If it cannot, the
// program is unchanged, and the result is the smallest that was found: the same whatever the limit
// is, so that this limit works. `access` (per step and argument) follows the steps; edges are left
// to connect_steps().
//
// Tried in this order: the steps as they are; as they free most soonest; then, one value at a time
// and the largest first: what lives across the point of the largest demand without being used there
// is computed again behind it, or what one step makes and one step uses is made and used in 2 to 32
// parts (core/schedule/slice.hpp). Bounded: about 2,000 plans of a program of
// 100 steps, fewer for larger ones.
uint64_t fit_arena(Program& program, std::vector<std::vector<uint32_t>>& access,
                   const ScheduleOptions& options);

}  // namespace ost
