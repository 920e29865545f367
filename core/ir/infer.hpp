// What each operation demands of its operands and attributes, and what type and shape its result
// has. One function a family of operations; Graph::add() and verify() both go through infer(), so
// the rules exist once.
#pragma once

#include "core/ir/graph.hpp"

namespace ost::ir {

// Checks `node`, whose operands are in `graph`, and fills in its dtype, shape and order.
Result<> infer(const Graph& graph, Node& node);

namespace detail {

// One node under examination. The functions below read operands through it and report through it,
// so that every message starts with the operation's name.
struct Check {
  const Graph& graph;
  Node& node;

  const Node& in(size_t i) const { return graph.node(node.inputs[i]); }
  std::string type(size_t i) const;  // "f32[n, 64]"

  template <typename... Args>
  std::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(OST_INVALID_ARGUMENT, "{}: {}", name_of(node.op),
                fmt::format(format, std::forward<Args>(args)...));
  }

  // How many attributes the node must have.
  Result<> want_ints(size_t count) const;
  Result<> want_syms(size_t count) const;
  Result<> want_axis(size_t operand) const;  // ints[0] is an axis of that operand
  // Sets the result's shape; one that was given must be the same.
  Result<> set_shape(Shape shape) const;
};

Result<> infer_source(const Check& c);       // input, full, iota, size
Result<> infer_movement(const Check& c);     // reshape .. flip
Result<> infer_elementwise(const Check& c);  // neg .. fma
Result<> infer_reduction(const Check& c);    // sum .. argmin
Result<> infer_contract(const Check& c);     // contract, attention
Result<> infer_indexed(const Check& c);      // gather, scatter, scatter_add, assign, copy

}  // namespace detail

// "f32[n, 64]", for messages and the text form.
std::string type_string(DType dtype, std::span<const Sym> shape);
std::string type_string(const Graph& graph, NodeId id);

}  // namespace ost::ir
