// Level 2 means what level 1 means: every kernel of random graphs, for devices of several shapes,
// by the interpreters of both levels.
#include "core/codegen/lower.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/codegen/lowered.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost {
namespace {

uint64_t base_seed() {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261130;
}

void expect_same_random(uint64_t seed, const test::RandomGraphOptions& options,
                        const codegen::Target& target) {
  const test::RandomGraph r = test::random_graph(seed, options);
  SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << seed << " lanes " << target.max_lanes
                                  << "\n"
                                  << ir::to_text(r.graph));
  const auto program = schedule(r.graph);
  ASSERT_TRUE(program.has_value()) << program.error().message;
  test::expect_same(*program, r.inputs, r.vars, target, seed % 2 == 1);
}

class LowerTo : public testing::TestWithParam<uint32_t> {
 protected:
  void sweep(uint64_t count, const test::RandomGraphOptions& options) {
    for (uint64_t i = 0; i < count && !HasFatalFailure(); ++i)
      expect_same_random(base_seed() + i, options, {GetParam(), 64 << 10, 16384});
  }
};

TEST_P(LowerTo, KeepsTheBitsOfRandomGraphs) { sweep(250, {.max_elements = 1500}); }
TEST_P(LowerTo, KeepsTheBitsOfRandomGraphsWithAVariable) {
  sweep(250, {.max_elements = 1500, .symbolic = true});
}
TEST_P(LowerTo, KeepsTheBitsOfLargerShapes) {
  sweep(40, {.operations = 5, .inputs = 2, .max_elements = 20000});
}

// What random graphs rarely reach: chunks and blocks of the order tags, rows with epilogues, writes
// in order.
class LowerForms : public test::LoweredGraph, public testing::WithParamInterface<uint32_t> {
 protected:
  void check(std::initializer_list<NodeId> outputs, const Bindings& vars = {}) {
    LoweredGraph::check(outputs, {GetParam(), 64 << 10, 16384}, {vars});
  }
};

TEST_P(LowerForms, SumsOfLongRowsAreTreesOfChunks) {
  for (const int64_t n : {1, 63, 64, 65, 4095, 4096, 4097, 9000, 20000})
    check({sum(input({3, n}), {1})});
}
TEST_P(LowerForms, AFullSumIsOneRow) { check({sum(input({4, 70, 40}), {0, 1, 2})}); }
TEST_P(LowerForms, ColumnSumsAreChainsOf256) {
  for (const int64_t n : {1, 255, 256, 257, 1500, 20000}) check({sum(input({n, 3}), {0})});
}
TEST_P(LowerForms, ProductsAndExtremes) {
  for (const int64_t n : {5, 64, 700, 5000}) {
    const NodeId x = input({2, n});
    check({must(ir::reduce(g_, Op::prod, x, {1}, false)),
           must(ir::reduce(g_, Op::max, x, {1}, true)),
           must(ir::reduce(g_, Op::min, x, {0}, false))});
  }
}
TEST_P(LowerForms, TheFirstExtremeIsFound) {
  for (const int64_t n : {1, 64, 100, 777}) {
    const NodeId x = input({4, n}, DType::i64);
    check({must(ir::argreduce(g_, Op::argmax, x, 1, false)),
           must(ir::argreduce(g_, Op::argmin, x, 1, false))});
    check({must(ir::argreduce(g_, Op::argmax, input({3, n}), 1, false))});
  }
}
TEST_P(LowerForms, RowsWithSeveralReductions) {
  for (const int64_t n : {1, 60, 64, 65, 1000, 4200}) {
    check({must(ir::softmax(g_, input({3, n}), 1))});
    check({must(ir::layernorm(g_, input({2, 3, n}), input({n}), input({n}), 1e-5))});
  }
}
TEST_P(LowerForms, ARowKernelOverAVariable) {
  const Sym n = Sym::var({"n", 0, 300});
  for (const int64_t value : {0, 1, 64, 300}) {
    check({must(ir::softmax(g_, input({5, n}), 1))}, {{"n", value}});
    check({must(ir::softmax(g_, input({n, 70}), 1))}, {{"n", value}});
  }
}
TEST_P(LowerForms, ContractionsWithEpilogue) {
  for (const int64_t k : {0, 1, 17, 256, 257, 1100}) {
    const NodeId y = must(ir::matmul(g_, input({5, k}), input({k, 9})));
    check({must(ir::unary(g_, Op::gelu, must(ir::binary(g_, Op::add, y, input({9})))))});
    check({must(ir::dot(g_, input({k}), input({k})))});
  }
}
TEST_P(LowerForms, AttentionOverChunksOfKeys) {
  for (const int64_t keys : {1, 64, 65, 1024, 1100, 2100})
    check({must(ir::attention(g_, input({2, 3, 8}), input({2, keys, 8}), input({2, keys, 5}),
                              std::nullopt, 0.4, keys % 2 == 0))});
}
TEST_P(LowerForms, ScattersWriteInOrder) {
  const NodeId base = input({7, 6}), rows = input({30}, DType::i64), updates = input({30, 6});
  check({must(ir::scatter(g_, base, rows, updates, 0, true))});
  const NodeId b = input({6, 7}), i = input({40}, DType::i64), u = input({6, 40});
  check({must(ir::scatter(g_, b, i, u, 1, false))});
}
TEST_P(LowerForms, RareBranchesAreTakenWhereTheyMust) {
  const NodeId x = input({200}, DType::f32, 3e5);
  check({must(ir::unary(g_, Op::sin, x)), must(ir::unary(g_, Op::cos, x))});
}

INSTANTIATE_TEST_SUITE_P(Lanes, LowerForms, testing::Values(1, 8, 64, 256, 1024));
INSTANTIATE_TEST_SUITE_P(Lanes, LowerTo, testing::Values(1, 8, 64, 256));

}  // namespace
}  // namespace ost
