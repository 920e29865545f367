// Errors that no other test of the contract raises; docs/capture.md lists all of them.
#include <optional>

#include "lab.hpp"

namespace capture_test {

class CaptureErrors : public Lab {};
INSTANTIATE_ON_DEVICES(CaptureErrors);

TEST_P(CaptureErrors, AWrittenInputMayNotBeAKeptTensor) {
  std::optional<Tensor> kept;
  Jit jit(session, [&](const Tensors& in) {
    Tensor target = in[0];
    target.assign(plus(target, 1));
    kept = times(target, 2);
    return Tensors{sum(target)};
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(value(jit({floats({1})})[0]), 2);
  EXPECT_JIT_ERROR(jit({*kept}),
                   "input 0 is a tensor that the captured function keeps, and the program writes it");
  EXPECT_EQ(value(jit({plus(*kept, 0)})[0]), 5);
}

TEST_P(CaptureErrors, OneNameHasOnePairOfBounds) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  const auto call = [&](int64_t max) {
    return Arguments().add(floats({1})).add(var("n", 0, max, 2));
  };
  jit(call(8));
  EXPECT_JIT_ERROR(jit(call(9)), "'n'");
  EXPECT_JIT_ERROR(jit(call(9)), "8");
  jit(call(8));
  EXPECT_JIT_ERROR(jit(call(9)), "'n'");
}

TEST_P(CaptureErrors, NullTensorsAndThoseOfAnotherSessionAreRefused) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  EXPECT_NE(raised([&] { jit(Tensors{Tensor()}); }).message.find("inputs: tensor 0 is NULL"),
            std::string::npos);
  Session other(context());
  const Tensor there = other.tensor(Array::of<float>({1}, {1}), device());
  EXPECT_NE(raised([&] { jit({there}); }).message.find("belongs to another session"),
            std::string::npos);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
}

TEST_P(CaptureErrors, WorkBesideACaptureThatFailsHasNoValue) {
  std::optional<Tensor> leaked;
  const Tensor w = floats({1});
  int calls = 0;
  Jit jit(session, [&](const Tensors& in) {
    if (++calls == 2) {
      session.uncaptured([&] {
        leaked = plus(w, 1);
        throw std::runtime_error("broken on purpose");
      });
    }
    return Tensors{plus(in[0], 1)};
  });
  jit({floats({1})});
  EXPECT_NE(raised([&] { jit({floats({1})}); }).message.find("broken on purpose"),
            std::string::npos);
  EXPECT_JIT_ERROR(leaked->read(), "was made by work beside a capture that failed");
  EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
  EXPECT_TRUE(jit.captured());
}

TEST_P(CaptureErrors, AVariableWithoutAValueRaises) {
  EXPECT_JIT_ERROR(session.bind("q", 0, 4, 9), "value 9 is outside its bounds [0, 4]");
  EXPECT_JIT_ERROR(full({"q"}, 1).realize(), "variable 'q' is not bound to a value");
  EXPECT_EQ(values(plus(floats({1}), 1)), Floats{2});
}

}  // namespace capture_test
