// Before: any verified graph. After: the same outputs, bit for bit, with fewer nodes: movement that
// moves nothing is gone, movement of movement is one node, selections and multiplications by
// constants that decide them are gone, what constants alone decide is a constant, and what no
// output needs is gone. Only rewrites that are exact for every value, NaN and -0 included.
#pragma once

#include "core/ir/graph.hpp"

namespace ost {

Result<ir::Graph> simplify(const ir::Graph& graph);

}  // namespace ost
