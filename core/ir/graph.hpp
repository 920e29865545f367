// The tensor graph: SSA over whole tensors with symbolic shapes.
//
// Nodes live in one vector and name only earlier nodes: topological by construction, deterministic,
// trivially printed. Equal nodes are made once. This level is strict about shapes and types
// (operands of an elementwise node have equal shapes and types); NumPy's broadcasting, promotion
// and the composite operations are builders on top (core/ir/ops.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/literal.hpp"
#include "core/base/result.hpp"
#include "core/base/sym.hpp"
#include "core/kir/kernel.hpp"

namespace ost::ir {

using NodeId = uint32_t;

enum class Op : uint8_t {
  // Sources.
  input,  // index into Graph::inputs()
  full,   // one value everywhere: `bits`
  iota,   // i64: the index along axis ints[0]
  size,   // i64 scalar: the value of syms[0], how a variable or a dimension becomes data
  // Movement: index maps, never a copy by themselves.
  reshape,  // to `shape`, row-major order kept, equal number of elements
  permute,  // axis d of the result is axis ints[d] of the operand
  expand,   // axes of size 1 to `shape`; rank stays
  shrink,   // element i of axis d is operand element syms[d] + i * ints[d] (ints: steps >= 1)
  pad,      // syms: before per axis, then after per axis; outside reads `bits`
  flip,     // axes in ints are reversed
  window,   // ints: axis, taps, stride, dilation; the axis becomes two, (positions, taps): element
            // (p, t) is operand element p * stride + t * dilation
  // Elementwise, one operand.
  neg,
  abs,
  sign,
  sqrt,
  floor,
  ceil,
  trunc,
  round,
  bit_not,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log1p,
  sin,
  cos,
  tanh,
  sigmoid,
  silu,
  erf,
  gelu,
  rsqrt,
  relu,
  cast,     // value conversion to dtype
  bitcast,  // same width
  // Elementwise, two operands of one type.
  add,
  sub,
  mul,
  div,  // float: IEEE; integer: truncates, x/0 = 0
  rem,  // integer: sign of the dividend, x rem 0 = 0
  pow,  // float
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  eq,
  ne,
  lt,
  le,  // result bool
  // Elementwise, three operands.
  where,  // bool, T, T
  fma,    // float: a * b + c with one rounding (halves: one rounding of the f32 result)
  // Reductions over the axes in ints (ascending); they stay as size 1. `order` was set when the
  // node was made.
  sum,
  prod,
  max,
  min,
  bit_and_reduce,
  bit_or_reduce,
  bit_xor_reduce,
  argmax,
  argmin,  // one axis; i64; first extreme, first NaN wins
  // a[..., M, K] . b[..., N, K] -> [..., M, N]; batch axes equal; dtype of both operands is the
  // accumulator's (no bool,
  // f16, bf16).
  contract,
  // softmax(scale * q k^T + bias) v over the keys whose mask is true, with its own order
  // (docs/numerics.md): q[..., M, D], k[..., T, D], v[..., T, C], mask bool[..., M, T] and perhaps
  // bias f32[..., M, T] -> [..., M, C]; f32. bits: scale as f32 bits.
  attention,
  // data[..., X, ...], index int[I...] along axis ints[0] -> data.shape with X replaced by I;
  // negative counts from the
  // end; outside reads 0.
  gather,
  // base, index int[I], updates: base.shape with axis ints[0] replaced by I. Writes (or adds) rows
  // in ascending order of
  // i; negative counts from the end; outside is dropped.
  scatter,
  scatter_add,
  // In-place: operand 0 is an input of kind state or argument (or an earlier assign to it), operand
  // 1 the new value of
  // the region that starts at syms (size: the value's shape). The result is the whole buffer
  // afterwards.
  assign,
  // The same value on logical device `bits`.
  copy,
};

// "add", "bit_and_reduce", ...
std::string_view name_of(Op op);
std::optional<Op> op_from_name(std::string_view name);

constexpr bool is_movement(Op op) { return op >= Op::reshape && op <= Op::window; }
constexpr bool is_unary(Op op) { return op >= Op::neg && op <= Op::bitcast; }
constexpr bool is_binary(Op op) { return op >= Op::add && op <= Op::le; }
constexpr bool is_elementwise(Op op) { return op >= Op::neg && op <= Op::fma; }
constexpr bool is_reduction(Op op) { return op >= Op::sum && op <= Op::argmin; }

struct Node {
  Op op = Op::input;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<NodeId> inputs;
  std::vector<int64_t> ints;
  std::vector<Sym> syms;
  uint64_t bits = 0;
  kir::Order order = kir::Order::any;
  friend bool operator==(const Node&, const Node&) = default;
};

// What an `input` node stands for.
enum class InputKind : uint8_t {
  argument,  // bound per call, by position
  state,     // lives as long as the program; may be assigned
  constant,  // data known now
};
std::string_view name_of(InputKind kind);  // "argument", "state", "constant"

struct Input {
  std::string name;
  InputKind kind = InputKind::argument;
  DType dtype = DType::f32;
  Shape shape;
  uint32_t device = 0;  // logical device where it lives
  LiteralPtr data;      // kind constant; state: initial value, may be null (zeros)
};

class Graph {
 public:
  // Adds an input and returns its node. Names need not be unique here; the front doors see to it.
  Result<NodeId> add_input(Input input);

  // Checks operands and attributes, infers dtype and shape where they follow (they may be left
  // empty then), and returns the node, or an equal existing one. Errors name the op, what was found
  // and what was wanted. The order of a float sum, prod or contract that is left at `any` is set
  // here from the axes (numerics §4.1); a given one is kept, so a pass that rewrites such a node
  // must hand its order on.
  Result<NodeId> add(Node node);

  const Node& node(NodeId id) const { return nodes_[id]; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Input> inputs() const { return inputs_; }
  const Input& input(NodeId id) const { return inputs_[nodes_[id].bits]; }

  void add_output(std::string name, NodeId node);
  struct Output {
    std::string name;
    NodeId node;
  };
  std::span<const Output> outputs() const { return outputs_; }
  void clear_outputs() { outputs_.clear(); }

  // The variables of all shapes and attributes, sorted by name; one name with two bounds is an
  // error.
  Result<std::vector<Var>> vars() const;

 private:
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::unordered_multimap<size_t, NodeId> index_;  // by hash of the node
};

// Every rule of the node list above, over the whole graph; run after each pass in debug builds.
Result<> verify(const Graph& graph);

// One node a line; round-trips through parse(). Literals larger than `inline_bytes` are named by
// their sha256 only.
struct TextOptions {
  uint64_t inline_bytes = UINT64_MAX;
};
std::string to_text(const Graph& graph, const TextOptions& options = {});

// Reads what to_text() prints; errors name the line. `resolve` supplies the literals that are named
// by sha256.
using LiteralResolver = std::function<Result<std::vector<uint8_t>>(std::string_view sha256)>;
Result<Graph> parse(std::string_view text, const LiteralResolver& resolve = {});

}  // namespace ost::ir
