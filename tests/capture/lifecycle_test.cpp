// Phases of a jit, and what ends them.
#include <optional>

#include "lab.hpp"

namespace capture_test {

class CaptureLifecycle : public Lab {};
INSTANTIATE_ON_DEVICES(CaptureLifecycle);

TEST_P(CaptureLifecycle, RunsTheBodyTwiceThenReplays) {
  int bodies = 0;
  Jit jit(session, [&](const Tensors& in) {
    ++bodies;
    return Tensors{plus(add(in[0], in[0]), 1)};
  });
  for (int i = 0; i < 6; ++i) {
    const float x = static_cast<float>(i);
    EXPECT_EQ(values(jit({floats({x, 2})})[0]), (Floats{2 * x + 1, 5}));
    EXPECT_EQ(jit.captured(), i >= 1);
  }
  EXPECT_EQ(bodies, 2);
}

TEST_P(CaptureLifecycle, ResetCapturesAgainWithOtherShapes) {
  int bodies = 0;
  Jit jit(session, [&](const Tensors& in) {
    ++bodies;
    return Tensors{plus(in[0], 1)};
  });
  for (int i = 0; i < 3; ++i) jit({floats({1, 2})});
  jit.reset();
  EXPECT_FALSE(jit.captured());
  jit.reset();  // twice is once
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(values(jit({floats({1, 2, 3})})[0]), (Floats{2, 3, 4}));
    EXPECT_EQ(jit.captured(), i >= 1);
  }
  EXPECT_EQ(bodies, 4);
}

TEST_P(CaptureLifecycle, ADisabledJitIsAlwaysEager) {
  JitOptions options;
  options.disabled = true;
  int bodies = 0;
  Jit jit(
      session,
      [&](const Tensors& in) {
        ++bodies;
        return Tensors{plus(in[0], 1)};
      },
      options);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
    EXPECT_FALSE(jit.captured());
  }
  EXPECT_EQ(bodies, 4);
}

TEST_P(CaptureLifecycle, ACaptureOfNoKernelRaisesAndLeavesNoState) {
  bool computes = false;
  Jit jit(session, [&](const Tensors& in) { return Tensors{computes ? plus(in[0], 1) : in[0]}; });
  jit({floats({1})});
  EXPECT_JIT_ERROR(jit({floats({1})}), "no kernel was recorded");
  EXPECT_FALSE(jit.captured());
  EXPECT_EQ(values(plus(floats({1}), 1)), Floats{2});  // the session is not capturing any more
  computes = true;
  EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
  EXPECT_TRUE(jit.captured());
}

TEST_P(CaptureLifecycle, WorkOutsideOfTheCaptureIsNotRecorded) {
  Tensor seen = floats({0});
  Jit jit(session, [&](const Tensors& in) {
    const Tensor y = plus(in[0], 1);
    session.uncaptured([&] { seen.assign(plus(seen, 1)); });
    return Tensors{y};
  });
  for (int i = 0; i < 5; ++i) jit({floats({1})});
  EXPECT_EQ(values(seen), Floats{2});  // calls 1 and 2 ran the body
  EXPECT_EQ(jit.program().describe().launches, 1u);
  EXPECT_EQ(jit.program().describe().states, 0u);
}

TEST_P(CaptureLifecycle, WorkOutsideOfTheCaptureCannotUseItsValues) {
  Jit jit(session, [&](const Tensors& in) {
    const Tensor y = plus(in[0], 1);
    session.uncaptured([&] { EXPECT_EQ(values(y), Floats{2}); });
    return Tensors{y};
  });
  jit({floats({1})});  // call 1 is eager: there is no capture to be outside of
  EXPECT_JIT_ERROR(jit({floats({1})}), "work that is not captured cannot use it");
  EXPECT_FALSE(jit.captured());
}

TEST_P(CaptureLifecycle, AnErrorDuringCaptureLeavesEverythingUsable) {
  int calls = 0;
  Tensor leaked;
  Jit jit(session, [&](const Tensors& in) {
    const Tensor y = plus(in[0], 1);
    if (++calls == 2) {
      leaked = y;
      throw Error(OST_CANCELLED, "broken on purpose");
    }
    return Tensors{y};
  });
  jit({floats({1})});
  const Raised failed = raised([&] { jit({floats({1})}); });
  EXPECT_EQ(failed.status, static_cast<ost_status_t>(OST_CANCELLED));
  EXPECT_NE(failed.message.find("broken on purpose"), std::string::npos);
  EXPECT_FALSE(jit.captured());
  EXPECT_JIT_ERROR(leaked.read(), "the capture failed");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
  EXPECT_TRUE(jit.captured());
}

TEST_P(CaptureLifecycle, AnErrorDuringAnEagerCallLeavesEverythingUsable) {
  int calls = 0;
  Jit jit(session, [&](const Tensors& in) {
    if (++calls == 1) throw std::runtime_error("broken on purpose");
    return Tensors{plus(in[0], 1)};
  });
  EXPECT_NE(raised([&] { jit({floats({1})}); }).message.find("broken on purpose"),
            std::string::npos);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
    EXPECT_EQ(jit.captured(), i >= 1);  // the call that failed was none
  }
}

TEST_P(CaptureLifecycle, NestedCapturesAreInlined) {
  int inner_bodies = 0;
  Jit inner(session, [&](const Tensors& in) {
    ++inner_bodies;
    return Tensors{plus(in[0], 1)};
  });
  // Twice with the same inner jit: its outputs must not overwrite each other.
  Jit outer(session, [&](const Tensors& in) {
    const Tensor a = inner({in[0]})[0];
    const Tensor b = inner({in[1]})[0];
    return Tensors{add(a, times(b, 10))};
  });
  for (int i = 0; i < 5; ++i) {
    const float x = static_cast<float>(i);
    EXPECT_EQ(values(outer({floats({x}), floats({x + 1})})[0]), Floats{(x + 1) + 10 * (x + 2)});
  }
  EXPECT_EQ(inner_bodies, 4);
  EXPECT_FALSE(inner.captured());  // the calls within were a part of the outer jit
  EXPECT_EQ(outer.program().describe().launches, 1u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(inner({floats({5})})[0]), Floats{6});
  EXPECT_TRUE(inner.captured());
  EXPECT_EQ(values(outer({floats({0}), floats({0})})[0]), Floats{11});
}

TEST_P(CaptureLifecycle, TheProgramSurvivesItsFunction) {
  std::optional<Program> program;
  {
    Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
    EXPECT_EQ(raised([&] { jit.program(); }).status, static_cast<ost_status_t>(OST_NOT_FOUND));
    jit({floats({1})});
    EXPECT_EQ(raised([&] { jit.program(); }).status, static_cast<ost_status_t>(OST_NOT_FOUND));
    jit({floats({1})});
    program = jit.program();
  }
  const Program again = Program::parse(program->inspect(OST_FORMAT_MANIFEST));
  Instance instance(context(), again, {device()});
  const Array x = Array::of<float>({1}, {41});
  instance.bind({{"arg0", x.view()}});
  instance.run();
  EXPECT_EQ(instance.output(0).values<float>(), Floats{42});
}

TEST_P(CaptureLifecycle, UnrealizedOutputsAreRealizedAndOthersRaise) {
  Jit jit(session, [&](const Tensors& in) {
    return Tensors{plus(in[0], 1), op("reshape", {in[0]}, {dims("shape", {1, 2})})};
  });
  for (int i = 0; i < 3; ++i) {
    const auto out = jit({floats({1, 2})});
    EXPECT_TRUE(out[0].is_realized() && out[1].is_realized());
    EXPECT_EQ(values(out[1]), (Floats{1, 2}));
  }
  int calls = 0;
  Jit wrong(session, [&](const Tensors& in) {
    return ++calls == 2 ? Tensors{Tensor()} : Tensors{plus(in[0], 1)};
  });
  wrong({floats({1})});
  EXPECT_NE(raised([&] { wrong({floats({1})}); }).message.find("output: tensor 0 is NULL"),
            std::string::npos);
  EXPECT_FALSE(wrong.captured());
  EXPECT_EQ(values(wrong({floats({1})})[0]), Floats{2});
}

TEST_P(CaptureLifecycle, SeveralSignaturesCanHaveAProgramEach) {
  JitOptions options;
  options.programs = 2;
  int bodies = 0;
  Jit jit(
      session,
      [&](const Tensors& in) {
        ++bodies;
        return Tensors{plus(in[0], 1)};
      },
      options);
  const auto call = [&](const Floats& x) {
    Floats want = x;
    for (float& v : want) v += 1;
    EXPECT_EQ(values(jit({floats(x)})[0]), want);
  };
  for (int i = 0; i < 3; ++i) call({1});
  EXPECT_EQ(bodies, 2);
  for (int i = 0; i < 3; ++i) call({1, 2});  // captured at once: the function has warmed up
  EXPECT_EQ(bodies, 3);
  call({1});
  EXPECT_EQ(bodies, 3);
  call({1, 2, 3});  // the program of {1, 2} was used longest ago
  call({1});
  EXPECT_EQ(bodies, 4);
  call({1, 2});
  EXPECT_EQ(bodies, 5);
}

TEST_P(CaptureLifecycle, EachReceiverHasItsOwnCapture) {
  const auto make = [&](float w) {
    const Tensor weight = floats({w});
    return std::make_unique<std::pair<Tensor, Jit>>(
        weight,
        Jit(session, [this, weight](const Tensors& in) { return Tensors{mul(in[0], weight)}; }));
  };
  const auto one = make(2), two = make(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(values(one->second({floats({5})})[0]), Floats{10});
    EXPECT_EQ(values(two->second({floats({5})})[0]), Floats{15});
  }
}

}  // namespace capture_test
