// Reductions in the exact order of their tag (docs/numerics.md). A reducer is fed the values of its
// axis in ascending order, in blocks of kBlock elements of which only the last may be shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/kir/interpret_ops.hpp"

namespace ost::kir::interp {

class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void begin() = 0;
  // y: the second operand of a contraction, else nullptr.
  virtual void feed(size_t n, const void* x, const void* y) = 0;
  virtual void finish(void* out) = 0;
};

// For a record `reduce`, `contract` or `argreduce` whose value operand has type `type`; nullptr if
// the combination is none that the verifier accepts.
std::unique_ptr<Reducer> make_reducer(const Inst& inst, DType type);

// Online softmax of one query row over its keys, tag attn. The weights depend on the scores alone
// and serve every channel of the row.
class AttnRow {
 public:
  void begin();
  void feed_scores(size_t n, const float* score, const bool* mask);
  void weigh();  // after the last score
  // The output of one channel; `v` has a value for each key.
  float mix(const float* v) const;
  size_t keys() const { return weights_.size(); }

 private:
  struct Chunk {
    float m, l;        // maximum and sum of the chunk
    float keep, take;  // factors of the state so far and of this chunk when they are combined
  };
  void weigh_block(size_t first, size_t end, Chunk& chunk);

  std::vector<float> weights_;    // scores, then exp(score - maximum so far)
  std::vector<uint8_t> visible_;  // the mask
  std::vector<float> rescale_;    // for each block of 64 keys
  std::vector<Chunk> chunks_;
  float total_ = 0;
};

}  // namespace ost::kir::interp
