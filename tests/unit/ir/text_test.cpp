// The text form: round trips of hand-made and of random graphs, and errors that name the line.
#include <cstdlib>
#include <random>

#include "core/base/sha256.hpp"
#include "helpers.hpp"

namespace ost::ir {
namespace {

void expect_round_trip(const Graph& g) {
  const std::string text = to_text(g);
  const auto again = parse(text);
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(to_text(*again), text);
  ASSERT_EQ(again->nodes().size(), g.nodes().size());
  for (NodeId id = 0; id < g.nodes().size(); ++id)
    EXPECT_EQ(again->node(id), g.node(id)) << "node " << id;
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const Input &a = g.inputs()[i], &b = again->inputs()[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.device, b.device);
    EXPECT_EQ(a.data != nullptr, b.data != nullptr);
    if (a.data && b.data) {
      EXPECT_EQ(a.data->bytes, b.data->bytes);
    }
  }
}

LiteralPtr literal(std::vector<uint8_t> bytes) {
  auto data = std::make_shared<Literal>();
  data->dtype = DType::u8;
  data->shape = {static_cast<int64_t>(bytes.size())};
  data->bytes = std::move(bytes);
  return data;
}

TEST(GraphText, ReadsWell) {
  Graph g;
  const Sym n = var("n", 0, 1797);
  const NodeId x = input(g, DType::f32, {n, 64});
  g.add_output("y", softmax(g, x, -1).value());
  EXPECT_EQ(to_text(g),
            "var n = 0..1797\n"
            "%0 = input \"x\" argument : f32[n, 64]\n"
            "%1 = max %0 ints=[1] : f32[n, 1]\n"
            "%2 = expand %1 : f32[n, 64]\n"
            "%3 = sub %0 %2 : f32[n, 64]\n"
            "%4 = exp %3 : f32[n, 64]\n"
            "%5 = sum %4 ints=[1] order=tree : f32[n, 1]\n"
            "%6 = full bits=0x3f800000 : f32[n, 1]\n"
            "%7 = div %6 %5 : f32[n, 1]\n"
            "%8 = expand %7 : f32[n, 64]\n"
            "%9 = mul %4 %8 : f32[n, 64]\n"
            "output \"y\" = %9\n");
  expect_round_trip(g);
}

TEST(GraphText, KeepsInputsOfEveryKind) {
  Graph g;
  input(g, DType::f16, {}, "a \"quoted\" \\ name\n\x7f");
  g.add_input({"state", InputKind::state, DType::f32, {2}, 3, nullptr}).value();
  g.add_input({"empty", InputKind::constant, DType::u8, {0}, 0, literal({})}).value();
  g.add_input({"w", InputKind::constant, DType::u8, {3}, 1, literal({0, 0x7f, 0xff})}).value();
  g.add_output("out \"1\"", 0);
  expect_round_trip(g);
}

TEST(GraphText, KeepsExpressionsWithCommas) {
  Graph g;
  const Sym n = var("n", 0, 9), m = var("m", 1, 9);
  const NodeId x = input(g, DType::f32, {n, 8});
  const Slice cuts[] = {{{}, 4, 1}, {min(m, Sym(3)), {}, 2}};
  slice(g, x, cuts).value();
  expect_round_trip(g);
}

TEST(GraphText, NamesLargeLiteralsByHash) {
  Graph g;
  constant(g, literal({1, 2, 3, 4}), "w").value();
  const std::string text = to_text(g, {.inline_bytes = 3});
  const std::string hash = sha256_hex(std::vector<uint8_t>{1, 2, 3, 4});
  EXPECT_EQ(text, "%0 = input \"w\" constant data=sha256:" + hash + " : u8[4]\n");
  const auto found = parse(text, [](std::string_view) -> Result<std::vector<uint8_t>> {
    return std::vector<uint8_t>{1, 2, 3, 4};
  });
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(to_text(*found), to_text(g));
  EXPECT_FALSE(parse(text, [](std::string_view) -> Result<std::vector<uint8_t>> {
    return std::vector<uint8_t>{1, 2, 3, 5};
  }));
  EXPECT_EQ(parse(text).error().message,
            "graph text: line 1: the data of 'w' is outside of the text, and nothing here can look "
            "it up");
}

TEST(GraphText, ErrorsNameTheLine) {
  const std::string head = "var n = 0..9\n%0 = input \"x\" argument : f32[n, 3]\n";
  const auto error = [&](std::string_view line) {
    const auto graph = parse(head + std::string(line) + "\n");
    return graph ? std::string("accepted") : graph.error().message;
  };
  EXPECT_EQ(error("# a comment"), "accepted");
  EXPECT_EQ(error("%1 = foo %0 : f32[n, 3]"), "graph text: line 3: unknown operation 'foo'");
  EXPECT_EQ(error("%1 = exp %7 : f32[n, 3]"),
            "graph text: line 3: exp: operand %7 does not exist, the graph has 1 nodes");
  EXPECT_EQ(error("%1 = exp %0 : f32[n, 4]"),
            "graph text: line 3: exp: the shape given is [n, 4], but the operands make it [n, 3]");
  EXPECT_EQ(error("%1 = exp %0 : f64[n, 3]"),
            "graph text: line 3: the type given is f64[n, 3], but the operands make it f32[n, 3]");
  EXPECT_EQ(
      error("%2 = exp %0 : f32[n, 3]"),
      "graph text: line 3: %2 is node %1 of the graph: out of order, or equal to an earlier one");
  EXPECT_EQ(error("%1 = exp %0 : f99[n, 3]"), "graph text: line 3: unknown dtype 'f99'");
  EXPECT_EQ(error("%1 = exp %0"), "graph text: line 3: wanted ':' at ''");
  EXPECT_EQ(error("%1 = exp %0 : f32[n, 3] x"),
            "graph text: line 3: something follows the end of the line");
  EXPECT_EQ(error("%1 = sum %0 ints=[1 : f32[n, 1]"),
            "graph text: line 3: something follows the end of the line");
  EXPECT_EQ(error("%1 = sum %0 ints=[1 "), "graph text: line 3: wanted ']' at the end of the list");
  EXPECT_EQ(error("%1 = sum %0 ints=[1] order=fast : f32[n, 1]"),
            "graph text: line 3: unknown order 'fast', wanted any, tree, blk256 or attn");
  EXPECT_EQ(error("output \"y\" = %9"), "graph text: line 3: %9 is not an earlier node");
  EXPECT_EQ(error("output y = %0"), "graph text: line 3: wanted '\"' at 'y = %0'");
  EXPECT_EQ(error("var m = 3..1"),
            "graph text: line 3: wanted 'var NAME = MIN..MAX' with MIN <= MAX");
  EXPECT_EQ(
      error("%1 = input \"c\" const : f32[1]"),
      "graph text: line 3: unknown kind of input 'const', wanted argument, state or constant");
  EXPECT_EQ(error("%1 = input \"c\" constant data=12345 : u8[2]"),
            "graph text: line 3: data has an odd number of hex digits");
  EXPECT_EQ(error("%1 = input \"c\" constant data=12xx : u8[2]"),
            "graph text: line 3: data is not hex digits");
  EXPECT_EQ(error("%1 = full bits=0x : f32[]"), "graph text: line 3: wanted a number at ': f32[]'");
}

TEST(GraphVerify, ChecksOutputs) {
  Graph g;
  input(g, DType::f32, {2});
  EXPECT_TRUE(verify(g));
  g.add_output("y", 5);
  EXPECT_EQ(verify(g).error().message, "output 'y' names node %5, the graph has 1");
}

// A graph of builders with random operands; what a builder refuses is tried again with others.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {
    for (const DType type : {DType::f32, DType::f16, DType::i32, DType::boolean, DType::u8})
      pool_.push_back(input(g, type, {pick(2) ? n_ : Sym(4), 3}));
    for (int i = 0; i < 60; ++i) step();
    g.add_output("y", pool_.back());
  }
  Graph g;

 private:
  uint64_t pick(uint64_t count) { return random_() % count; }
  NodeId any_node() { return pool_[pick(pool_.size())]; }
  void keep(const Node1& made) {
    if (made) pool_.push_back(*made);
  }

  void step() {
    const NodeId a = any_node(), b = any_node();
    const auto axis = static_cast<int64_t>(pick(3)) - 1;
    switch (pick(12)) {
      case 0:
        return keep(unary(g, static_cast<Op>(static_cast<uint64_t>(Op::neg) + pick(24)), a));
      case 1:
      case 2:
        return keep(binary(g, static_cast<Op>(static_cast<uint64_t>(Op::add) + pick(17)), a, b));
      case 3:
        return keep(reduce(g, static_cast<Op>(static_cast<uint64_t>(Op::sum) + pick(7)), a, {axis},
                           pick(2)));
      case 4:
        return keep(matmul(g, a, transpose(g, b).value()));
      case 5:
        return keep(softmax(g, a, axis));
      case 6:
        return keep(where(g, a, b, a));
      case 7: {
        const Slice cut{Sym(static_cast<int64_t>(pick(5)) - 2),
                        pick(2) ? std::optional<Sym>(n_) : std::nullopt, pick(2) ? 1 : -2};
        return keep(slice(g, a, std::span(&cut, 1)));
      }
      case 8: {
        const NodeId parts[] = {a, b};
        return keep(concat(g, parts, axis));
      }
      case 9:
        return keep(cast(g, a, kAllDTypes[pick(std::size(kAllDTypes))]));
      case 10:
        return keep(mean(g, a, {}, true));
      default:
        return keep(argreduce(g, Op::argmax, a, axis, false));
    }
  }

  std::mt19937_64 random_;
  Sym n_ = var("n", 0, 5);
  std::vector<NodeId> pool_;
};

TEST(GraphText, RoundTripsRandomGraphs) {
  const char* given = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : 20261130;
  std::printf("seed %llu (OSTINATO_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  size_t nodes = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE("graph " + std::to_string(i) + " of seed " + std::to_string(seed));
    const RandomGraph random(seed + i);
    EXPECT_TRUE(verify(random.g));
    expect_round_trip(random.g);
    nodes += random.g.nodes().size();
  }
  EXPECT_GT(nodes, 2000u);
}

}  // namespace
}  // namespace ost::ir
