// How the axes of a reshape correspond: the finest split of both shapes into runs of equal element
// count.
#pragma once

#include <span>
#include <vector>

#include "core/base/sym.hpp"

namespace ost {

// Axes [from_begin, from_end) of the operand hold the same elements as axes [to_begin, to_end) of
// the result. Runs are in order and cover both shapes; a run of one axis on each side is an
// unchanged axis.
struct ReshapeRun {
  size_t from_begin, from_end;
  size_t to_begin, to_end;
};

std::vector<ReshapeRun> reshape_runs(std::span<const Sym> from, std::span<const Sym> to);

}  // namespace ost
