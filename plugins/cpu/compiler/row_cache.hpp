// A row kernel often computes one value twice: for each step of a reduction, and again for each
// point of the row that it stores (softmax: exp(x - max)). Where the two expressions are the same
// up to the name of the axis, the reduction keeps its values in scratch memory and the store reads
// them.
#pragma once

#include <optional>
#include <vector>

#include "plugins/cpu/compiler/facts.hpp"

namespace ost_cpu {

struct RowCache {
  kir::Id kept = kir::kNone;    // the value inside of the reduction
  kir::Id reused = kir::kNone;  // the same value for the points of the vector axis
};

// Looks for the most expensive such value. `vector` is the nest's vector axis, `needed` all that
// its stores need.
std::optional<RowCache> find_row_cache(const Facts& facts, kir::Id vector,
                                       const std::vector<kir::Id>& needed);

}  // namespace ost_cpu
