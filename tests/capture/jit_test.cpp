// The capture contract (design §6), on `ref` and on `cpu` where it was built. Names are the
// behaviours.
#include "core/capture/jit.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "core/ir/ops.hpp"

namespace ost::capture {
namespace {

using Floats = std::vector<float>;

struct Lab {
  std::shared_ptr<runtime::DeviceRegistry> registry;
  std::shared_ptr<runtime::Compiler> compiler;
  static Lab& get() {
    static Lab lab = [] {
      runtime::RegistryOptions options;
      if (const char* build = std::getenv("OSTINATO_BUILD_DIR"))
        options.loader.folders = {std::string(build) + "/lib/ostinato-plugins"};
      auto registry = runtime::DeviceRegistry::create(options);
      return Lab{registry,
                 std::make_shared<runtime::Compiler>(std::make_shared<runtime::CompileCache>(""))};
    }();
    return lab;
  }
};

template <typename T>
T must(Result<T> r) {
  if (!r) throw std::runtime_error(r.error().message);
  return std::move(*r);
}
void must(const Result<>& r) {
  if (!r) throw std::runtime_error(r.error().message);
}

class JitTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto found = session.device(GetParam());
    if (!found) GTEST_SKIP() << "needs " << GetParam() << ": " << found.error().message;
  }

  TensorPtr tensor(const Floats& values) {
    return tensor({Sym(static_cast<int64_t>(values.size()))}, values);
  }
  TensorPtr tensor(Shape shape, const Floats& values) {
    return must(
        session.from_data(DType::f32, std::move(shape), 0,
                          {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}));
  }
  Floats values(const TensorPtr& t) {
    Floats out(must(session.bytes_of(*t)) / 4);
    must(session.read(t, {reinterpret_cast<uint8_t*>(out.data()), out.size() * 4}));
    return out;
  }
  std::string read_error(const TensorPtr& t) {
    Floats out(must(session.bytes_of(*t)) / 4);
    auto r = session.read(t, {reinterpret_cast<uint8_t*>(out.data()), out.size() * 4});
    return r ? "" : r.error().message;
  }
  TensorPtr binary(ir::Op op, const TensorPtr& a, const TensorPtr& b) {
    const TensorPtr in[2] = {a, b};
    return must(
        session.apply(in, [op](ir::Graph& g, auto n) { return ir::binary(g, op, n[0], n[1]); }));
  }
  TensorPtr add(const TensorPtr& a, const TensorPtr& b) { return binary(ir::Op::add, a, b); }
  TensorPtr plus(const TensorPtr& a, double v) {
    return must(session.apply(std::span(&a, 1), [v](ir::Graph& g, auto n) -> Result<ir::NodeId> {
      OST_TRY_ASSIGN(auto s, ir::scalar_like(g, n[0], v, false));
      return ir::binary(g, ir::Op::add, n[0], s);
    }));
  }
  TensorPtr sum(const TensorPtr& a) {
    return must(session.apply(std::span(&a, 1), [](ir::Graph& g, auto n) {
      return ir::reduce(g, ir::Op::sum, n[0], {}, false);
    }));
  }
  std::string error_of(const Result<std::vector<TensorPtr>>& r) {
    EXPECT_FALSE(r.has_value());
    if (r) return "";
    EXPECT_EQ(r.error().status, OST_JIT_ERROR);
    return r.error().message;
  }

  Session session{Lab::get().registry, Lab::get().compiler};
};

INSTANTIATE_TEST_SUITE_P(Devices, JitTest, testing::Values("ref:0", "cpu:0"),
                         [](const auto& device) { return device.param.substr(0, 3); });

TEST_P(JitTest, RunsTheBodyTwiceThenReplays) {
  int bodies = 0;
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    ++bodies;
    return std::vector{plus(add(in[0], in[0]), 1)};
  });
  for (int i = 0; i < 6; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i), 2});
    const auto out = must(jit.call(std::span(&x, 1)));
    EXPECT_EQ(values(out[0]), (Floats{2.0f * static_cast<float>(i) + 1, 5}));
    EXPECT_EQ(jit.captured(), i >= 1);
  }
  EXPECT_EQ(bodies, 2);
}

TEST_P(JitTest, ResetCapturesAgainWithOtherShapes) {
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{plus(in[0], 1)}; });
  TensorPtr x = tensor({1, 2});
  for (int i = 0; i < 3; ++i) must(jit.call(std::span(&x, 1)));
  x = tensor({1, 2, 3});
  EXPECT_NE(error_of(jit.call(std::span(&x, 1))).find("input 0 is f32[3]"), std::string::npos);
  jit.reset();
  EXPECT_FALSE(jit.captured());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{2, 3, 4}));
}

TEST_P(JitTest, ReplayAllocatesAndCompilesAndBuildsNothing) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    return std::vector{sum(add(in[0], in[0]))};
  });
  const TensorPtr x = tensor({1, 2, 3});
  for (int i = 0; i < 3; ++i) must(jit.call(std::span(&x, 1)));
  const SessionStats before = session.stats();
  const uint64_t allocations = session.device_at(0)->counters().allocations;
  const uint64_t compiles = session.compiler().stats().compiles;
  for (int i = 0; i < 5; ++i) must(jit.call(std::span(&x, 1)));
  EXPECT_EQ(session.stats().graph_nodes, before.graph_nodes);
  EXPECT_EQ(session.stats().schedules, before.schedules);
  EXPECT_EQ(session.device_at(0)->counters().allocations, allocations);
  EXPECT_EQ(session.compiler().stats().compiles, compiles);
  EXPECT_EQ(jit.last_run()->allocations, 0u);
}

TEST_P(JitTest, ACaptureOfNothingRaisesAndLeavesNoState) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{in[0]}; });
  const TensorPtr x = tensor({1});
  must(jit.call(std::span(&x, 1)));
  EXPECT_NE(error_of(jit.call(std::span(&x, 1))).find("no kernel was recorded"), std::string::npos);
  EXPECT_FALSE(jit.captured());
  EXPECT_FALSE(session.capturing());
}

TEST_P(JitTest, AnErrorDuringCaptureLeavesEverythingUsable) {
  bool broken = true;
  int calls = 0;
  TensorPtr leaked;
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    TensorPtr y = plus(in[0], 1);
    if (++calls == 2 && broken) {
      leaked = y;
      return fail(OST_INVALID_ARGUMENT, "broken on purpose");
    }
    return std::vector{y};
  });
  const TensorPtr x = tensor({1});
  must(jit.call(std::span(&x, 1)));
  EXPECT_FALSE(jit.call(std::span(&x, 1)).has_value());
  EXPECT_NE(read_error(leaked).find("the capture failed"), std::string::npos);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{2}));
  EXPECT_TRUE(jit.captured());
}

TEST_P(JitTest, ClosedOverTensorsAreSeenWhenTheyAreUpdatedInPlace) {
  const TensorPtr w = tensor({10, 20});
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{add(in[0], w)}; });
  const TensorPtr x = tensor({1, 2});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{11, 22}));
  must(session.assign(w, tensor({100, 200})));
  EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{101, 202}));
}

TEST_P(JitTest, AnAssignInsideIsReplayedOnTheSameStorage) {
  const TensorPtr acc = tensor({0});
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    OST_TRY(session.assign(acc, add(acc, in[0])));
    return std::vector{plus(acc, 0)};
  });
  float want = 0;
  for (int i = 1; i <= 5; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i)});
    want += static_cast<float>(i);
    EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{want}));
    EXPECT_EQ(values(acc), (Floats{want}));
  }
}

TEST_P(JitTest, AssignToAnInputUpdatesTheCallersTensor) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    OST_TRY(session.assign(in[0], plus(in[0], 1)));
    return std::vector{plus(in[0], 0)};
  });
  const TensorPtr a = tensor({0});
  for (int i = 1; i <= 5; ++i) {
    must(jit.call(std::span(&a, 1)));
    EXPECT_EQ(values(a), (Floats{static_cast<float>(i)}));
  }
}

TEST_P(JitTest, AnInputThatIsAlsoClosedOverIsToldApartByPosition) {
  const TensorPtr w = tensor({1});
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{add(in[0], w)}; });
  must(jit.call(std::span(&w, 1)));
  must(jit.call(std::span(&w, 1)));  // captured with the closure's own tensor as the argument
  const TensorPtr x = tensor({10});
  EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{11}));
}

TEST_P(JitTest, APassedThroughInputIsTheInputOfThisCall) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    return std::vector{in[0], plus(in[0], 1)};
  });
  for (int i = 1; i <= 4; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i)});
    EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{static_cast<float>(i)}));
  }
}

TEST_P(JitTest, AnOutputFedBackIsNeverOverwrittenWhileItIsRead) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    const TensorPtr& x = in[0];
    return std::vector{must(session.apply(
        std::span(&x, 1), [](ir::Graph& g, auto n) { return ir::flip(g, n[0], {0}); }))};
  });
  TensorPtr x = tensor({1, 2, 3, 4, 5});
  for (int i = 0; i < 6; ++i) x = must(jit.call(std::span(&x, 1)))[0];
  EXPECT_EQ(values(x), (Floats{1, 2, 3, 4, 5}));
}

TEST_P(JitTest, SwappedOutputsFedBackReturnToTheStart) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    return std::vector{plus(in[1], 0), plus(in[0], 0)};
  });
  std::vector<TensorPtr> ab{tensor({1}), tensor({2})};
  for (int i = 0; i < 6; ++i) ab = must(jit.call(ab));
  EXPECT_EQ(values(ab[0]), (Floats{1}));
  EXPECT_EQ(values(ab[1]), (Floats{2}));
}

TEST_P(JitTest, AStaleReusedOutputRaisesWhenRead) {
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{plus(in[0], 1)}; });
  const TensorPtr x = tensor({1});
  must(jit.call(std::span(&x, 1)));
  const TensorPtr first = must(jit.call(std::span(&x, 1)))[0];
  EXPECT_EQ(values(first), (Floats{2}));
  must(jit.call(std::span(&x, 1)));
  EXPECT_NE(read_error(first).find("overwritten"), std::string::npos);
}

TEST_P(JitTest, FreshOutputsStayValid) {
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{plus(in[0], 1)}; },
          {.outputs = OutputMode::fresh});
  std::vector<TensorPtr> all;
  for (int i = 0; i < 4; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i)});
    all.push_back(must(jit.call(std::span(&x, 1)))[0]);
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(values(all[static_cast<size_t>(i)]), (Floats{static_cast<float>(i) + 1}));
}

TEST_P(JitTest, ReadingATracedValueRaises) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    const TensorPtr y = plus(in[0], 1);
    Floats out(1);
    OST_TRY(session.read(y, {reinterpret_cast<uint8_t*>(out.data()), 4}));
    return std::vector{y};
  });
  const TensorPtr x = tensor({1});
  must(jit.call(std::span(&x, 1)));
  EXPECT_NE(
      error_of(jit.call(std::span(&x, 1))).find("has no value while its function is captured"),
      std::string::npos);
}

TEST_P(JitTest, ATensorThatOutlivesTheCaptureKeepsItsStorage) {
  TensorPtr kept;
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    kept = plus(in[0], 10);
    return std::vector{add(kept, kept)};
  });
  for (int i = 1; i <= 4; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i)});
    EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]),
              (Floats{2 * (static_cast<float>(i) + 10)}));
    EXPECT_EQ(values(kept), (Floats{static_cast<float>(i) + 10}));
  }
}

TEST_P(JitTest, AReturnedTensorThatIsAlsoKeptHasItsOwnStorage) {
  TensorPtr kept;
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    kept = plus(in[0], 10);
    return std::vector{kept};
  });
  TensorPtr x = tensor({1});
  for (int i = 1; i <= 5; ++i) {
    const TensorPtr y = must(jit.call(std::span(&x, 1)))[0];
    EXPECT_EQ(values(y), (Floats{1 + 10 * static_cast<float>(i)}));
    EXPECT_EQ(values(kept), values(y));
    x = y;  // the next call writes the other set of outputs
  }
}

TEST_P(JitTest, AnArgumentThatLeavesTheFunctionHasNoValue) {
  TensorPtr leaked;
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    leaked = in[0];
    return std::vector{plus(in[0], 1)};
  });
  const TensorPtr x = tensor({1});
  for (int i = 0; i < 2; ++i) must(jit.call(std::span(&x, 1)));
  EXPECT_NE(read_error(leaked).find("stood for an argument"), std::string::npos);
  EXPECT_EQ(values(must(jit.call(std::span(&x, 1)))[0]), (Floats{2}));
}

TEST_P(JitTest, AnAssignLeavesEqualTensorsAlone) {
  const TensorPtr w = tensor({1, 2});
  const TensorPtr same = must(session.apply(
      std::span(&w, 1), [](ir::Graph& g, auto n) { return ir::reshape(g, n[0], {Sym(2)}); }));
  const TensorPtr lazy = must(session.apply(
      std::span(&w, 1), [](ir::Graph& g, auto n) { return ir::reshape(g, n[0], {Sym(2)}); }));
  EXPECT_EQ(values(same), (Floats{1, 2}));
  must(session.assign(w, tensor({5, 6})));
  EXPECT_EQ(values(w), (Floats{5, 6}));
  EXPECT_EQ(values(same), (Floats{1, 2}));
  EXPECT_EQ(values(lazy), (Floats{1, 2}));
}

TEST_P(JitTest, DuplicateInputsAreAllowedWhereBothAreRead) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    return std::vector{add(in[0], in[1])};
  });
  const std::vector<TensorPtr> apart{tensor({1}), tensor({2})};
  for (int i = 0; i < 3; ++i) must(jit.call(apart));
  const std::vector<TensorPtr> same{apart[1], apart[1]};
  EXPECT_EQ(values(must(jit.call(same))[0]), (Floats{4}));
}

TEST_P(JitTest, AWrittenInputMayNotShareMemory) {
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    OST_TRY(session.assign(in[0], plus(in[0], 1)));
    return std::vector{add(in[0], in[1])};
  });
  std::vector<TensorPtr> in{tensor({1}), tensor({2})};
  for (int i = 0; i < 3; ++i) must(jit.call(in));
  in[1] = in[0];
  EXPECT_NE(error_of(jit.call(in)).find("share memory"), std::string::npos);
}

TEST_P(JitTest, NestedCapturesAreInlined) {
  int inner_bodies = 0;
  Jit inner(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    ++inner_bodies;
    return std::vector{plus(in[0], 1)};
  });
  Jit outer(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    OST_TRY_ASSIGN(auto out, inner.call(in));
    return std::vector{add(out[0], out[0])};
  });
  for (int i = 0; i < 4; ++i) {
    const TensorPtr x = tensor({static_cast<float>(i)});
    EXPECT_EQ(values(must(outer.call(std::span(&x, 1)))[0]),
              (Floats{2 * (static_cast<float>(i) + 1)}));
  }
  EXPECT_EQ(inner_bodies, 2);
  EXPECT_EQ(outer.program()->steps.size(), 1u);
}

TEST_P(JitTest, OneCaptureServesAllValuesOfItsVariable) {
  const Var n{"n", 0, 8};
  Jit jit(session, [&](auto in) -> Result<std::vector<TensorPtr>> {
    return std::vector{sum(in[0]), plus(in[0], 1)};
  });
  for (int64_t v : {3, 5, 0, 8, 1}) {
    must(session.bind(n, v));
    Floats data;
    for (int64_t i = 0; i < v; ++i) data.push_back(static_cast<float>(i));
    const TensorPtr x = tensor({Sym::var(n)}, data);
    const JitVar var{n, v};
    const auto out = must(jit.call(std::span(&x, 1), std::span(&var, 1)));
    EXPECT_EQ(values(out[0]), (Floats{static_cast<float>(v * (v - 1) / 2)}));
    EXPECT_EQ(values(out[1]).size(), static_cast<size_t>(v));
  }
}

TEST_P(JitTest, MalformedVariablesRaise) {
  Jit jit(session,
          [&](auto in) -> Result<std::vector<TensorPtr>> { return std::vector{plus(in[0], 1)}; });
  const TensorPtr x = tensor({1});
  const auto call = [&](std::vector<JitVar> vars) {
    return error_of(jit.call(std::span(&x, 1), vars));
  };
  EXPECT_NE(call({{{"", 0, 1}, 0}}).find("no name"), std::string::npos);
  EXPECT_NE(call({{{"a", 5, 1}, 3}}).find("malformed"), std::string::npos);
  EXPECT_NE(call({{{"b", 0, 4}, 7}}).find("outside its bounds"), std::string::npos);
  EXPECT_NE(call({{{"c", 0, 4}, 1}, {{"c", 0, 4}, 2}}).find("given twice"), std::string::npos);
}

}  // namespace
}  // namespace ost::capture
