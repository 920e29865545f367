// What Graph::add() makes of nodes: types and shapes, and the text of each refusal.
#include "helpers.hpp"

namespace ost::ir {
namespace {

// One graph with operands of several types; add() answers with the type or the error.
struct Nodes : testing::Test {
  Graph g;
  Sym n = var("n", 0, 9), m = var("m", 1, 4);
  NodeId f = input(g, DType::f32, {2, 3}), d = input(g, DType::f64, {2, 3}),
         i = input(g, DType::i32, {2, 3}), b = input(g, DType::boolean, {2, 3}),
         h = input(g, DType::f16, {2, 3}), s = input(g, DType::f32, {n, 3}),
         k = input(g, DType::i64, {4}), e = input(g, DType::f32, {0, 3});

  std::string add(Node node) { return type(g, g.add(std::move(node))); }
  std::string add(Op op, std::vector<NodeId> inputs, std::vector<int64_t> ints = {},
                  std::vector<Sym> syms = {}, Shape shape = {}) {
    return add(node(op, std::move(inputs), std::move(ints), std::move(syms), std::move(shape)));
  }
};

TEST_F(Nodes, SourcesTakeTheirShapeFromAttributes) {
  Node full = node(Op::full, {}, {}, {}, {n, 2});
  full.dtype = DType::u8;
  full.bits = 255;
  EXPECT_EQ(add(full), "u8[n, 2]");
  full.bits = 256;
  EXPECT_EQ(add(full), "full: the value 0x100 does not fit into u8");
  full.dtype = DType::boolean;
  full.bits = 2;
  EXPECT_EQ(add(full), "full: the value 0x2 does not fit into bool");
  EXPECT_EQ(add(Op::iota, {}, {1}, {}, {2, n}), "i64[2, n]");
  EXPECT_EQ(add(Op::iota, {}, {2}, {}, {2, n}), "iota: axis 2 is out of range for shape [2, n]");
  EXPECT_EQ(add(Op::iota, {}, {}, {}, {2}), "iota: has 0 integer attributes, wanted 1");
  EXPECT_EQ(add(Op::size, {}, {}, {n * 2}), "i64[]");
  EXPECT_EQ(add(Op::size, {}), "size: has 0 size attributes, wanted 1");
  EXPECT_EQ(add(Op::input, {}), "f32[2, 3]");
  Node far = node(Op::input, {});
  far.bits = 99;
  EXPECT_EQ(add(far), "input: names input 99, but the graph has 8");
}

TEST_F(Nodes, MovementsMapIndices) {
  EXPECT_EQ(add(Op::reshape, {f}, {}, {}, {3, 2}), "f32[3, 2]");
  EXPECT_EQ(add(Op::reshape, {s}, {}, {}, {n * 3}), "f32[3*n]");
  EXPECT_EQ(add(Op::reshape, {s}, {}, {}, {3}),
            "reshape: f32[n, 3] has 3*n elements, the new shape [3] has 3; wanted them equal for "
            "all values of the variables");
  EXPECT_EQ(add(Op::permute, {s}, {1, 0}), "f32[3, n]");
  EXPECT_EQ(add(Op::permute, {f}, {1, 1}),
            "permute: (1, 1) is not an order of the 2 axes of f32[2, 3]");
  EXPECT_EQ(add(Op::permute, {f}, {1}), "permute: has 1 integer attributes, wanted 2");
  EXPECT_EQ(
      add(Op::expand, {g.add(node(Op::reshape, {k}, {}, {}, {4, 1})).value()}, {}, {}, {4, n}),
      "i64[4, n]");
  EXPECT_EQ(add(Op::expand, {f}, {}, {}, {2, 4}),
            "expand: axis 1 of f32[2, 3] has size 3, which is neither 1 nor the wanted 4");
  EXPECT_EQ(add(Op::expand, {f}, {}, {}, {2}),
            "expand: rank 2 of f32[2, 3] does not equal rank 1 of the new shape [2]");
  EXPECT_EQ(add(Op::shrink, {f}, {1, 2}, {1, 0}, {1, 2}), "f32[1, 2]");
  EXPECT_EQ(add(Op::shrink, {f}, {1, 2}, {0, 1}, {2, 2}),
            "shrink: elements 1 to 4 of axis 1 are outside of f32[2, 3]");
  EXPECT_EQ(add(Op::shrink, {f}, {1, 0}, {0, 0}, {2, 2}),
            "shrink: step 0 of axis 1 is less than 1");
  EXPECT_EQ(add(Op::shrink, {f}, {1, 1}, {-1, 0}, {1, 2}),
            "shrink: elements -1 to 0 of axis 0 are outside of f32[2, 3]");
  EXPECT_EQ(add(Op::pad, {s}, {}, {0, 1, n, 0}), "f32[2*n, 4]");
  EXPECT_EQ(add(Op::pad, {f}, {}, {0, 0, -1, 0}),
            "pad: widths 0 and -1 of axis 0 may be negative; wanted at least 0");
  EXPECT_EQ(add(Op::flip, {f}, {0, 1}), "f32[2, 3]");
  EXPECT_EQ(add(Op::flip, {f}, {1, 0}), "flip: axes (1, 0) must be ascending axes of f32[2, 3]");
}

TEST_F(Nodes, ElementwiseOperandsAreAlike) {
  EXPECT_EQ(add(Op::add, {f, f}), "f32[2, 3]");
  EXPECT_EQ(add(Op::lt, {f, f}), "bool[2, 3]");
  EXPECT_EQ(add(Op::where, {b, i, i}), "i32[2, 3]");
  EXPECT_EQ(add(Op::fma, {h, h, h}), "f16[2, 3]");
  EXPECT_EQ(add(Op::add, {f, d}),
            "add: operands differ in type: f32[2, 3] and f64[2, 3]; cast one of them");
  EXPECT_EQ(add(Op::add, {f, s}),
            "add: operands differ in shape: f32[2, 3] and f32[n, 3]; broadcast them first");
  EXPECT_EQ(add(Op::add, {b, b}), "add: operand is bool[2, 3], wanted an integer or float type");
  EXPECT_EQ(add(Op::exp, {i}), "exp: operand is i32[2, 3], wanted a float type");
  EXPECT_EQ(add(Op::rem, {f, f}), "rem: operand is f32[2, 3], wanted an integer type");
  EXPECT_EQ(add(Op::bit_and, {f, f}),
            "bit_and: operand is f32[2, 3], wanted bool or an integer type");
  EXPECT_EQ(add(Op::fma, {i, i, i}), "fma: operand is i32[2, 3], wanted a float type");
  EXPECT_EQ(add(Op::where, {f, f, f}), "where: the condition is f32[2, 3], wanted bool");
  EXPECT_EQ(add(Op::where, {b, f, d}),
            "where: operands differ in type: f32[2, 3] and f64[2, 3]; cast one of them");
  EXPECT_EQ(add(Op::add, {f}), "add: has 1 operands, wanted 2");
  EXPECT_EQ(add(Op::add, {f, 999}), "add: operand %999 does not exist, the graph has 12 nodes");
  Node given = node(Op::neg, {f}, {}, {}, {3, 2});
  EXPECT_EQ(add(given), "neg: the shape given is [3, 2], but the operands make it [2, 3]");
  Node bits = node(Op::bitcast, {f});
  bits.dtype = DType::i32;
  EXPECT_EQ(add(bits), "i32[2, 3]");
  bits.dtype = DType::i64;
  EXPECT_EQ(add(bits), "bitcast: from f32 to i64; wanted types of one width, not bool");
}

TEST_F(Nodes, ReductionsKeepTheirAxesAsOne) {
  EXPECT_EQ(add(Op::sum, {s}, {1}), "f32[n, 1]");
  EXPECT_EQ(add(Op::max, {i}, {0, 1}), "i32[1, 1]");
  EXPECT_EQ(add(Op::argmax, {f}, {1}), "i64[2, 1]");
  EXPECT_EQ(add(Op::argmax, {f}, {0, 1}), "argmax: has 2 integer attributes, wanted 1");
  EXPECT_EQ(add(Op::sum, {f}, {1, 0}), "sum: axes (1, 0) must be ascending axes of f32[2, 3]");
  EXPECT_EQ(add(Op::sum, {b}, {0}), "sum: operand is bool[2, 3], wanted an integer or float type");
  EXPECT_EQ(add(Op::bit_or_reduce, {f}, {0}),
            "bit_or_reduce: operand is f32[2, 3], wanted bool or an integer type");
  EXPECT_EQ(add(Op::max, {e}, {0}),
            "max: over no elements: axes (0) of f32[0, 3] are empty, and it has no identity");
  EXPECT_EQ(add(Op::argmin, {e}, {0}),
            "argmin: over no elements: axes (0) of f32[0, 3] are empty, and it has no identity");
  EXPECT_EQ(add(Op::max, {e}, {1}), "f32[0, 1]");
  EXPECT_EQ(add(Op::sum, {e}, {0}), "f32[1, 3]");
  EXPECT_EQ(add(Op::max, {s}, {0}),
            "f32[1, 3]");  // empty only for some values: gives the identity then
}

TEST_F(Nodes, ContractionsAgreeInTheInnerAxis) {
  EXPECT_EQ(add(Op::contract, {f, s}), "f32[2, n]");
  const NodeId wrong = input(g, DType::f32, {5, 4});
  EXPECT_EQ(add(Op::contract, {f, wrong}),
            "contract: inner sizes differ: a is f32[2, 3], b is f32[5, 4]; wanted last axes that "
            "are equal");
  EXPECT_EQ(
      add(Op::contract, {h, h}),
      "contract: operand is f16[2, 3], wanted the type of the accumulator: an integer, f32 or f64");
  EXPECT_EQ(add(Op::contract, {b, b}),
            "contract: operand is bool[2, 3], wanted the type of the accumulator: an integer, f32 "
            "or f64");
  EXPECT_EQ(add(Op::contract, {k, k}), "contract: operand 0 is i64[4], wanted rank 2 or more");
  EXPECT_EQ(add(Op::contract, {f, d}),
            "contract: operands differ in type: f32[2, 3] and f64[2, 3]; cast one of them");
  const NodeId p = input(g, DType::f32, {2, 2, 3}), q = input(g, DType::f32, {4, 2, 3});
  EXPECT_EQ(add(Op::contract, {p, p}), "f32[2, 2, 2]");
  EXPECT_EQ(add(Op::contract, {p, q}),
            "contract: batch axes differ: f32[2, 2, 3] and f32[4, 2, 3]; wanted all axes but the "
            "last two equal");
}

TEST_F(Nodes, AttentionChecksEachOperand) {
  const NodeId q = input(g, DType::f32, {2, 5, 8}), keys = input(g, DType::f32, {2, n, 8}),
               v = input(g, DType::f32, {2, n, 4});
  const NodeId mask = input(g, DType::boolean, {2, 5, n});
  EXPECT_EQ(add(Op::attention, {q, keys, v, mask}), "f32[2, 5, 4]");
  EXPECT_EQ(add(Op::attention, {q, v, v, mask}),
            "attention: q is f32[2, 5, 8], k is f32[2, n, 4]; wanted last axes that are equal");
  EXPECT_EQ(
      add(Op::attention, {q, q, v, mask}),
      "attention: k is f32[2, 5, 8], v is f32[2, n, 4]; wanted second-last axes that are equal");
  EXPECT_EQ(add(Op::attention, {q, keys, v, q}),
            "attention: the mask is f32[2, 5, 8], wanted bool[..., 5, n]");
  EXPECT_EQ(add(Op::attention, {h, h, h, b}), "attention: operand 0 is f16[2, 3], wanted f32");
  EXPECT_EQ(add(Op::attention, {q, keys}), "attention: has 2 operands, wanted 4");
  EXPECT_EQ(add(Op::window, {f}, {1, 2, 1, 1}), "f32[2, 2, 2]");
  EXPECT_EQ(add(Op::window, {f}, {1, 2, 2, 2}), "f32[2, 1, 2]");
  EXPECT_EQ(add(Op::window, {f}, {1, 3, 1, 2}),
            "window: axis 1 of f32[2, 3] may be shorter than the window, which spans 5 elements");
  EXPECT_EQ(add(Op::window, {s}, {0, 2, 1, 1}),
            "window: axis 0 of f32[n, 3] may be shorter than the window, which spans 2 elements");
  EXPECT_EQ(add(Op::window, {f}, {2, 1, 1, 1}),
            "window: axis 2 is out of range for f32[2, 3], wanted 0 to 1");
  EXPECT_EQ(add(Op::window, {f}, {0, 0, 1, 1}),
            "window: taps 0, stride 1, dilation 1; wanted 1 to 2^31 of each");
}

TEST_F(Nodes, IndexedAccessFitsTheAxis) {
  EXPECT_EQ(add(Op::gather, {f, k}, {1}), "f32[2, 4]");
  EXPECT_EQ(add(Op::gather, {f, i}, {0}), "f32[2, 3, 3]");
  EXPECT_EQ(add(Op::gather, {f, f}, {0}), "gather: the index is f32[2, 3], wanted an integer type");
  EXPECT_EQ(add(Op::gather, {f, k}, {2}),
            "gather: axis 2 is out of range for f32[2, 3], wanted 0 to 1");
  const NodeId rows = input(g, DType::f32, {4, 3});
  EXPECT_EQ(add(Op::scatter, {s, k, rows}, {0}), "f32[n, 3]");
  EXPECT_EQ(add(Op::scatter_add, {s, k, f}, {0}),
            "scatter_add: the updates are f32[2, 3], wanted shape [4, 3]");
  EXPECT_EQ(add(Op::scatter, {s, i, rows}, {0}),
            "scatter: the index is i32[2, 3], wanted integers of rank 1");
  EXPECT_EQ(add(Op::scatter, {d, k, rows}, {0}),
            "scatter: base and updates differ in type: f64[2, 3] and f32[4, 3]; cast one of them");
}

TEST_F(Nodes, AssignWritesInputsOnly) {
  EXPECT_EQ(add(Op::assign, {f, f}, {}, {0, 0}), "f32[2, 3]");
  const NodeId once = g.add(node(Op::assign, {f, f}, {}, {0, 0})).value();
  EXPECT_EQ(add(Op::assign, {once, f}, {}, {0, 0}), "f32[2, 3]");
  const NodeId sum = g.add(node(Op::add, {f, f})).value();
  EXPECT_EQ(add(Op::assign, {sum, f}, {}, {0, 0}),
            "assign: the target is the result of add, wanted an argument, a state or an earlier "
            "assign to one");
  EXPECT_EQ(add(Op::assign, {f, d}, {}, {0, 0}),
            "assign: target and value differ in type: f32[2, 3] and f64[2, 3]; cast the value");
  EXPECT_EQ(add(Op::assign, {f, f}, {}, {1, 0}),
            "assign: value f32[2, 3] at 1 of axis 0 is outside of f32[2, 3]");
  auto data = std::make_shared<Literal>();
  data->shape = {1};
  data->bytes.resize(4);
  const NodeId fixed = constant(g, data).value();
  EXPECT_EQ(add(Op::assign, {fixed, fixed}, {}, {0}),
            "assign: the target is the result of input, wanted an argument, a state or an earlier "
            "assign to one");
}

TEST_F(Nodes, SizesAreNeverNegative) {
  Node full = node(Op::full, {}, {}, {}, {n - 1});
  EXPECT_EQ(add(full),
            "full: the size n - 1 of axis 0 may be negative (down to -1); tighten the bounds of "
            "its variables");
  full.shape = {m - 1};
  EXPECT_EQ(add(full), "f32[m - 1]");
  full.shape = {Sym(INT64_MAX) + n};
  EXPECT_NE(add(full).find("overflows 64 bits"), std::string::npos);
  full.shape = {Sym(int64_t{1} << 40), Sym(int64_t{1} << 40)};
  EXPECT_NE(add(full).find("the number of elements"), std::string::npos);
}

TEST_F(Nodes, EqualNodesAreMadeOnce) {
  const size_t before = g.nodes().size();
  const NodeId first = g.add(node(Op::sum, {s}, {1})).value();
  EXPECT_EQ(g.add(node(Op::sum, {s}, {1})).value(), first);
  EXPECT_NE(g.add(node(Op::sum, {s}, {0})).value(), first);
  Node other = node(Op::sum, {s}, {1});
  other.order = kir::Order::blk256;
  EXPECT_NE(g.add(other).value(), first);
  EXPECT_EQ(g.nodes().size(), before + 3);
  EXPECT_NE(input(g, DType::f32, {2, 3}, "same"), input(g, DType::f32, {2, 3}, "same"));
}

TEST_F(Nodes, InputsCheckTheirData) {
  const auto add_input = [&](InputKind kind, std::vector<int64_t> shape, size_t bytes) {
    auto data = std::make_shared<Literal>();
    data->shape = std::move(shape);
    data->bytes.resize(bytes);
    return type(g, g.add_input(Input{"w", kind, DType::f32, {2}, 0, data}));
  };
  EXPECT_EQ(add_input(InputKind::constant, {2}, 8), "f32[2]");
  EXPECT_EQ(add_input(InputKind::constant, {3}, 12),
            "input 'w': the data is f32[3], wanted f32[2]");
  EXPECT_EQ(add_input(InputKind::state, {2}, 7),
            "input 'w': the data has 7 bytes, which does not fit f32[2]");
  EXPECT_EQ(add_input(InputKind::argument, {2}, 8),
            "input 'w': an argument has no data of its own");
  EXPECT_EQ(type(g, g.add_input(Input{"w", InputKind::constant, DType::f32, {2}, 0, nullptr})),
            "input 'w': a constant without data");
}

TEST_F(Nodes, VariablesHaveOneBound) {
  input(g, DType::f32, {m, n});
  EXPECT_EQ(g.vars().value(), (std::vector<Var>{{"m", 1, 4}, {"n", 0, 9}}));
  input(g, DType::f32, {var("n", 0, 8)});
  EXPECT_EQ(g.vars().error().message, "variable 'n' has two bounds, 0..9 and 0..8; wanted one");
  EXPECT_FALSE(verify(g));
}

}  // namespace
}  // namespace ost::ir
