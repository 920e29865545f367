// What a call must have in common with the capture; how inputs are bound.
#include <cmath>

#include "lab.hpp"

namespace capture_test {

class CaptureSignature : public Lab {
 protected:
  Jit adder(const JitOptions& options = {}) {
    return Jit(session, [this](const Tensors& in) { return Tensors{add(in[0], in[1])}; }, options);
  }
};
INSTANTIATE_ON_DEVICES(CaptureSignature);

TEST_P(CaptureSignature, AMismatchRaisesBeforeAnyLaunchAndNamesWhatDiffers) {
  Jit jit = adder();
  for (int i = 0; i < 2; ++i) jit({floats({1, 2}), floats({3, 4})});
  const uint64_t before = submits();
  EXPECT_JIT_ERROR(jit({floats({1, 2})}), "1 inputs were given, the capture has 2");
  EXPECT_JIT_ERROR(jit({floats({1, 2}), floats({1})}), "input 1 is f32[1]");
  // The same number of elements in another shape.
  EXPECT_JIT_ERROR(jit({floats({1, 2}, {1, 2}), floats({1, 2})}), "input 0 is f32[1, 2]");
  EXPECT_JIT_ERROR(jit({floats({1, 2}), of<int32_t>({2}, {1, 2})}), "input 1 is i32[2]");
  const std::string other = device() == "ref:0" ? "cpu:0" : "ref:0";
  if (!raised([&] { context().open(other); }).message.empty()) GTEST_SKIP() << "needs " << other;
  const Tensor there = session.tensor(Array::of<float>({2}, {1, 2}), other);
  EXPECT_JIT_ERROR(jit({floats({1, 2}), there}), "on " + other + ", the capture has");
  EXPECT_EQ(submits(), before);
  EXPECT_EQ(values(jit({floats({1, 2}), floats({3, 4})})[0]), (Floats{4, 6}));
}

TEST_P(CaptureSignature, TheOrderOfNamesDoesNotMatter) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{op("sub", {in[0], in[1]})}; });
  const Tensor a = floats({5}), b = floats({2});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(values(jit(Arguments().add("a", a).add("b", b))[0]), Floats{3});
    EXPECT_EQ(values(jit(Arguments().add("b", b).add("a", a))[0]), Floats{3});
  }
  EXPECT_JIT_ERROR(jit(Arguments().add("a", a).add("c", b)),
                   "input 'c' was given, the capture has input 'b'");
  EXPECT_JIT_ERROR(jit(Arguments().add("a", a).add("a", b)), "input 'a' is given twice");
}

TEST_P(CaptureSignature, PositionAndNameAreTheSameParameter) {
  JitOptions options;
  options.parameters = {"x", "y"};
  Jit jit(session, [&](const Tensors& in) { return Tensors{op("sub", {in[0], in[1]})}; }, options);
  const Tensor x = floats({5}), y = floats({2});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(values(jit({x, y})[0]), Floats{3});
    EXPECT_EQ(values(jit(Arguments().add(x).add("y", y))[0]), Floats{3});
    EXPECT_EQ(values(jit(Arguments().add("y", y).add("x", x))[0]), Floats{3});
    EXPECT_EQ(values(jit(Arguments().add("y", y).add(x))[0]), Floats{3});
  }
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add("z", y)), "no parameter 'z'; it has: x, y");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add("x", y)), "parameter 'x' is given twice");
  EXPECT_JIT_ERROR(jit({x}), "parameter 'y' is missing");
  EXPECT_JIT_ERROR(jit({x, y, x}), "3 inputs were given, the function has 2 parameters");
}

TEST_P(CaptureSignature, TensorsInContainersAreInputs) {
  Jit jit(session, [&](const Tensors& in) {
    Tensor all = in[0];
    for (size_t i = 1; i < in.size(); ++i) all = add(times(all, 10), in[i]);
    return Tensors{all};
  });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    // By name: d.a, d.b, l.0, l.1
    const Arguments call =
        Arguments()
            .add("l", Tensors{floats({v}), floats({2})})
            .add("d", std::map<std::string, Tensor>{{"b", floats({3})}, {"a", floats({4})}});
    EXPECT_EQ(values(jit(call)[0]), Floats{4000 + 300 + 10 * v + 2});
  }
  EXPECT_JIT_ERROR(jit(Arguments()
                           .add("l", Tensors{floats({1}), floats({2}), floats({3})})
                           .add("d", std::map<std::string, Tensor>{{"a", floats({4})}})),
                   "was given, the capture has input 'd.b'");
}

TEST_P(CaptureSignature, UnrealizedInputsAreRealizedFirst) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    const Tensor lazy = times(floats({v}), 3);
    EXPECT_FALSE(lazy.is_realized());
    EXPECT_EQ(values(jit({lazy})[0]), Floats{3 * v + 1});
    EXPECT_TRUE(lazy.is_realized());
  }
}

TEST_P(CaptureSignature, AnInputThatIsOnlyAConstantIsBackedByABuffer) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(values(jit({full({2}, v)})[0]), (Floats{v + 1, v + 1}));
  }
}

TEST_P(CaptureSignature, DuplicateInputsAreAllowedWhereBothAreRead) {
  Jit jit = adder();
  const Tensor a = floats({1}), b = floats({2});
  for (int i = 0; i < 3; ++i) jit({a, b});
  EXPECT_EQ(values(jit({b, b})[0]), Floats{4});
  // Captured with one tensor twice, the inputs are still two.
  Jit other = adder();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(values(other({a, a})[0]), Floats{2});
  EXPECT_EQ(values(other({a, b})[0]), Floats{3});
}

TEST_P(CaptureSignature, ADuplicateOfAWrittenInputRaises) {
  Jit jit(session, [&](const Tensors& in) {
    Tensor target = in[0];
    target.assign(plus(target, 1));
    return Tensors{add(target, in[1])};
  });
  const Tensor a = floats({1});
  // The same on call 1, on call 2 and on a replay.
  EXPECT_JIT_ERROR(jit({a, a}), "inputs 0 and 1 share memory, and the program writes input 0");
  EXPECT_EQ(values(jit({a, floats({10})})[0]), Floats{12});
  EXPECT_JIT_ERROR(jit({a, a}), "inputs 0 and 1 share memory, and the program writes input 0");
  EXPECT_FALSE(jit.captured());
  EXPECT_EQ(values(jit({a, floats({10})})[0]), Floats{13});
  EXPECT_JIT_ERROR(jit({a, a}), "inputs 0 and 1 share memory, and the program writes input 0");
  EXPECT_EQ(values(a), Floats{3});
}

TEST_P(CaptureSignature, OverlapIsByByteRangeAndNotByTensor) {
  Buffer memory(context(), device(), 4096);
  const Floats zeros(1024, 0);
  memory.write(zeros.data(), 4096);
  const auto view = [&](uint64_t offset, int64_t count) {
    return session.tensor(memory, offset, OST_DTYPE_F32, {count});
  };
  Jit jit(session, [&](const Tensors& in) {
    Tensor target = in[0];
    target.assign(plus(target, 1));
    return Tensors{sum(in[1])};
  });
  const Tensor first = view(0, 128), middle = view(256, 128), last = view(512, 128);
  for (int i = 0; i < 2; ++i) jit({first, last});
  EXPECT_EQ(value(jit({first, last})[0]), 0);  // beside each other in one buffer
  EXPECT_JIT_ERROR(jit({first, middle}), "share memory");
  EXPECT_JIT_ERROR(jit({middle, first}), "share memory");
  EXPECT_JIT_ERROR(jit({last, middle}), "share memory");
  EXPECT_EQ(value(jit({last, first})[0]), 3 * 128);
}

TEST_P(CaptureSignature, AViewBindsAnyOffsetOfItsBuffer) {
  Buffer memory(context(), device(), 1024);
  Floats numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  memory.write(numbers.data(), 1024);
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 0.5)}; });
  for (uint64_t i = 0; i < 4; ++i) {
    const Tensor x = session.tensor(memory, 256 * i, OST_DTYPE_F32, {2});
    const float v = static_cast<float>(64 * i);
    EXPECT_EQ(values(jit({x})[0]), (Floats{v + 0.5f, v + 1.5f}));
  }
}

TEST_P(CaptureSignature, AStrangeAlignmentIsRefusedWhenTheViewIsMade) {
  Buffer memory(context(), device(), 1024);
  EXPECT_NE(raised([&] {
              session.tensor(memory, 1, OST_DTYPE_F32, {2});
            }).message.find("offset 1 is no multiple"),
            std::string::npos);
}

TEST_P(CaptureSignature, ATransposedInputGivesRightValues) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  for (int i = 0; i < 3; ++i) {
    const float v = static_cast<float>(i);
    const Tensor x = op("transpose", {floats({2, 2}, {v, 1, 2, 3})});
    EXPECT_EQ(values(jit({x})[0]), (Floats{v + 1, 3, 2, 4}));
  }
}

TEST_P(CaptureSignature, AnInputOfSizeOneIsReadInEachCall) {
  Jit jit = adder();
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(values(jit({floats({1, 2, 3}), floats({v})})[0]), (Floats{1 + v, 2 + v, 3 + v}));
  }
}

TEST_P(CaptureSignature, AScalarIsAPartOfTheSignatureByItsBits) {
  Jit jit(session, [&](const Tensors& in, const Jit::Scalars& scalars) {
    return Tensors{times(in[0], static_cast<double>(scalars.get<float>("s")))};
  });
  const Tensor x = floats({3});
  const auto call = [&](float s) { return Arguments().add(x).add(scalar("s", s)); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit(call(2))[0]), Floats{6});
  EXPECT_JIT_ERROR(jit(call(3)), "scalar 's' is f32 0x40400000, the capture has f32 0x40000000");
  EXPECT_JIT_ERROR(jit({x}), "0 scalars were given, the capture has 1");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add(scalar("t", 2.0f))),
                   "scalar 't' was given, the capture has 's'");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add(scalar("s", 2.0f)).add(scalar("s", 2.0f))),
                   "scalar 's' is given twice");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add(scalar("", 2.0f))), "a scalar has no name");
  jit.reset();
  for (int i = 0; i < 3; ++i) {
    const float r = value(jit(call(-0.0f))[0]);
    EXPECT_TRUE(r == 0 && std::signbit(r));
  }
  EXPECT_JIT_ERROR(jit(call(0.0f)), "scalar 's' is f32 0x0, the capture has f32 0x80000000");
}

TEST_P(CaptureSignature, ScalarsOfSeveralSignaturesHaveTheirOwnPrograms) {
  JitOptions options;
  options.programs = 4;
  Jit jit(
      session,
      [&](const Tensors& in, const Jit::Scalars& scalars) {
        return Tensors{times(in[0], static_cast<double>(scalars.get<float>("s")))};
      },
      options);
  for (int i = 0; i < 6; ++i) {
    const float s = static_cast<float>(i % 3) + 2;
    EXPECT_EQ(values(jit(Arguments().add(floats({3})).add(scalar("s", s)))[0]), Floats{3 * s});
  }
}

TEST_P(CaptureSignature, ADimensionHasNoNumberWhileItIsCaptured) {
  std::vector<int64_t> seen;
  session.bind("n", 0, 8, 3);
  Jit jit(session, [&](const Tensors& in) {
    seen.push_back(in[0].type().dims[0].value);
    return Tensors{plus(in[0], 1)};
  });
  const Arguments call = Arguments().add(floats({3}, {1, 2, 3}, {"n"})).add(var("n", 0, 8, 3));
  for (int i = 0; i < 3; ++i) jit(call);
  EXPECT_EQ(seen, (std::vector<int64_t>{3, -1}));  // so it cannot be frozen by mistake
}

}  // namespace capture_test
