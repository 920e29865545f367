#include "core/passes/simplify.hpp"

#include <gtest/gtest.h>

#include "core/ir/ops.hpp"

namespace ost {
namespace {

using ir::NodeId;
using ir::Op;

class Simplify : public testing::Test {
 protected:
  NodeId input(Shape shape, DType t = DType::f32) {
    return *g.add_input({"x", ir::InputKind::argument, t, std::move(shape), 0, nullptr});
  }
  NodeId node(Op op, std::vector<NodeId> inputs, Shape shape = {}, std::vector<int64_t> ints = {}) {
    ir::Node n;
    n.op = op;
    n.inputs = std::move(inputs);
    n.shape = std::move(shape);
    n.ints = std::move(ints);
    auto id = g.add(std::move(n));
    EXPECT_TRUE(id.has_value()) << (id ? "" : id.error().message);
    return id.value_or(0);
  }
  NodeId full(Shape shape, uint64_t bits, DType t = DType::f32) {
    ir::Node n;
    n.op = Op::full;
    n.dtype = t;
    n.shape = std::move(shape);
    n.bits = bits;
    return *g.add(std::move(n));
  }
  // What the output of the simplified graph is, as "op(op(...))" of the chain of first operands.
  std::string after(NodeId output) {
    g.add_output("y", output);
    auto r = simplify(g);
    EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().message);
    EXPECT_TRUE(ir::verify(*r).has_value());
    std::string text;
    for (NodeId n = r->outputs()[0].node;; n = r->node(n).inputs[0]) {
      text += (text.empty() ? "" : " ") + std::string(ir::name_of(r->node(n).op));
      if (r->node(n).inputs.empty()) return text;
    }
  }
  ir::Graph g;
};

TEST_F(Simplify, MovementThatMovesNothingIsGone) {
  const NodeId x = input({2, 3});
  EXPECT_EQ(
      after(node(Op::flip, {node(Op::permute, {node(Op::reshape, {x}, {2, 3})}, {}, {0, 1})})),
      "input");
}

TEST_F(Simplify, ReshapeOfReshapeIsOne) {
  EXPECT_EQ(after(node(Op::reshape, {node(Op::reshape, {input({2, 3})}, {6})}, {3, 2})),
            "reshape input");
}

TEST_F(Simplify, PermutationsCompose) {
  const NodeId once = node(Op::permute, {input({2, 3, 4})}, {}, {1, 2, 0});
  EXPECT_EQ(after(node(Op::permute, {once}, {}, {2, 0, 1})), "input");
}

TEST_F(Simplify, AConstantLooksTheSameFromEverywhere) {
  EXPECT_EQ(after(node(Op::expand, {full({1, 3}, 7)}, {5, 3})), "full");
}

TEST_F(Simplify, MultiplicationByOneIsGoneAndByZeroIsNot) {
  const NodeId x = input({4});
  EXPECT_EQ(after(node(Op::mul, {full({4}, 0x3f800000), node(Op::neg, {x})})), "neg input");
  g.clear_outputs();
  EXPECT_EQ(after(node(Op::mul, {x, full({4}, 0)})), "mul input");  // 0 * NaN is NaN, 0 * -1 is -0
  g.clear_outputs();
  EXPECT_EQ(after(node(Op::add, {x, full({4}, 0)})), "add input");  // -0 + 0 is +0
}

TEST_F(Simplify, ADecidedSelectionIsItsSide) {
  const NodeId x = input({4});
  EXPECT_EQ(after(node(Op::where, {full({4}, 1, DType::boolean), node(Op::neg, {x}), x})),
            "neg input");
}

TEST_F(Simplify, DoubleNegationIsGone) {
  EXPECT_EQ(after(node(Op::neg, {node(Op::neg, {input({4})})})), "input");
}

TEST_F(Simplify, InputsStayWithoutUse) {
  input({1});
  const NodeId y = input({2});
  g.add_output("y", y);
  EXPECT_EQ(simplify(g)->inputs().size(), 2u);
}

}  // namespace
}  // namespace ost
