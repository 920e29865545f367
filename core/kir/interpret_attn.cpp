// The order `attn`: blocks of 64 keys inside chunks of 1,024 keys. Each chunk starts afresh with m
// = -inf, l = 0, u = 0, and the chunks are combined from left to right. A masked key contributes
// nothing: m, l and u stay as they are.
#include <algorithm>
#include <limits>

#include "core/kir/interpret_reduce.hpp"
#include "core/kir/strict_exp.hpp"

namespace ost::kir::interp {
namespace {

constexpr size_t kKeyBlock = 64;
constexpr size_t kKeyChunk = 1024;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

// exp(x - m) must not become exp(-inf + inf) where everything so far is masked.
float finite_base(float m) { return m == kMinusInf ? 0.0f : m; }

}  // namespace

void AttnRow::begin() {
  weights_.clear();
  visible_.clear();
}

void AttnRow::feed_scores(size_t n, const float* score, const bool* mask) {
  weights_.insert(weights_.end(), score, score + n);
  visible_.insert(visible_.end(), mask, mask + n);
}

void AttnRow::weigh_block(size_t first, size_t end, Chunk& chunk) {
  float m = chunk.m;
  for (size_t j = first; j < end; ++j)
    if (visible_[j]) m = scalar::max(m, weights_[j]);
  const float base = finite_base(m);
  const float rescale = scalar::strict_exp(chunk.m - base);
  float lanes[kKeyBlock] = {};  // sum of the weights, lane = key
  for (size_t j = first; j < end; ++j) {
    weights_[j] = visible_[j] ? scalar::strict_exp(weights_[j] - base) : 0.0f;
    lanes[j - first] += weights_[j];
  }
  for (size_t w = kKeyBlock / 2; w > 0; w /= 2)
    for (size_t l = 0; l < w; ++l) lanes[l] = lanes[l] + lanes[l + w];
  chunk.l = std::fma(chunk.l, rescale, lanes[0]);
  chunk.m = m;
  rescale_.push_back(rescale);
}

void AttnRow::weigh() {
  rescale_.clear();
  chunks_.clear();
  float m = kMinusInf;
  total_ = 0;
  for (size_t first = 0; first < keys(); first += kKeyChunk) {
    Chunk c{kMinusInf, 0, 0, 1};
    const size_t end = std::min(keys(), first + kKeyChunk);
    for (size_t j = first; j < end; j += kKeyBlock) weigh_block(j, std::min(end, j + kKeyBlock), c);
    if (chunks_.empty()) {
      m = c.m, total_ = c.l;
    } else {
      const float next = scalar::max(m, c.m);
      c.keep = scalar::strict_exp(m - finite_base(next));
      c.take = scalar::strict_exp(c.m - finite_base(next));
      total_ = std::fma(total_, c.keep, c.l * c.take);
      m = next;
    }
    chunks_.push_back(c);
  }
}

float AttnRow::mix(const float* v) const {
  float out = 0;
  for (size_t k = 0; k < chunks_.size(); ++k) {
    float u = 0;
    const size_t first = k * kKeyChunk;
    const size_t end = std::min(keys(), first + kKeyChunk);
    for (size_t j = first; j < end; ++j) {
      if (j % kKeyBlock == 0) u = u * rescale_[j / kKeyBlock];
      if (visible_[j]) u = std::fma(weights_[j], v[j], u);
    }
    out = k == 0 ? u : std::fma(out, chunks_[k].keep, u * chunks_[k].take);
  }
  return total_ == 0 ? 0.0f : out / total_;
}

}  // namespace ost::kir::interp
