// Builders over the graph: NumPy broadcasting and promotion, and the composite operations. Every
// function returns the node or an error that names the operation, what was found and what was
// wanted; the graph is unchanged by an error except for nodes that nothing uses.
#pragma once

#include <array>

#include "core/ir/graph.hpp"

namespace ost::ir {

using Node1 = Result<NodeId>;

// --- shapes and types ---
Result<Shape> broadcast_shapes(std::span<const Sym> a, std::span<const Sym> b);
// NumPy 2's result type of two array operands (bool < ints < floats; i64 with u64 gives f64; bf16
// with f16 gives f32).
DType promote(DType a, DType b);
Node1 broadcast_to(Graph& g, NodeId x, Shape shape);
Node1 cast(Graph& g, NodeId x, DType to);

// --- sources ---
Node1 full(Graph& g, DType dtype, Shape shape, double value);
Node1 full_int(Graph& g, DType dtype, Shape shape, int64_t value);
Node1 constant(Graph& g, LiteralPtr data, std::string name = {});
Node1 arange(Graph& g, Sym count);

// --- movement, NumPy's meaning; negative axes count from the end ---
Node1 reshape(Graph& g, NodeId x, Shape shape);  // one dimension may be -1
Node1 permute(Graph& g, NodeId x, std::vector<int64_t> order);
Node1 transpose(Graph& g, NodeId x);  // last two axes swapped (rank >= 2), identity below
struct Slice {
  std::optional<Sym> start, stop;
  int64_t step = 1;  // not 0; negative reverses
};
Node1 slice(Graph& g, NodeId x, std::span<const Slice> slices);  // per axis, missing ones whole
Node1 pad(Graph& g, NodeId x, std::span<const std::pair<Sym, Sym>> widths, double value = 0);
Node1 flip(Graph& g, NodeId x, std::vector<int64_t> axes);
Node1 concat(Graph& g, std::span<const NodeId> parts, int64_t axis);
Node1 squeeze(Graph& g, NodeId x, int64_t axis);
Node1 unsqueeze(Graph& g, NodeId x, int64_t axis);

// --- elementwise, with broadcasting and promotion. Functions of real numbers take integers and
// bool as f32 (8- and 16-bit ones too), half types stay half (computed in f32, rounded once at the
// end). ---
Node1 unary(Graph& g, Op op, NodeId x);
Node1 binary(Graph& g, Op op, NodeId a, NodeId b);
Node1 true_divide(Graph& g, NodeId a, NodeId b);   // integers become floats
Node1 floor_divide(Graph& g, NodeId a, NodeId b);  // NumPy's //
Node1 floor_mod(Graph& g, NodeId a, NodeId b);     // NumPy's %, sign of the divisor
Node1 where(Graph& g, NodeId cond, NodeId a, NodeId b);
// An operand that is a Python-like scalar takes the other's type if it can (NEP 50).
Node1 scalar_like(Graph& g, NodeId like, double value, bool is_int);

// --- reductions. `axes` empty: all. sum and prod of bool and small ints accumulate in i64/u64 as
// NumPy does. ---
Node1 reduce(Graph& g, Op op, NodeId x, std::vector<int64_t> axes, bool keepdims);
Node1 mean(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims);
Node1 any(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims);
Node1 all(Graph& g, NodeId x, std::vector<int64_t> axes, bool keepdims);
Node1 argreduce(Graph& g, Op op, NodeId x, std::optional<int64_t> axis, bool keepdims);

// --- contractions: NumPy's matmul rules. f16/bf16 accumulate in f32 and are rounded once;
// i8/u8/i16/u16 operands accumulate in their own type unless acc says otherwise. ---
Node1 matmul(Graph& g, NodeId a, NodeId b, std::optional<DType> acc = {});
Node1 dot(Graph& g, NodeId a, NodeId b);
Node1 linear(Graph& g, NodeId x, NodeId weight /* [N, K] */, std::optional<NodeId> bias);
// mask: bool (true: the key is seen), or a float that is added to the scores. Causal: the last
// query sees all keys.
Node1 attention(Graph& g, NodeId q, NodeId k, NodeId v, std::optional<NodeId> mask,
                std::optional<double> scale, bool causal);
Node1 gather(Graph& g, NodeId data, NodeId index, int64_t axis);
Node1 scatter(Graph& g, NodeId base, NodeId index, NodeId updates, int64_t axis, bool add);

// --- windows over axes 2 and 3 of [N, C, H, W] ---
struct Sliding {
  std::array<int64_t, 2> stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 2> before{0, 0}, after{0, 0};  // padding
};
// The axis becomes (positions, taps).
Node1 window(Graph& g, NodeId x, int64_t axis, int64_t taps, int64_t stride, int64_t dilation);
// Filters [O, C / groups, KH, KW], bias [O]; a contraction over (kh, kw, c), order blk256.
Node1 conv2d(Graph& g, NodeId x, NodeId filters, std::optional<NodeId> bias, const Sliding& how,
             int64_t groups);
// Padding never wins.
Node1 max_pool2d(Graph& g, NodeId x, std::array<int64_t, 2> size, const Sliding& how);
// The mean of the window; of its elements within the image only if padding does not count.
Node1 avg_pool2d(Graph& g, NodeId x, std::array<int64_t, 2> size, const Sliding& how,
                 bool count_padding);

// --- composites ---
Node1 softmax(Graph& g, NodeId x, int64_t axis);
Node1 log_softmax(Graph& g, NodeId x, int64_t axis);
Node1 logsumexp(Graph& g, NodeId x, int64_t axis, bool keepdims);
Node1 layernorm(Graph& g, NodeId x, std::optional<NodeId> gamma, std::optional<NodeId> beta,
                double eps);
Node1 rmsnorm(Graph& g, NodeId x, std::optional<NodeId> gamma, double eps);

// --- state and devices ---
Node1 assign(Graph& g, NodeId target, NodeId value, std::vector<Sym> starts = {});
Node1 copy_to(Graph& g, NodeId x, uint32_t device);

}  // namespace ost::ir
