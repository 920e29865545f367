// Attention as tiles: rows of queries at a time, 64 keys at a time. The scores of a block are a
// tile of a matrix product (gemm.hpp), the softmax runs over its rows, and the values are mixed in
// a second register tile, all in the order `attn`. The general way (attention.cpp) computes each
// row for itself.
#pragma once

#include <optional>

#include "plugins/cpu/compiler/gemm.hpp"

namespace ost_cpu {

struct AttentionPlan {
  GemmPlan scores;       // of the contraction in the score: m = queries, n = keys
  Id attention = kNone;  // the record
  Id channel = kNone;    // the axis of the values
  int64_t channels = 0;  // padded to whole vectors
  std::vector<Id> outer;
};

std::optional<AttentionPlan> plan_attention(const Facts& facts, FeatureSet isa,
                                            const Statement& statement);
void add_attention(Lowering& lowering, const AttentionPlan& plan);

}  // namespace ost_cpu
