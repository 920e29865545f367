// Who owns which memory, and how long: outputs, intermediates, closed-over tensors, inputs.
#include <optional>

#include "lab.hpp"

namespace capture_test {

class CaptureLifetime : public Lab {
 protected:
  static JitOptions outputs(uint32_t mode) {
    JitOptions options;
    options.outputs = mode;
    return options;
  }
  Jit::Function plus_one() {
    return [this](const Tensors& in) { return Tensors{plus(in[0], 1)}; };
  }
};
INSTANTIATE_ON_DEVICES(CaptureLifetime);

TEST_P(CaptureLifetime, AStaleReusedOutputRaisesWhenItIsUsed) {
  Jit jit(session, plus_one());
  const Tensor eager = jit({floats({1})})[0];
  const Tensor first = jit({floats({2})})[0];
  EXPECT_EQ(values(first), Floats{3});
  const Tensor second = jit({floats({3})})[0];
  EXPECT_EQ(values(eager), Floats{2});  // call 1 was eager: its result is its own
  EXPECT_EQ(values(second), Floats{4});
  EXPECT_JIT_ERROR(first.read(), "whose storage a later call has overwritten");
  EXPECT_JIT_ERROR(plus(first, 1), "whose storage a later call has overwritten");
  EXPECT_JIT_ERROR(jit({first}), "whose storage a later call has overwritten");
  EXPECT_EQ(values(second), Floats{4});
}

TEST_P(CaptureLifetime, FreshOutputsStayValid) {
  Jit jit(session, plus_one(), outputs(OST_JIT_FRESH));
  Tensors all;
  for (int i = 0; i < 5; ++i) all.push_back(jit({floats({static_cast<float>(i)})})[0]);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(values(all[i]), Floats{static_cast<float>(i) + 1});
}

TEST_P(CaptureLifetime, DonatedInputsHaveNoValueAndTheirMemoryIsUsedAgain) {
  Jit jit(
      session,
      [&](const Tensors& in) {
        return Tensors{op("flip", {plus(in[0], 1)}, {{"axes", std::vector<int64_t>{0}}})};
      },
      outputs(OST_JIT_DONATE));
  Floats want{1, 2, 3, 4, 5};
  Tensor x = floats(want);
  for (int i = 0; i < 8; ++i) {
    const Tensor given = x;
    const uint64_t before = allocations();
    x = jit({given})[0];
    if (i > 3) {
      EXPECT_EQ(allocations(), before);  // two buffers go round
    }
    EXPECT_FALSE(given.is_realized());
    EXPECT_JIT_ERROR(given.read(), "was donated");
    EXPECT_JIT_ERROR(jit({given}), "was donated");
    for (float& w : want) w += 1;
    std::reverse(want.begin(), want.end());
    EXPECT_EQ(values(x), want);  // a flip in place would be wrong
  }
}

TEST_P(CaptureLifetime, OnlyTheNamedInputsAreDonated) {
  JitOptions options = outputs(OST_JIT_DONATE);
  options.donated = {1};
  const Tensor closed = floats({100});
  Jit jit(
      session, [&](const Tensors& in) { return Tensors{add(add(in[0], in[1]), closed)}; },
      options);
  const Tensor w = floats({10});
  Tensor x = floats({1});
  float want = 1;
  for (int i = 0; i < 5; ++i) {
    x = jit({w, x})[0];
    want += 110;
    EXPECT_EQ(values(x), Floats{want});
    EXPECT_EQ(values(w), Floats{10});
  }
  EXPECT_JIT_ERROR(jit({x, x}), "share memory, and input 1 is donated");
  EXPECT_JIT_ERROR(jit({w, closed}), "is donated, and shares memory with tensor");
  Tensor frozen = floats({1});
  frozen.freeze();
  EXPECT_JIT_ERROR(jit({w, frozen}), "input 1 is frozen and cannot be donated");
  EXPECT_EQ(values(jit({w, x})[0]), Floats{want + 110});
  options.donated = {7};
  Jit wrong(session, plus_one(), options);
  EXPECT_JIT_ERROR(wrong({w}), "input 7 is to be donated, but 1 inputs were given");
}

TEST_P(CaptureLifetime, ACloneOfAnOutputIsIndependent) {
  Jit jit(session, plus_one());
  jit({floats({1})});
  const Tensor clone = plus(jit({floats({2})})[0], 0);
  clone.realize();
  const Tensor lazy = times(jit({floats({3})})[0], 2);
  lazy.realize();
  jit({floats({4})});
  EXPECT_EQ(values(clone), Floats{3});
  EXPECT_EQ(values(lazy), Floats{8});
}

TEST_P(CaptureLifetime, AValueThatIsReturnedTwiceIsOneStorage) {
  Jit jit(session, [&](const Tensors& in) {
    const Tensor y = plus(in[0], 1);
    return Tensors{y, y, times(y, 2)};
  });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    auto out = jit({floats({v})});
    EXPECT_EQ(values(out[0]), Floats{v + 1});
    EXPECT_EQ(values(out[2]), Floats{2 * v + 2});
    out[1].assign(floats({-1}));
    EXPECT_EQ(values(out[0]), Floats{-1});
  }
}

TEST_P(CaptureLifetime, ALazyTensorThatOutlivesTheCaptureHasItsOwnStorage) {
  std::optional<Tensor> kept, derived;
  const Tensor weight = floats({10});
  Jit jit(session, [&](const Tensors& in) {
    kept = mul(in[0], weight);  // as a gradient would hang on a parameter
    derived = plus(*kept, 1);
    return Tensors{sum(add(*kept, *kept))};
  });
  for (int i = 1; i <= 5; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(value(jit({floats({v})})[0]), 20 * v);
    EXPECT_EQ(values(*kept), Floats{10 * v});
    EXPECT_EQ(values(*derived), Floats{10 * v + 1});
    EXPECT_EQ(values(add(*kept, *derived)), Floats{20 * v + 1});
  }
}

TEST_P(CaptureLifetime, AKeptTensorCanBeAnInputOfTheNextCall) {
  std::optional<Tensor> kept;
  Jit jit(session, [&](const Tensors& in) {
    kept = plus(times(in[0], 2), 1);
    return Tensors{times(*kept, 10)};
  });
  Tensor x = floats({1});
  float want = 1;
  for (int i = 0; i < 6; ++i) {
    want = 2 * want + 1;
    EXPECT_EQ(values(jit({x})[0]), Floats{10 * want});
    EXPECT_EQ(values(*kept), Floats{want});
    x = *kept;
  }
}

TEST_P(CaptureLifetime, AKeptTensorThatIsReturnedTooHasItsOwnStorage) {
  Tensors kept;
  Jit jit(session, [&](const Tensors& in) {
    kept = {plus(in[0], 1)};
    return Tensors{kept[0]};
  });
  jit({floats({1})});
  for (int i = 0; i < 3; ++i) {
    const float v = static_cast<float>(i);
    Tensor out = jit({floats({v})})[0];
    out.assign(floats({-1}));
    EXPECT_EQ(values(kept[0]), Floats{v + 1});
  }
}

TEST_P(CaptureLifetime, WhatStoodForAnArgumentHasNoValueAfterwards) {
  Tensors arguments;
  Jit jit(session, [&](const Tensors& in) {
    arguments = in;
    return Tensors{plus(in[0], 1)};
  });
  for (int i = 0; i < 3; ++i) jit({floats({1})});
  EXPECT_JIT_ERROR(arguments[0].read(), "stood for an argument of a captured function");
  EXPECT_JIT_ERROR(plus(arguments[0], 1), "stood for an argument of a captured function");
  EXPECT_JIT_ERROR(jit(arguments), "stood for an argument of a captured function");
}

TEST_P(CaptureLifetime, IntermediatesLiveInAnArenaThatIsUsedAgain) {
  // 20 intermediates of 4 KiB that cannot fuse; two of them are alive at a time.
  const Tensor w = floats({32, 32}, Floats(1024, 0.03125f));
  Jit jit(session, [&](const Tensors& in) {
    Tensor y = in[0];
    for (int i = 0; i < 21; ++i) y = matmul(y, w);
    return Tensors{y};
  });
  const Tensor x = floats({32, 32}, Floats(1024, 1));
  for (int i = 0; i < 3; ++i) jit({x});
  EXPECT_GE(jit.program().describe().launches, 20u);
  EXPECT_LE(jit.stats().arena_bytes, 3u * 4096);
  EXPECT_EQ(values(jit({x})[0]), Floats(1024, 1));
}

TEST_P(CaptureLifetime, FreeIntermediatesIsIdempotentAndTheNextCallWorks) {
  const Tensor w = floats({16, 16}, Floats(256, 0.0625f));
  Tensor total = floats({16, 16}, Floats(256, 0));
  Jit jit(session, [&](const Tensors& in) {
    const Tensor y = matmul(matmul(in[0], w), w);
    total.assign(add(total, y));
    return Tensors{y};
  });
  EXPECT_EQ(jit.free_intermediates(), 0u);  // nothing is captured
  const Tensor x = floats({16, 16}, Floats(256, 1));
  for (int i = 0; i < 3; ++i) jit({x});
  const Tensor last = jit({x})[0];
  const uint64_t before = live_bytes();
  const uint64_t freed = jit.free_intermediates();
  EXPECT_GE(freed, 1024u);
  EXPECT_EQ(live_bytes(), before - freed);
  EXPECT_EQ(jit.free_intermediates(), 0u);
  EXPECT_EQ(values(last), Floats(256, 1));     // the tensor holds its storage
  EXPECT_EQ(values(total), Floats(256, 4));    // updated in place: not freed
  EXPECT_EQ(values(jit({x})[0]), Floats(256, 1));
  EXPECT_GE(jit.stats().allocations, 1u);
  EXPECT_EQ(values(total), Floats(256, 5));
  jit({x});
  EXPECT_EQ(jit.stats().allocations, 0u);
}

TEST_P(CaptureLifetime, ReleasedWeightsAreHeld) {
  std::optional<Tensor> w = floats({10, 20});
  Jit jit(session, [&](const Tensors& in) { return Tensors{add(in[0], *w)}; });
  for (int i = 0; i < 2; ++i) jit({floats({1, 2})});
  w.reset();
  std::optional<Tensor> noise = floats(Floats(2, 7));  // would take freed memory
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit({floats({1, 2})})[0]), (Floats{11, 22}));
}

TEST_P(CaptureLifetime, NothingHoldsAnInputAfterItsCall) {
  for (const uint32_t mode : {OST_JIT_REUSE, OST_JIT_FRESH}) {
    Jit jit(
        session, [&](const Tensors& in) { return Tensors{sum(in[0])}; }, outputs(mode));
    for (int i = 0; i < 3; ++i) jit({floats(Floats(1 << 16, 1))});
    const uint64_t before = live_bytes();
    {
      const Tensor x = floats(Floats(1 << 16, 2));
      EXPECT_EQ(value(jit({x})[0]), 2 << 16);
      EXPECT_GE(live_bytes(), before + (4u << 16));
    }
    EXPECT_EQ(live_bytes(), before);
  }
}

TEST_P(CaptureLifetime, NothingHoldsAFreshOutput) {
  Jit jit(session, plus_one(), outputs(OST_JIT_FRESH));
  const Tensor x = floats(Floats(1 << 14, 1));
  for (int i = 0; i < 3; ++i) jit({x});
  const uint64_t before = live_bytes();
  { EXPECT_EQ(values(jit({x})[0])[0], 2); }
  EXPECT_EQ(live_bytes(), before);
}

TEST_P(CaptureLifetime, ResetReleasesWhatTheCaptureHeld) {
  std::optional<Tensor> weight = floats(Floats(1 << 16, 1));
  Jit jit(session, [&](const Tensors& in) { return Tensors{add(in[0], *weight)}; });
  for (int i = 0; i < 3; ++i) jit({floats(Floats(1 << 16, 1))});
  weight.reset();
  const uint64_t before = live_bytes();
  jit.reset();
  EXPECT_LE(live_bytes(), before - 2 * (4u << 16));  // the weight and the output
}

}  // namespace capture_test
