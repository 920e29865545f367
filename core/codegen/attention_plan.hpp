// Attention whose rows a group computes in tiles (docs/gpu-lowering.md): which nests they are, and
// the tile for a device. Pure functions of the kernel and the target.
#pragma once

#include "core/codegen/tile_plan.hpp"

namespace ost::codegen {

inline constexpr int64_t kAttentionBlock = 64;    // keys, of the order `attn`
inline constexpr int64_t kAttentionChunk = 1024;  // keys

// One grid of lanes for two tiles: rows by a block of keys, and rows by channels.
struct AttentionShape {
  TileShape scores;
  int64_t channels_of_lane = 1;
  int64_t staged_keys = 16;  // whose values are in local memory at a time

  int64_t rows() const { return scores.bm(); }
  int64_t channels() const { return scores.lanes_n * channels_of_lane; }
  int64_t lanes_of_row() const { return scores.lanes() / rows(); }
  int64_t weights_pitch() const { return kAttentionBlock + TileShape::kPad; }
  int64_t values_pitch() const { return channels() + TileShape::kPad; }
  // Floats of local memory that stages of operands, staged values and finished rows share.
  int64_t shared_floats() const;
  int64_t local_bytes() const;
};

struct AttentionProblem {
  int64_t rows = 1, channels = 1, keys = 1, depth = 1, batch = 1;
  bool many_chunks = false;
};

std::optional<AttentionShape> choose_attention(const AttentionProblem& problem,
                                               const Target& target, uint32_t lanes);

struct AttentionPlan {
  Value record = kir::kNone;
  Value score = kir::kNone, mask = kir::kNone, values = kir::kNone, keys = kir::kNone;  // operands
  TileContract product;                      // in the score: a has the rows, b the keys
  std::vector<Value> outer, rows, channels;  // axes
  AttentionProblem problem;
  AttentionShape shape;
};

// The plan for a nest of one statement, but for its shape.
std::optional<AttentionPlan> find_attention(const kir::Kernel& kernel, const kir::Scope& scope,
                                            const std::vector<kir::Range>& ranges,
                                            const Statement& statement);

}  // namespace ost::codegen
