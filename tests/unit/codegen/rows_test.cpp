// Rows: short ones that share a group, long ones that several slices of lanes share.
#include "core/codegen/plan.hpp"
#include "tests/unit/codegen/lowered.hpp"

namespace ost {
namespace {

using codegen::Target;

class RowsOn : public test::LoweredGraph, public testing::WithParamInterface<Target> {
 protected:
  void check(std::initializer_list<NodeId> outputs, const std::vector<Bindings>& vars = {{}}) {
    LoweredGraph::check(outputs, GetParam(), vars);
  }
  NodeId reduced(Op op, NodeId x, bool keep = false) {
    return must(ir::reduce(g_, op, x, {-1}, keep));
  }
};

TEST_P(RowsOn, ShortOnesShareAGroup) {
  for (const int64_t n : {1, 2, 3, 7, 10, 16, 17, 31, 32, 33, 63}) {
    for (const int64_t rows : {1, 5, 33}) {
      check({must(ir::softmax(g_, input({rows, n}), 1))});
      check({must(ir::layernorm(g_, input({rows, n}), input({n}), input({n}), 1e-5))});
      const NodeId x = input({rows, n}), y = must(ir::binary(g_, Op::add, x, input({n})));
      const NodeId high = reduced(Op::max, y, true);
      check({must(ir::binary(g_, Op::sub, y, high)), reduced(Op::sum, y),
             must(ir::argreduce(g_, Op::argmax, y, 1, false))});
    }
  }
}

TEST_P(RowsOn, ShortOnesOverAVariable) {
  const Sym n = Sym::var({"n", 0, 20}), m = Sym::var({"m", 0, 70});
  const std::vector<Bindings> values{
      {{"m", 0}, {"n", 0}}, {{"m", 3}, {"n", 0}}, {{"m", 70}, {"n", 1}}, {{"m", 69}, {"n", 20}}};
  check({must(ir::softmax(g_, input({m, n}), 1))}, values);
}

TEST_P(RowsOn, LongOnesAreSharedBySlices) {
  for (const int64_t n : {4096, 4097, 8192, 8193, 70000, 300000}) {
    const NodeId x = input({n});
    check({sum(x, {0}), reduced(Op::max, x), must(ir::argreduce(g_, Op::argmin, x, 0, false))});
    check({must(ir::dot(g_, input({n}), input({n})))});
  }
  check({must(ir::softmax(g_, input({2, 9000}), 1))});
  check({must(ir::layernorm(g_, input({3, 8200}), input({8200}), input({8200}), 1e-5))});
  check({must(ir::reduce(g_, Op::prod, input({2, 12300}), {1}, false))});
}

TEST_P(RowsOn, LongOnesOverAVariable) {
  const Sym n = Sym::var({"n", 0, 40000});
  check({sum(input({n}), {0})},
        {{{"n", 0}}, {{"n", 1}}, {{"n", 4096}}, {{"n", 4097}}, {{"n", 8192}}, {{"n", 40000}}});
}

TEST_P(RowsOn, ShortAndLongOnesInOneKernel) {
  const NodeId x = input({3, 9}), y = input({2, 9000});
  check({sum(x, {1}), sum(y, {1})});
}

// Products that underflow leave -0 in a lane, which the order adds +0 to.
TEST_P(RowsOn, SumsOfProductsThatUnderflow) {
  for (const int64_t n : {3, 20, 70}) {
    std::vector<float> a(static_cast<size_t>(n), 1e-30f), b(a.size(), -1e-30f);
    const auto bytes = [](const std::vector<float>& x) {
      test::Bytes out(x.size() * 4);
      std::memcpy(out.data(), x.data(), out.size());
      return out;
    };
    check({must(ir::dot(g_, input({n}, DType::f32, bytes(a)), input({n}, DType::f32, bytes(b))))});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowsOn,
                         testing::Values(Target{1, 0, 1}, Target{8, 16 << 10, 16384},
                                         Target{64, 16 << 10, 16384}, Target{256, 16 << 10, 64},
                                         Target{256, 16 << 10, 16384},
                                         Target{1024, 64 << 10, 16384}),
                         [](const auto& p) {
                           return fmt::format("{}lanes{}k{}", p.param.max_lanes,
                                              p.param.local_bytes >> 10, p.param.busy_lanes);
                         });

Result<kir::Kernel> kernel_of(const ir::Graph& g) {
  OST_TRY_ASSIGN(const Program p, schedule(g));
  return p.kernels[0].kir;
}

TEST(RowBarriers, NoneCanBeLeftOut) {
  std::vector<float> in(30000, 1.5f), out(30000);
  const auto check = [&](Shape shape, const Target& target, bool softmax) {
    ir::Graph g;
    const uint64_t bytes = static_cast<uint64_t>(shape[0].upper() * shape[1].upper()) * 4;
    const auto x = *g.add_input({"x", ir::InputKind::argument, DType::f32, shape, 0, nullptr});
    g.add_output("y", softmax ? *ir::softmax(g, x, 1) : *ir::reduce(g, ir::Op::sum, x, {1}, false));
    const auto kernel = kernel_of(g);
    ASSERT_TRUE(kernel.has_value());
    const kir::ParamData params[] = {
        {out.data(), softmax ? bytes : static_cast<uint64_t>(shape[0].upper()) * 4},
        {in.data(), bytes}};
    test::expect_barriers_needed(*kernel, target, params, 8, 1);
  };
  check({2, 100}, {64, 64 << 10, 16384}, true);
  check({9, 20}, {64, 64 << 10, 16384}, true);       // two rows a group
  check({1, 30000}, {256, 64 << 10, 16384}, false);  // four slices
}

TEST(RowLanes, FollowTheLengthOfRows) {
  const auto lanes = [](int64_t rows, int64_t n, const Target& target) {
    ir::Graph g;
    const auto x = *g.add_input({"x", ir::InputKind::argument, DType::f32, {rows, n}, 0, nullptr});
    g.add_output("y", *ir::softmax(g, x, 1));
    const auto kernel = kernel_of(g);
    kir::Scope scope;
    scope.extend(*kernel);
    const codegen::Plan plan = codegen::make_plan(*kernel, scope, target);
    return fmt::format("{} of {}", plan.nests[0].row_lanes, plan.lanes);
  };
  const Target gpu{1024, 64 << 10, 16384};
  EXPECT_EQ(lanes(1000, 10, gpu), "16 of 64");
  EXPECT_EQ(lanes(1000, 32, gpu), "32 of 64");
  EXPECT_EQ(lanes(1000, 33, gpu), "64 of 64");
  EXPECT_EQ(lanes(1000, 30000, gpu), "64 of 64");
  EXPECT_EQ(lanes(4, 30000, gpu), "512 of 512");
  EXPECT_EQ(lanes(4, 300000, gpu), "1024 of 1024");
  EXPECT_EQ(lanes(4, 300000, {1024, 16 << 10, 16384}), "256 of 256");
  EXPECT_EQ(lanes(1000, 10, {1, 0, 1}), "1 of 1");
}

}  // namespace
}  // namespace ost
