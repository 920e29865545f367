// What must not be frozen: host reads, constants of the body, random numbers, uninitialised data.
#include <array>
#include <cmath>
#include <set>

#include "lab.hpp"

namespace capture_test {

class CaptureValues : public Lab {
 protected:
  std::vector<uint32_t> bits(const Tensor& t) { return t.read().values<uint32_t>(); }
};
INSTANTIATE_ON_DEVICES(CaptureValues);

TEST_P(CaptureValues, AHostReadDuringCaptureRaises) {
  const Tensor closed = floats({7});
  const auto reader = [&](int which) {
    return Jit(session, [&, which](const Tensors& in) {
      const Tensor y = plus(in[0], 1);
      const Tensor made = floats({5});
      const std::array<Tensor, 4> all{in[0], y, closed, made};
      all[static_cast<size_t>(which)].read();
      return Tensors{y};
    });
  };
  for (int which = 0; which < 4; ++which) {
    Jit jit = reader(which);
    jit({floats({1})});
    EXPECT_JIT_ERROR(jit({floats({1})}), "no value that can be read while a function is captured");
    EXPECT_FALSE(jit.captured());
  }
}

TEST_P(CaptureValues, AShapeThatDependsOnDataRaises) {
  Jit jit(session, [&](const Tensors& in) {
    const auto n = static_cast<int64_t>(value(sum(in[0])));  // a host read
    return Tensors{slice(in[0], {0}, {n})};
  });
  EXPECT_EQ(values(jit({floats({1, 1, 0})})[0]), (Floats{1, 1}));
  EXPECT_JIT_ERROR(jit({floats({1, 0, 0})}), "while a function is captured");
}

TEST_P(CaptureValues, AVariableCannotChangeDuringCapture) {
  session.bind("n", 0, 8, 2);
  Jit jit(session, [&](const Tensors& in) {
    session.bind("n", 0, 8, 3);
    return Tensors{plus(in[0], 1)};
  });
  jit({floats({1})});
  session.bind("n", 0, 8, 2);
  EXPECT_JIT_ERROR(jit({floats({1})}), "variable 'n' cannot become 3 while a function is captured");
  session.bind("n", 0, 8, 3);
  EXPECT_EQ(values(jit({floats({1})})[0]), Floats{2});
}

TEST_P(CaptureValues, ADataDependentChoiceBelongsIntoTheGraph) {
  Jit branch(session, [&](const Tensors& in) {
    return Tensors{value(in[0]) > 0 ? plus(in[0], 1) : plus(in[0], -1)};
  });
  branch({floats({1})});
  EXPECT_JIT_ERROR(branch({floats({-1})}), "while a function is captured");
  Jit select(session, [&](const Tensors& in) {
    const Tensor positive = op("gt", {in[0], scalar_tensor(0)});
    return Tensors{op("where", {positive, plus(in[0], 1), plus(in[0], -1)})};
  });
  for (int i = 0; i < 4; ++i) {
    const float v = i % 2 ? 5.0f : -5.0f;
    EXPECT_EQ(values(select({floats({v})})[0]), Floats{v + (v > 0 ? 1.0f : -1.0f)});
  }
}

TEST_P(CaptureValues, ConstantsOfTheBodyAreRightInEveryReplay) {
  Jit jit(session, [&](const Tensors& in) {
    const Tensor table = floats({1, 2, 3});
    return Tensors{add(in[0], table), table};
  });
  for (int i = 0; i < 4; ++i) {
    const float v = static_cast<float>(i);
    auto out = jit({floats({v, v, v})});
    EXPECT_EQ(values(out[0]), (Floats{v + 1, v + 2, v + 3}));
    EXPECT_EQ(values(out[1]), (Floats{1, 2, 3}));
  }
  session.bind("n", 0, 8, 3);
  Jit frozen(session, [&](const Tensors& in) {
    return Tensors{add(in[0], floats({3}, {1, 2, 3}, {"n"}))};
  });
  const Arguments call = Arguments().add(floats({3}, {1, 2, 3}, {"n"})).add(var("n", 0, 8, 3));
  frozen(call);
  EXPECT_JIT_ERROR(frozen(call), "data of shape [n] inside a captured function");
}

TEST_P(CaptureValues, RandomNumbersDifferInEachReplay) {
  const auto body = [&](const Tensors& in) {
    const Tensor a = session.random("uniform", {4}, device());  // several draws a call
    const Tensor b = session.random("bits", {3}, device());
    const Tensor c = session.random("uniform", {2}, device());
    return Tensors{add(in[0], a), b, c};
  };
  JitOptions eager_options, fresh;
  eager_options.disabled = true;
  fresh.outputs = OST_JIT_FRESH;
  Session other(context());
  Jit jit(session, body, fresh);
  const auto draw = [&](Jit& j) {
    std::vector<Array> all;
    for (int i = 0; i < 6; ++i) {
      for (const Tensor& t : j({floats({0, 0, 0, 0})})) all.push_back(t.read());
    }
    return all;
  };
  session.seed(42);
  const auto captured = draw(jit);
  session.seed(42);
  const auto replayed = draw(jit);  // no eager call this time
  Jit never(session, body, eager_options);
  session.seed(42);
  const auto eager = draw(never);
  session.seed(43);
  const auto different = draw(jit);
  std::set<std::vector<unsigned char>> distinct;
  for (size_t i = 0; i < captured.size(); ++i) {
    EXPECT_EQ(captured[i].bytes, eager[i].bytes) << i;
    EXPECT_EQ(replayed[i].bytes, eager[i].bytes) << i;
    EXPECT_NE(different[i].bytes, eager[i].bytes) << i;
    distinct.insert(captured[i].bytes);
  }
  EXPECT_EQ(distinct.size(), captured.size());
}

TEST_P(CaptureValues, ADrawAfterAnUnrealizedDrawGoesOn) {
  session.seed(1);
  const Tensor first = session.random("bits", {4}, device());
  const Tensor second = session.random("bits", {4}, device());
  const auto b = bits(second), a = bits(first);  // in the other order
  session.seed(1);
  const auto both = bits(session.random("bits", {8}, device()));
  EXPECT_EQ(a, std::vector<uint32_t>(both.begin(), both.begin() + 4));
  EXPECT_EQ(b, std::vector<uint32_t>(both.begin() + 4, both.end()));
}

// The published vector of Philox4x32-10 for key 0 and counter 0.
TEST_P(CaptureValues, TheBitsArePhilox) {
  session.seed(0);
  EXPECT_EQ(bits(session.random("bits", {1}, device()))[0], 0x6627e8d5u);
  session.seed(0);
  const auto stream = session.random("uniform", {1000}, device());
  double mean = 0;
  for (const float v : values(stream)) {
    EXPECT_TRUE(v >= 0 && v < 1);
    mean += v / 1000;
  }
  EXPECT_NEAR(mean, 0.5, 0.05);
  double square = 0;
  for (const float v : values(session.random("normal", {1000}, device()))) {
    EXPECT_TRUE(std::isfinite(v));
    square += v * v / 1000;
  }
  EXPECT_NEAR(square, 1, 0.15);
}

TEST_P(CaptureValues, ADrawOfASymbolicSizeMovesOnByItsSize) {
  session.seed(5);
  session.bind("n", 0, 8, 3);
  Jit jit(session, [&](const Tensors& in) {
    const Tensor some = session.random("bits", {"n"}, device());
    return Tensors{some, session.random("bits", {2}, device()), plus(in[0], 1)};
  });
  std::vector<uint32_t> got;
  for (const int64_t n : {3, 2, 0, 8, 1}) {
    const auto out = jit(Arguments().add(floats({1})).add(var("n", 0, 8, n)));
    for (int o = 0; o < 2; ++o) {
      const auto some = bits(out[static_cast<size_t>(o)]);
      EXPECT_EQ(some.size(), static_cast<size_t>(o == 0 ? n : 2));
      got.insert(got.end(), some.begin(), some.end());
    }
  }
  session.seed(5);
  EXPECT_EQ(got, bits(session.random("bits", {static_cast<int64_t>(got.size())}, device())));
}

TEST_P(CaptureValues, SeedingDuringCaptureRaises) {
  Jit jit(session, [&](const Tensors& in) {
    session.seed(1);
    return Tensors{plus(in[0], 1)};
  });
  jit({floats({1})});
  EXPECT_JIT_ERROR(jit({floats({1})}), "cannot be seeded while a function is captured");
}

TEST_P(CaptureValues, UninitialisedInputsAreNotFolded) {
  Buffer memory(context(), device(), 64);
  const Tensor x = session.tensor(memory, 0, OST_DTYPE_F32, {4});
  Jit jit(session, [&](const Tensors& in) { return Tensors{times(in[0], 2)}; });
  jit({x});
  for (int i = 0; i < 3; ++i) {
    const float v = static_cast<float>(i);
    const Floats data(4, v);
    memory.write(data.data(), 16);
    EXPECT_EQ(values(jit({x})[0]), Floats(4, 2 * v));
  }
}

TEST_P(CaptureValues, AFrozenTensorIsNotAssigned) {
  Tensor w = floats({1});
  w.freeze();
  EXPECT_JIT_ERROR(w.assign(floats({2})), "is frozen and cannot be assigned to");
  Jit jit(session, [&](const Tensors& in) {
    w.assign(in[0]);
    return Tensors{plus(w, 1)};
  });
  EXPECT_JIT_ERROR(jit({floats({1})}), "is frozen and cannot be assigned to");
  Jit other(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  for (int i = 0; i < 2; ++i) other({floats({1})});
  Tensor out = other({floats({1})})[0];
  EXPECT_JIT_ERROR(out.freeze(), "whose storage its captured program reuses");
  Jit inside(session, [&](const Tensors& in) {
    Tensor v = w;
    v.freeze();
    return Tensors{add(in[0], v)};
  });
  inside({floats({1})});
  EXPECT_JIT_ERROR(inside({floats({1})}), "cannot be frozen while a function is captured");
}

}  // namespace capture_test
