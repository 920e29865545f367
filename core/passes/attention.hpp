// Before: a simplified graph. After: softmax(scale * (q @ k^T) + bias) @ v in f32, written as its
// parts, is one `attention` node, also with where(mask, scores, -inf). A scale may be a constant
// factor or divisor of the scores or a factor of q. Heads have 1 to 512 features in q and k and 8 to
// 512 in v, known sizes both: others stay what they are.
//
// The one rewrite that changes bits, and it is declared: `attention` is an operation with an order
// of its own (docs/numerics.md). Beside the order two values differ from the parts: a query that
// sees no key gives 0 where 0/0 is NaN, and a key that a mask hides contributes nothing even if its
// value is infinite or NaN. Parts that something else reads as well stay, and the node is made
// beside them.
#pragma once

#include <optional>

#include "core/ir/graph.hpp"

namespace ost {

// Nothing if there is none.
Result<std::optional<ir::Graph>> recognise_attention(const ir::Graph& graph);

}  // namespace ost
