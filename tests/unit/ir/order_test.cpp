// Order tags: set when a node is made, from axes and dimension numbers, and kept by whoever passes
// one on.
#include "helpers.hpp"

namespace ost::ir {
namespace {

using kir::Order;

struct Orders : testing::Test {
  Graph g;
  Sym n = var("n", 1, 9);
  NodeId x(Shape shape, DType type = DType::f32) { return input(g, type, std::move(shape)); }

  // The tag of the only contraction, sum or product below a node.
  Order order_of(const Node1& made) {
    EXPECT_TRUE(made) << made.error().message;
    NodeId id = made.value();
    while (g.node(id).op != Op::contract && !is_reduction(g.node(id).op))
      id = g.node(id).inputs.at(0);
    return g.node(id).order;
  }
};

TEST_F(Orders, SumsOverTheLastAxisAreTrees) {
  EXPECT_EQ(order_of(reduce(g, Op::sum, x({2, 3}), {1}, false)), Order::tree);
  EXPECT_EQ(order_of(reduce(g, Op::sum, x({2, 3}), {0, 1}, false)), Order::tree);
  EXPECT_EQ(order_of(reduce(g, Op::prod, x({3}), {}, false)), Order::tree);
  EXPECT_EQ(order_of(reduce(g, Op::sum, x({2, 3}), {0}, false)), Order::blk256);
  EXPECT_EQ(order_of(reduce(g, Op::prod, x({2, 3, 4}), {0, 1}, false)), Order::blk256);
  EXPECT_EQ(order_of(reduce(g, Op::sum, x({2, 1}), {0}, false)),
            Order::blk256);  // the last axis counts though it is 1
  EXPECT_EQ(order_of(mean(g, x({n, 3}, DType::bf16), {-1}, false)), Order::tree);
}

TEST_F(Orders, WhatHasNoOrderHasNoTag) {
  EXPECT_EQ(order_of(reduce(g, Op::max, x({2, 3}), {1}, false)), Order::any);
  EXPECT_EQ(order_of(reduce(g, Op::sum, x({2, 3}, DType::i32), {1}, false)), Order::any);
  EXPECT_EQ(order_of(matmul(g, x({2, 3}, DType::i8), x({3, 2}, DType::i8))), Order::any);
  EXPECT_EQ(order_of(argreduce(g, Op::argmax, x({2, 3}), 1, false)), Order::any);
  Node tagged = node(Op::max, {x({2, 3})}, {1});
  tagged.order = Order::tree;
  EXPECT_EQ(type(g, g.add(tagged)), "max: has an order tag, but no operand order matters to it");
}

TEST_F(Orders, ProductsOfRowsAreTreesAndOthersBlocks) {
  EXPECT_EQ(order_of(matmul(g, x({8}), x({8}))), Order::tree);
  EXPECT_EQ(order_of(matmul(g, x({4, 8}), x({8}))), Order::tree);  // W[N, K] v[K]
  EXPECT_EQ(order_of(matmul(g, x({2, 4, 8}), x({8}))), Order::tree);
  EXPECT_EQ(order_of(matmul(g, x({8}), x({8, 4}))),
            Order::blk256);  // b contracts its second-last axis
  EXPECT_EQ(order_of(matmul(g, x({1, 8}), x({8, 1}))), Order::blk256);
  EXPECT_EQ(order_of(matmul(g, x({4, 8}), x({8, 4}))), Order::blk256);
  EXPECT_EQ(order_of(dot(g, x({8}), x({8}))), Order::tree);
  EXPECT_EQ(order_of(linear(g, x({8}), x({4, 8}), {})), Order::tree);
  EXPECT_EQ(order_of(linear(g, x({1, 8}), x({4, 8}), {})), Order::tree);
  EXPECT_EQ(order_of(linear(g, x({3, 8}), x({1, 8}), {})), Order::tree);
  EXPECT_EQ(order_of(linear(g, x({3, 8}), x({4, 8}), {})), Order::blk256);
  EXPECT_EQ(order_of(linear(g, x({n, 8}), x({4, 8}), {})),
            Order::blk256);  // also when n is bound to 1
}

TEST_F(Orders, ATransposedWeightKeepsItsTag) {
  const NodeId w = x({4, 8});
  EXPECT_EQ(order_of(matmul(g, x({8}), transpose(g, w).value())), Order::blk256);
  Node given = node(Op::sum, {x({2, 3})}, {1});
  given.order = Order::blk256;  // a pass hands on what the maker said
  EXPECT_EQ(g.node(g.add(given).value()).order, Order::blk256);
}

TEST_F(Orders, NormsSumSquaresAsTrees) {
  const NodeId y = rmsnorm(g, x({2, 8}), {}, 1e-5).value();
  (void)y;
  size_t contractions = 0;
  for (const Node& made : g.nodes())
    if (made.op == Op::contract) {
      EXPECT_EQ(made.order, Order::tree);
      ++contractions;
    }
  EXPECT_EQ(contractions, 1u);
}

TEST_F(Orders, AttentionHasItsOwn) {
  const NodeId made = attention(g, x({4, 8}), x({6, 8}), x({6, 2}), {}, {}, false).value();
  EXPECT_EQ(g.node(made).op, Op::attention);
  EXPECT_EQ(g.node(made).order, Order::attn);
  Node wrong = node(Op::sum, {x({2, 3})}, {1});
  wrong.order = Order::attn;
  EXPECT_EQ(type(g, g.add(wrong)), "sum: has the order tag attn, wanted tree or blk256");
}

}  // namespace
}  // namespace ost::ir
