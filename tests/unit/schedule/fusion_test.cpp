// Which graphs become how many kernels: a change of these numbers is a change of behaviour.
#include <gtest/gtest.h>

#include "core/ir/ops.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost {
namespace {

using ir::NodeId;
using ir::Op;

class Fusion : public testing::Test {
 protected:
  NodeId input(Shape shape, ir::InputKind kind = ir::InputKind::argument) {
    return *g.add_input(
        {fmt::format("x{}", count++), kind, DType::f32, std::move(shape), 0, nullptr});
  }
  static NodeId must(Result<NodeId> n) {
    EXPECT_TRUE(n.has_value()) << (n ? "" : n.error().message);
    return n.value_or(0);
  }
  Program program(std::initializer_list<NodeId> outputs, const ScheduleOptions& options = {}) {
    int k = 0;
    for (NodeId n : outputs) g.add_output(fmt::format("y{}", k++), n);
    auto p = schedule(g, options);
    EXPECT_TRUE(p.has_value()) << (p ? "" : p.error().message);
    EXPECT_TRUE(p && verify(*p)) << verify(*p).error().message;
    return p.value_or(Program{});
  }
  size_t launches(std::initializer_list<NodeId> outputs, const ScheduleOptions& options = {}) {
    return program(outputs, options).steps.size();
  }

  ir::Graph g;
  int count = 0;
};

TEST_F(Fusion, LinearWithReluIsOneKernel) {
  const NodeId x = input({32, 768}), w = input({768, 768}), b = input({768});
  EXPECT_EQ(launches({must(ir::unary(g, Op::relu, must(ir::linear(g, x, w, b))))}), 1u);
}

TEST_F(Fusion, AColumnAddendIsNotABiasRow) {
  const NodeId y = must(
      ir::binary(g, Op::add, must(ir::matmul(g, input({8, 16}), input({16, 24}))), input({8, 1})));
  EXPECT_EQ(launches({y}), 1u);
}

TEST_F(Fusion, PointwiseChainsAreOneKernel) {
  const NodeId x = input({256, 64}), y = input({256, 64});
  EXPECT_EQ(launches({must(ir::binary(g, Op::mul, must(ir::unary(g, Op::silu, x)), y))}), 1u);
}

TEST_F(Fusion, SeveralOutputsOfOneShapeAreOneKernel) {
  const NodeId x = input({1000});
  const NodeId e = must(ir::unary(g, Op::exp, x));
  EXPECT_EQ(launches({e, must(ir::unary(g, Op::sqrt, e)), must(ir::binary(g, Op::mul, e, x))}), 1u);
}

TEST_F(Fusion, RowKernelsAreOneKernel) {
  const NodeId x = input({64, 128});
  EXPECT_EQ(launches({must(ir::softmax(g, x, -1))}), 1u);
  g.clear_outputs();
  EXPECT_EQ(launches({must(ir::layernorm(g, x, input({128}), input({128}), 1e-5))}), 1u);
  g.clear_outputs();
  EXPECT_EQ(launches({must(ir::rmsnorm(g, x, {}, 1e-5))}), 1u);
  g.clear_outputs();
  EXPECT_EQ(launches({must(ir::log_softmax(g, x, -1))}), 1u);
  g.clear_outputs();
  EXPECT_EQ(launches({must(ir::softmax(g, x, 0))}), 1u);
}

TEST_F(Fusion, ALongSingleRowStaysParallel) {
  EXPECT_GT(launches({must(ir::softmax(g, input({1 << 20}), -1))}), 1u);
}

TEST_F(Fusion, AttentionIsOneKernel) {
  const Shape s{12, 128, 64};
  const NodeId q = input(s), k = input(s), v = input(s);
  EXPECT_EQ(launches({must(ir::attention(g, q, k, v, {}, {}, true))}), 1u);
}

TEST_F(Fusion, MatmulBesideSoftmaxIsTwoKernels) {
  const NodeId a = input({8, 16}), b = must(ir::unary(g, Op::relu, input({16, 8}))),
               c = input({8, 8});
  EXPECT_EQ(launches({must(
                ir::binary(g, Op::add, must(ir::matmul(g, a, b)), must(ir::softmax(g, c, -1))))}),
            2u);
}

TEST_F(Fusion, AMemoryBudgetSplitsGroups) {
  const NodeId a = input({100, 100}), b = input({100, 100}), c = input({100, 100});
  const NodeId sum = must(ir::binary(g, Op::add, must(ir::binary(g, Op::add, a, b)), c));
  EXPECT_EQ(program({sum}).groups.size(), 1u);
  g.clear_outputs();
  EXPECT_EQ(program({sum}, {.memory_budget = 1000}).groups.size(), 2u);
}

TEST_F(Fusion, AnArenaOverTheLimitIsAnErrorThatNamesTheSize) {
  const NodeId x = input({64, 64});
  g.add_output("y", must(ir::matmul(g, must(ir::matmul(g, x, x)), x)));
  const auto p = schedule(g, {.arena_limit = 100});
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().status, OST_OUT_OF_MEMORY);
  EXPECT_NE(p.error().message.find("smallest limit that works is 512"), std::string::npos) << p.error().message;
}

// --- assigns: versions of a buffer ---

std::vector<float> floats(const test::Bytes& b) {
  std::vector<float> out(b.size() / 4);
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

class Versions : public Fusion {
 protected:
  std::vector<float> run(std::initializer_list<NodeId> outputs, size_t output = 0) {
    const Program p = program(outputs);
    test::HostRun host;
    host.inputs = {};
    host.states.assign(p.states.size(), {});
    for (auto& s : host.states) {
      const float values[4] = {1, 2, 3, 4};
      s.assign(reinterpret_cast<const uint8_t*>(values),
               reinterpret_cast<const uint8_t*>(values) + sizeof values);
    }
    const auto ok = test::run_on_host(p, host);
    EXPECT_TRUE(ok.has_value()) << (ok ? "" : ok.error().message);
    return floats(host.outputs[output]);
  }
  NodeId plus(NodeId x, double v) {
    return must(ir::binary(g, Op::add, x, must(ir::scalar_like(g, x, v, false))));
  }
};

TEST_F(Versions, ReadersOfTheOldContentsRunBeforeTheAssign) {
  const NodeId s = input({4}, ir::InputKind::state);
  const NodeId old = plus(s, 0);
  const NodeId now = must(ir::assign(g, s, plus(s, 10)));
  EXPECT_EQ(run({old, now}), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Versions, OldAndNewContentsInOneKernel) {
  const NodeId s = input({4}, ir::InputKind::state);
  const NodeId now = must(ir::assign(g, s, plus(s, 10)));
  EXPECT_EQ(run({must(ir::binary(g, Op::add, s, now))}), (std::vector<float>{12, 14, 16, 18}));
}

TEST_F(Versions, AnOutputOfTheOldContentsIsNotOverwritten) {
  const NodeId s = input({4}, ir::InputKind::state);
  const NodeId now = must(ir::assign(g, s, plus(s, 10)));
  EXPECT_EQ(run({s, now}), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Versions, AnOverlappingShiftReadsWhatWasThere) {
  const NodeId s = input({4}, ir::InputKind::state);
  const ir::Slice tail{Sym(1), {}, 1};
  const NodeId now = must(ir::assign(g, s, must(ir::slice(g, s, std::span(&tail, 1))), {Sym(0)}));
  EXPECT_EQ(run({now}), (std::vector<float>{2, 3, 4, 4}));
  g.clear_outputs();
}

TEST_F(Versions, AReversalInPlaceReadsWhatWasThere) {
  const NodeId s = input({4}, ir::InputKind::state);
  EXPECT_EQ(run({must(ir::assign(g, s, must(ir::flip(g, s, {0}))))}),
            (std::vector<float>{4, 3, 2, 1}));
}

TEST_F(Versions, AssignsToOneBufferKeepTheirOrder) {
  const NodeId s = input({4}, ir::InputKind::state);
  const NodeId one = must(ir::assign(g, s, plus(s, 1)));
  const NodeId mid = plus(one, 0.5);
  const NodeId two = must(ir::assign(g, one, plus(one, 1)));
  EXPECT_EQ(run({mid, two}), (std::vector<float>{2.5, 3.5, 4.5, 5.5}));
}

}  // namespace
}  // namespace ost
