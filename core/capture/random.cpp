// Random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)
// written in graph operations, so every device computes the same bits.
//
// Element e of a draw is block (counter + e, stream) under the session's key. Key and counter are
// u64[2] in device memory. Eagerly each draw moves the counter on; a captured program reads it once
// and moves it on once, at its end, by all that it drew, so a replay goes on where the last call
// stopped. Known waste: three of a block's four words are not used (two of them by `normal`).
#include <algorithm>
#include <array>

#include "core/capture/session.hpp"
#include "core/ir/build.hpp"

namespace ost::capture {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Op;

constexpr std::array<uint64_t, 2> kMultipliers{0xD2511F53, 0xCD9E8D57};
constexpr std::array<uint32_t, 2> kWeyl{0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

// Builds nodes over one shape; the first error sticks.
class Words {
 public:
  Words(Graph& g, const Shape& shape) : g_(g), shape_(shape) {}

  NodeId keep(Result<NodeId> r) {
    if (!r && !error_) error_ = std::move(r).error();
    return r && !error_ ? *r : 0;
  }
  NodeId binary(Op op, NodeId a, NodeId b) { return error_ ? 0 : keep(ir::binary(g_, op, a, b)); }
  NodeId cast(NodeId x, DType to) { return error_ ? 0 : keep(ir::cast(g_, x, to)); }
  NodeId number(DType type, uint64_t value) {
    return error_ ? 0 : keep(ir::full_int(g_, type, shape_, static_cast<int64_t>(value)));
  }
  NodeId real(double value) { return error_ ? 0 : keep(ir::full(g_, DType::f32, shape_, value)); }
  NodeId unary(Op op, NodeId x) { return error_ ? 0 : keep(ir::unary(g_, op, x)); }
  NodeId low(NodeId x) { return cast(x, DType::u32); }
  NodeId high(NodeId x) { return low(binary(Op::shr, x, number(DType::u64, 32))); }
  // Element i of a vector, everywhere.
  NodeId broadcast_element(NodeId vector, int64_t i) {
    if (error_) return 0;
    const ir::Slice at{Sym(i), Sym(i + 1), 1};
    const NodeId one = keep(ir::slice(g_, vector, std::span(&at, 1)));
    const NodeId flat = error_ ? 0 : keep(ir::reshape(g_, one, {}));
    return error_ ? 0 : keep(ir::broadcast_to(g_, flat, shape_));
  }
  // The position in row-major order.
  NodeId position() {
    if (error_) return 0;
    return cast(keep(ir::reshape(g_, keep(ir::arange(g_, numel(shape_))), shape_)), DType::u64);
  }
  std::array<NodeId, 2> philox(NodeId key, NodeId counter, uint32_t stream);
  std::optional<Error> error_;

 private:
  Graph& g_;
  const Shape& shape_;
};

// The first two of the block's four words.
std::array<NodeId, 2> Words::philox(NodeId key, NodeId counter, uint32_t stream) {
  std::array<NodeId, 4> x{low(counter), high(counter), number(DType::u32, stream),
                          number(DType::u32, 0)};
  std::array<NodeId, 2> k{low(key), high(key)};
  for (int round = 0; round < kRounds; ++round) {
    const NodeId p0 = binary(Op::mul, cast(x[0], DType::u64), number(DType::u64, kMultipliers[0]));
    const NodeId p1 = binary(Op::mul, cast(x[2], DType::u64), number(DType::u64, kMultipliers[1]));
    x = {binary(Op::bit_xor, binary(Op::bit_xor, high(p1), x[1]), k[0]), low(p1),
         binary(Op::bit_xor, binary(Op::bit_xor, high(p0), x[3]), k[1]), low(p0)};
    for (size_t i = 0; i < 2; ++i) k[i] = binary(Op::add, k[i], number(DType::u32, kWeyl[i]));
  }
  return {x[0], x[1]};
}

// 24 bits as a multiple of 2^-24.
NodeId unit(Words& w, NodeId word, int64_t plus) {
  const NodeId top = w.binary(Op::shr, word, w.number(DType::u32, 8));
  const NodeId moved = plus == 0 ? top : w.binary(Op::add, top, w.number(DType::u32, 1));
  return w.binary(Op::mul, w.cast(moved, DType::f32), w.real(0x1p-24));
}

NodeId shaped(Words& w, Session::Random kind, const std::array<NodeId, 2>& words) {
  if (kind == Session::Random::bits) return words[0];
  if (kind == Session::Random::uniform) return unit(w, words[0], 0);
  // Box and Muller; the logarithm's argument is in (0, 1].
  const NodeId radius =
      w.unary(Op::sqrt, w.binary(Op::mul, w.real(-2), w.unary(Op::log, unit(w, words[0], 1))));
  const NodeId angle = w.binary(Op::mul, w.real(6.283185307179586), unit(w, words[1], 0));
  return w.binary(Op::mul, radius, w.unary(Op::cos, angle));
}

}  // namespace

Result<TensorPtr> Session::counters(uint32_t device) {
  if (auto it = counters_.find(device); it != counters_.end()) return it->second;
  const std::array<uint64_t, 2> start{seed_, 0};
  OST_TRY_ASSIGN(TensorPtr made, upload(DType::u64, {Sym(2)}, device,
                                        {reinterpret_cast<const uint8_t*>(start.data()), 16}));
  streams_.push_back(device);
  counters_.emplace(device, made);
  return made;
}

Result<TensorPtr> Session::random(Random kind, Shape shape, uint32_t device) {
  OST_TRY_ASSIGN(const TensorPtr state, counters(device));
  const auto stream = static_cast<uint32_t>(std::ranges::find(streams_, device) - streams_.begin());
  const Sym before = capture_ ? capture_->drawn[device] : Sym(0);
  const Sym count = numel(shape);
  const auto build = [&](Graph& g, std::span<const NodeId> in) -> Result<NodeId> {
    Words w(g, shape);
    NodeId counter = w.broadcast_element(in[0], 1);
    counter = w.binary(Op::add, counter, w.position());
    if (before != Sym(0)) {
      const NodeId drawn = w.error_ ? 0 : w.keep(ir::detail::size_value(g, before, DType::u64));
      const NodeId all = w.error_ ? 0 : w.keep(ir::broadcast_to(g, drawn, shape));
      counter = w.binary(Op::add, counter, all);
    }
    const auto words = w.philox(w.broadcast_element(in[0], 0), counter, stream);
    const NodeId out = shaped(w, kind, words);
    if (w.error_) return std::unexpected(*w.error_);
    return out;
  };
  OST_TRY_ASSIGN(TensorPtr drawn, apply(std::span(&state, 1), build, device));
  if (capture_) {
    capture_->drawn[device] = before + count;
  } else {
    OST_TRY(advance_counters(device, count));
  }
  return drawn;
}

Result<> Session::advance_counters(uint32_t device, const Sym& drawn) {
  const TensorPtr& state = counters_.at(device);
  const auto build = [&](Graph& g, std::span<const NodeId> in) -> Result<NodeId> {
    const ir::Slice at{Sym(1), Sym(2), 1};
    OST_NODE(counter, ir::slice(g, in[0], std::span(&at, 1)));
    OST_NODE(count, ir::detail::size_value(g, drawn, DType::u64));
    OST_NODE(all, ir::broadcast_to(g, count, {Sym(1)}));
    return ir::binary(g, Op::add, counter, all);
  };
  OST_TRY_ASSIGN(const TensorPtr next, apply(std::span(&state, 1), build));
  return assign(state, next, {Sym(1)});
}

Result<> Session::seed(uint64_t seed) {
  if (capture_)
    return fail(OST_JIT_ERROR,
                "the random numbers cannot be seeded while a function is captured; seed them "
                "between two calls");
  OST_TRY(realize(live_lazy()));
  seed_ = seed;
  const std::array<uint64_t, 2> start{seed_, 0};
  for (const auto& [device, state] : counters_)
    OST_TRY(state->storage().buffer->write(
        0, {reinterpret_cast<const uint8_t*>(start.data()), sizeof start}));
  return {};
}

}  // namespace ost::capture
