// What a captured program consists of: kernels, arenas, devices, counters.
#include "lab.hpp"

namespace capture_test {

class CaptureStructure : public Lab {
 protected:
  Tensor matrix(float v, int64_t n = 8) {
    return floats({n, n}, Floats(static_cast<size_t>(n * n), v));
  }
  uint32_t launches(const Jit& jit) { return jit.program().describe().launches; }
};
INSTANTIATE_ON_DEVICES(CaptureStructure);

TEST_P(CaptureStructure, KernelsThatDependOnNoInputRunOnce) {
  const auto body = [&](const Tensors& in) {
    const Tensor a = matrix(0.5f), b = matrix(0.25f);  // constants of the body
    const Tensor table = matmul(matmul(a, b), b);
    return Tensors{matmul(in[0], table), sum(table)};
  };
  JitOptions whole;
  whole.prune = false;
  Jit jit(session, body), all(session, body, whole);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = matrix(static_cast<float>(i));
    const auto got = jit({x}), want = all({x});
    for (size_t o = 0; o < 2; ++o) EXPECT_EQ(got[o].read().bytes, want[o].read().bytes);
  }
  EXPECT_EQ(launches(all), launches(jit) + 2);
  EXPECT_EQ(jit.stats().launches, all.stats().launches - 2);
}

TEST_P(CaptureStructure, WhatCanChangeIsNotPruned) {
  Tensor weight = matrix(1), state = matrix(1);
  Jit jit(session, [&](const Tensors& in) {
    const Tensor from_weight = matmul(weight, weight);  // the user may assign to it
    const Tensor from_state = matmul(state, state);     // the program does
    state.assign(plus(state, 1));
    const Tensor drawn = session.random("uniform", {8, 8}, device());
    return Tensors{matmul(in[0], from_weight), matmul(in[0], from_state),
                   matmul(in[0], matmul(drawn, drawn))};
  });
  std::vector<unsigned char> last;
  for (int i = 0; i < 4; ++i) {
    const float w = static_cast<float>(i) + 1;
    weight.assign(matrix(w));
    const auto out = jit({matrix(1)});
    EXPECT_EQ(value(out[0]), 64 * w * w);
    EXPECT_EQ(value(out[1]), 64 * w * w);
    EXPECT_NE(out[2].read().bytes, last);
    last = out[2].read().bytes;
  }
}

TEST_P(CaptureStructure, WorkOnFrozenTensorsIsPruned) {
  Tensor weight = matrix(2);
  weight.freeze();
  Jit jit(session,
          [&](const Tensors& in) { return Tensors{matmul(in[0], matmul(weight, weight))}; });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(value(jit({matrix(v)})[0]), v * 4 * 64);
  }
  EXPECT_EQ(launches(jit), 1u);
  EXPECT_EQ(jit.program().describe().states, 0u);
  const Program again = Program::parse(jit.program().inspect(OST_FORMAT_MANIFEST));
  Instance instance(context(), again, {device()});
  const Array x(OST_DTYPE_F32, {8, 8});
  instance.bind({{"arg0", x.view()}});
  instance.run();
  EXPECT_EQ(instance.output(0).values<float>(), Floats(64, 0));
}

TEST_P(CaptureStructure, KernelCountsAreObservable) {
  const Tensor w = matrix(0.5f), bias = floats(Floats(8, 1));
  Jit layer(session,
            [&](const Tensors& in) { return Tensors{op("relu", {add(matmul(in[0], w), bias)})}; });
  Jit chain(session,
            [&](const Tensors& in) { return Tensors{op("exp", {times(plus(in[0], 1), 0.5)})}; });
  Jit softmax(session, [&](const Tensors& in) { return Tensors{op("softmax", {in[0]})}; });
  for (Jit* jit : {&layer, &chain, &softmax}) {
    for (int i = 0; i < 2; ++i) (*jit)({matrix(1)});
    EXPECT_EQ(launches(*jit), 1u);
  }
}

TEST_P(CaptureStructure, AChainOnOneDeviceIsOneSubmit) {
  const Tensor w = matrix(0.125f);
  Jit jit(session, [&](const Tensors& in) {
    Tensor y = in[0];
    for (int i = 0; i < 83; ++i) y = matmul(y, w);
    return Tensors{y};
  });
  const Tensor x = matrix(1);
  for (int i = 0; i < 2; ++i) jit({x});
  const uint64_t before = submits();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit({x})[0]), Floats(64, 1));
  EXPECT_EQ(submits(), before + 3);
  EXPECT_EQ(jit.stats().launches, 83u);
}

TEST_P(CaptureStructure, ADeviceChangeSplitsTheProgramAndCopiesInBetween) {
  const std::string other = device() == "ref:0" ? "cpu:0" : "ref:0";
  if (!raised([&] { context().open(other); }).message.empty()) GTEST_SKIP() << "needs " << other;
  Jit jit(session, [&](const Tensors& in) {
    const Tensor here = plus(in[0], 1);               // this device
    const Tensor there = mul(here.to(other), in[1]);  // the other one, with an input of its own
    return Tensors{add(there.to(device()), in[0]), there};
  });
  for (int i = 0; i < 5; ++i) {
    const float v = static_cast<float>(i);
    const uint64_t mine = submits(), others = context().open(other).submits;
    const auto out = jit({floats({v, 2}), session.tensor(Array::of<float>({2}, {3, 4}), other)});
    EXPECT_EQ(values(out[0]), (Floats{3 * (v + 1) + v, 14}));
    EXPECT_EQ(values(out[1]), (Floats{3 * (v + 1), 12}));
    EXPECT_EQ(out[1].device(), other);
    if (i < 2) continue;
    EXPECT_EQ(submits() - mine, 2u);
    EXPECT_EQ(context().open(other).submits - others, 1u);
    EXPECT_EQ(jit.stats().copies, 2u);
    EXPECT_EQ(jit.stats().copied_bytes, 16u);
    EXPECT_EQ(jit.stats().launches, 3u);
  }
}

TEST_P(CaptureStructure, AViewExtendsTheLifeOfItsBase) {
  const Tensor w = matrix(0.125f);
  Jit jit(session, [&](const Tensors& in) {
    const Tensor base = matmul(in[0], w);
    const Tensor view = op("reshape", {base}, {dims("shape", {64})});
    Tensor y = base;
    for (int i = 0; i < 6; ++i) y = matmul(y, w);  // would take the base's memory
    return Tensors{add(op("reshape", {y}, {dims("shape", {64})}), view)};
  });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(values(jit({matrix(v)})[0]), Floats(64, 2 * v));
  }
}

TEST_P(CaptureStructure, AnArenaBelongsToOneProgram) {
  const Tensor w = matrix(0.125f);
  const auto chain = [&](const Tensors& in) {
    return Tensors{matmul(matmul(matmul(in[0], w), w), w)};
  };
  Jit one(session, chain), two(session, chain);
  for (int i = 0; i < 2; ++i) {
    one({matrix(1)});
    two({matrix(2)});
  }
  const Tensor a = one({matrix(3)})[0];
  const Tensor b = two({matrix(4)})[0];
  EXPECT_EQ(values(a), Floats(64, 3));
  EXPECT_EQ(values(b), Floats(64, 4));
  EXPECT_EQ(one.free_intermediates() > 0, two.free_intermediates() > 0);
}

TEST_P(CaptureStructure, AReplayDoesNoAllocationNoCompilationAndNoGraphWork) {
  const Tensor w = matrix(0.125f);
  Tensor state = floats(Floats(8, 0));
  session.bind("n", 0, 8, 3);
  Jit jit(session, [&](const Tensors& in) {
    state.assign(plus(state, 1));
    return Tensors{matmul(matmul(in[0], w), w), sum(in[1]), in[0]};
  });
  const Tensor x = matrix(1);
  for (const int64_t n : {3, 3, 5}) {
    session.bind("n", 0, 8, n);
    jit(Arguments()
            .add(x)
            .add(floats({n}, Floats(static_cast<size_t>(n), 1), {"n"}))
            .add(var("n", 0, 8, n)));
  }
  std::vector<Arguments> calls;
  for (const int64_t n : {0, 8, 1}) {
    session.bind("n", 0, 8, n);
    calls.push_back(Arguments()
                        .add(x)
                        .add(floats({n}, Floats(static_cast<size_t>(n), 1), {"n"}))
                        .add(var("n", 0, 8, n)));
  }
  const auto before = session.stats();
  const uint64_t memory = allocations(), compiles = context().compile_stats().compiles;
  for (const Arguments& call : calls) {
    jit(call);
    EXPECT_EQ(jit.stats().allocations, 0u);
    EXPECT_EQ(jit.stats().compiles, 0u);
  }
  const auto after = session.stats();
  EXPECT_EQ(after.graph_nodes, before.graph_nodes);
  EXPECT_EQ(after.schedules, before.schedules);
  EXPECT_EQ(after.eager_runs, before.eager_runs);
  EXPECT_EQ(allocations(), memory);
  EXPECT_EQ(context().compile_stats().compiles, compiles);
}

TEST_P(CaptureStructure, NothingIsSearchedOrCompiledDuringWarmUpOnly) {
  // There is no search: what call 1 compiles is what its eager kernels need, what call 2 compiles is
  // at most the captured program's kernels.
  Context fresh = [] {
    ContextOptions options;
    options.cache_folder = "off";
    return Context(options);
  }();
  Session own(fresh);
  Jit jit(own, [&](const Tensors& in) {
    return Tensors{own.op("softmax", {own.op("add", {in[0], in[0]})})};
  });
  const Tensor x = own.tensor(Array::of<float>({4}, {1, 2, 3, 4}), device());
  jit({x});
  const uint64_t eager = fresh.compile_stats().compiles;
  EXPECT_LE(eager, 1u);
  jit({x});
  EXPECT_EQ(fresh.compile_stats().compiles, eager);  // the same kernel
  jit({x});
  EXPECT_EQ(fresh.compile_stats().compiles, eager);
}

TEST_P(CaptureStructure, CountersAreExactOnReplay) {
  const Tensor w = matrix(0.5f);
  Tensor big = floats(Floats(100, 0));
  Jit jit(session, [&](const Tensors& in) {
    big.assign(in[1]);
    return Tensors{matmul(matmul(in[0], w), w)};
  });
  for (int i = 0; i < 4; ++i) {
    jit({matrix(1), floats(Floats(100, 1))});
    if (i == 0) continue;
    const auto stats = jit.stats();
    const auto desc = jit.program().describe();
    EXPECT_EQ(stats.launches, desc.launches);
    EXPECT_EQ(stats.copies, desc.copies);
    EXPECT_EQ(stats.launches + stats.copies, 3u);
  }
}

TEST_P(CaptureStructure, EmptyTensorsWorkInAllPhases) {
  Tensor state = floats({0, 4}, {});
  Jit jit(session, [&](const Tensors& in) {
    state.assign(in[0]);
    return Tensors{plus(in[0], 1), sum(in[0]), in[0], matmul(op("transpose", {in[0]}), in[0]),
                   op("concat", {in[0], in[1]}, {{"axis", 0}})};
  });
  for (int i = 0; i < 4; ++i) {
    const auto out = jit({floats({0, 4}, {}), floats({1, 4}, {1, 2, 3, 4})});
    EXPECT_EQ(values(out[0]), Floats{});
    EXPECT_EQ(values(out[1]), Floats{0});
    EXPECT_EQ(values(out[2]), Floats{});
    EXPECT_EQ(values(out[3]), Floats(16, 0));
    EXPECT_EQ(values(out[4]), (Floats{1, 2, 3, 4}));
  }
}

}  // namespace capture_test
