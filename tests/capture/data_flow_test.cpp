// What a replay reads and writes: closed-over tensors, assigns, inputs, outputs fed back.
#include "lab.hpp"

namespace capture_test {

class CaptureDataFlow : public Lab {};
INSTANTIATE_ON_DEVICES(CaptureDataFlow);

TEST_P(CaptureDataFlow, AnUpdateOfAClosedOverTensorIsSeen) {
  Tensor w = floats({10, 20});
  Jit jit(session, [&](const Tensors& in) { return Tensors{add(in[0], w)}; });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit({floats({1, 2})})[0]), (Floats{11, 22}));
  w.assign(floats({100, 200}));
  EXPECT_EQ(values(jit({floats({1, 2})})[0]), (Floats{101, 202}));
}

TEST_P(CaptureDataFlow, AnAssignIsReplayedOnTheSameStorage) {
  Tensor acc = floats({0});
  Jit jit(session, [&](const Tensors& in) {
    acc.assign(add(acc, in[0]));
    return Tensors{plus(acc, 0.5)};
  });
  float want = 0;
  for (int i = 1; i <= 5; ++i) {
    want += static_cast<float>(i);
    EXPECT_EQ(values(jit({floats({static_cast<float>(i)})})[0]), Floats{want + 0.5f});
    EXPECT_EQ(values(acc), Floats{want});  // 1 3 6 10 15
  }
}

TEST_P(CaptureDataFlow, AnAssignToAnInputUpdatesTheCallersTensor) {
  Jit jit(session, [&](const Tensors& in) {
    Tensor a = in[0], b = in[1];
    a.assign(plus(a, 1));
    b.assign(add(b, b));
    return Tensors{add(a, a)};
  });
  const Tensor a = floats({0}), b = of<int8_t>({1}, {3});
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(values(jit({a, b})[0]), Floats{2 * static_cast<float>(i)});
    EXPECT_EQ(values(a), Floats{static_cast<float>(i)});
    EXPECT_EQ(b.read().values<int8_t>()[0], 3 << i);
  }
}

TEST_P(CaptureDataFlow, AWriteAtASymbolicPositionIsSeenByALaterReadOfTheWhole) {
  Tensor cache = floats({4, 2}, Floats(8, 0));
  Jit jit(session, [&](const Tensors& in) {
    cache.assign(in[0], {"p", 0});
    return Tensors{op("sum", {cache}, {{"axes", std::vector<int64_t>{0}}})};
  });
  session.bind("p", 0, 3, 0);
  Floats want{0, 0}, kept(8, 0);
  for (const int64_t p : {0, 2, 3, 1, 2}) {
    const float v = static_cast<float>(p) + 1;
    const auto at = static_cast<size_t>(2 * p);
    want[0] += v - kept[at];
    want[1] += 2 * v - kept[at + 1];
    kept[at] = v;
    kept[at + 1] = 2 * v;
    const Arguments call = Arguments().add(floats({1, 2}, {v, 2 * v})).add(var("p", 0, 3, p));
    EXPECT_EQ(values(jit(call)[0]), want);
    EXPECT_EQ(values(cache), kept);
  }
}

TEST_P(CaptureDataFlow, TheOrderOfReadsAndWritesOfOneBufferIsKept) {
  Tensor a = floats({1, 2, 3, 4}), b = floats({0, 0, 0, 0});
  Jit jit(session, [&](const Tensors& in) {
    const Tensor before = plus(a, 0);  // read, then write
    a.assign(times(a, 2));
    a.assign(slice(in[0], {0}, {2}), {1});  // write after write, in the middle
    const Tensor middle = sum(a);           // write, then read
    a.assign(slice(a, {0}, {2}), {2});      // an overlapping part of itself
    b.assign(a);                            // a copy
    a.assign(add(a, before));
    return Tensors{before, middle, plus(b, 0)};
  });
  Floats want{1, 2, 3, 4};
  for (int i = 0; i < 5; ++i) {
    const float v = static_cast<float>(10 + i);
    const auto out = jit({floats({v, v + 1, 99})});
    const Floats before = want;
    for (float& w : want) w *= 2;
    want[1] = v;
    want[2] = v + 1;
    const float middle = want[0] + want[1] + want[2] + want[3];
    want[2] = want[0];
    want[3] = want[1];
    EXPECT_EQ(values(out[0]), before);
    EXPECT_EQ(values(out[1]), Floats{middle});
    EXPECT_EQ(values(out[2]), want);
    EXPECT_EQ(values(b), want);
    for (size_t k = 0; k < 4; ++k) want[k] += before[k];
    EXPECT_EQ(values(a), want);
  }
}

TEST_P(CaptureDataFlow, AnOutputFedBackLeavesNoStaleBinding) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(times(in[0], 2), 2)}; });
  for (const float start : {20.0f, 49.0f}) {
    Tensor x = floats({start});
    float want = start;
    for (int i = 0; i < 4; ++i) {
      x = jit({x})[0];
      want = 2 * want + 2;
      EXPECT_EQ(values(x), Floats{want});  // 42 86 174 350, then 100 202 406 814
    }
  }
}

TEST_P(CaptureDataFlow, OneOfTwoOutputsOfOneIntermediateIsFedBack) {
  Jit jit(session, [&](const Tensors& in) {
    const Tensor t = plus(in[0], 1);
    return Tensors{times(t, 2), sum(t)};
  });
  Tensor x = floats({1, 2});
  Floats want{1, 2};
  for (int i = 0; i < 5; ++i) {
    const auto out = jit({x});
    const float total = want[0] + want[1] + 2;
    for (float& w : want) w = 2 * (w + 1);
    EXPECT_EQ(values(out[0]), want);
    EXPECT_EQ(values(out[1]), Floats{total});
    x = out[0];
  }
}

TEST_P(CaptureDataFlow, ALargeShiftWithinOneBufferIsExact) {
  const int64_t n = is_slow() ? 1 << 12 : 1 << 20, half = n / 2;
  Jit jit(session, [&](const Tensors& in) {
    return Tensors{op("concat", {slice(in[0], {half}, {n}), in[1]}, {{"axis", 0}})};
  });
  // In place, on the storage of a tensor that overlaps what it reads.
  Tensor state = floats(Floats(static_cast<size_t>(n), 0));
  Jit shift(session, [&](const Tensors& in) {
    state.assign(slice(state, {1}, {n}), {0});
    state.assign(in[0], {n - 1});
    return Tensors{sum(slice(state, {0}, {1}))};
  });
  Floats want(static_cast<size_t>(n), 0), moved = want;
  Tensor x = floats(want);
  for (int i = 0; i < 10; ++i) {
    Floats fresh(static_cast<size_t>(half));
    for (size_t k = 0; k < fresh.size(); ++k)
      fresh[k] = static_cast<float>((k * 7 + static_cast<size_t>(i)) % 1000);
    std::copy(want.begin() + half, want.end(), want.begin());
    std::copy(fresh.begin(), fresh.end(), want.begin() + half);
    x = jit({x, floats(fresh)})[0];
    ASSERT_TRUE(values(x) == want) << "call " << i;
    std::copy(moved.begin() + 1, moved.end(), moved.begin());
    moved.back() = static_cast<float>(i);
    shift({floats({moved.back()})});
    ASSERT_TRUE(values(state) == moved) << "call " << i;
  }
}

TEST_P(CaptureDataFlow, ASwapFedBackReturnsToTheStart) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[1], 0), plus(in[0], 0)}; });
  Tensors ab{floats({1}), floats({2})};
  for (int i = 0; i < 6; ++i) ab = jit(ab);
  EXPECT_EQ(values(ab[0]), Floats{1});
  EXPECT_EQ(values(ab[1]), Floats{2});
}

TEST_P(CaptureDataFlow, ASwapOfClosedOverTensorsIsReplayed) {
  Tensor a = floats({1, 2}), b = floats({3, 4});
  Jit jit(session, [&](const Tensors& in) {
    const Tensor old = plus(a, 0);
    a.assign(b);
    b.assign(old);
    return Tensors{add(a, in[0])};
  });
  for (int i = 1; i <= 6; ++i) {
    jit({floats({0, 0})});
    EXPECT_EQ(values(a), i % 2 ? (Floats{3, 4}) : (Floats{1, 2}));
    EXPECT_EQ(values(b), i % 2 ? (Floats{1, 2}) : (Floats{3, 4}));
  }
}

TEST_P(CaptureDataFlow, AnInputThatIsAlsoClosedOverIsToldApartByPosition) {
  const Tensor w = floats({1});
  Jit jit(session, [&](const Tensors& in) { return Tensors{add(in[0], w)}; });
  for (int i = 0; i < 2; ++i) jit({w});  // captured with the closure's own tensor as the argument
  EXPECT_EQ(values(jit({floats({10})})[0]), Floats{11});
}

TEST_P(CaptureDataFlow, AWrittenClosedOverTensorIsNoInput) {
  Tensor w = floats({1});
  Jit jit(session, [&](const Tensors& in) {
    w.assign(plus(w, 1));
    return Tensors{add(in[0], w)};
  });
  for (int i = 0; i < 2; ++i) jit({floats({1})});
  EXPECT_JIT_ERROR(jit({w}), "input 0 shares memory with tensor");
  EXPECT_JIT_ERROR(jit({w}), "which the function closes over");
  EXPECT_EQ(values(jit({floats({10})})[0]), Floats{14});
}

TEST_P(CaptureDataFlow, ClosedOverTensorsOfOneStorageAreOne) {
  Buffer memory(context(), device(), 512);
  const Floats zeros(128, 0);
  memory.write(zeros.data(), 512);
  Tensor a = session.tensor(memory, 0, OST_DTYPE_F32, {4});
  const Tensor same = session.tensor(memory, 0, OST_DTYPE_F32, {4});
  Jit jit(session, [&](const Tensors& in) {
    a.assign(add(a, in[0]));
    return Tensors{plus(same, 0.5)};
  });
  for (int i = 1; i <= 4; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_EQ(values(jit({floats({1, 1, 1, 1})})[0]), Floats(4, v + 0.5f));
  }
  Tensor whole = session.tensor(memory, 0, OST_DTYPE_F32, {128});
  Jit mixed(session, [&](const Tensors& in) {
    a.assign(in[0]);
    return Tensors{sum(whole)};
  });
  EXPECT_EQ(value(mixed({floats({1, 2, 3, 4})})[0]), 10);
  EXPECT_JIT_ERROR(mixed({floats({1, 2, 3, 4})}), "which the function closes over, share memory");
}

TEST_P(CaptureDataFlow, AnAssignLeavesEqualTensorsAlone) {
  Tensor a = floats({1, 2});
  const Tensor same = op("reshape", {a}, {dims("shape", {2})});
  same.realize();
  a.assign(floats({5, 6}));
  EXPECT_EQ(values(same), (Floats{1, 2}));
}

TEST_P(CaptureDataFlow, APassedThroughInputIsThatOfThisCall) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{in[0], plus(in[0], 1)}; });
  for (int i = 1; i <= 4; ++i) {
    const auto out = jit({floats({static_cast<float>(i)})});
    EXPECT_EQ(values(out[0]), Floats{static_cast<float>(i)});
    EXPECT_EQ(values(out[1]), Floats{static_cast<float>(i) + 1});
  }
}

TEST_P(CaptureDataFlow, ATensorOfTheBodyCanBeAssigned) {
  Jit jit(session, [&](const Tensors& in) {
    Tensor buffer = floats({1, 2, 3, 4});  // anew in each call
    buffer.assign(in[0], {1});
    Tensor y = add(buffer, buffer);
    y.assign(slice(buffer, {1}, {3}), {"p"});
    Tensor z = plus(y, 0);
    z.assign(times(z, 2));
    return Tensors{buffer, y, z};
  });
  session.bind("p", 0, 2, 0);
  for (const int64_t p : {0, 1, 2, 0}) {
    const float v = static_cast<float>(10 * p);
    const auto out = jit(Arguments().add(floats({v, v + 1})).add(var("p", 0, 2, p)));
    const Floats buffer{1, v, v + 1, 4};
    Floats y{2, 2 * v, 2 * v + 2, 8};
    y[static_cast<size_t>(p)] = v;
    y[static_cast<size_t>(p) + 1] = v + 1;
    EXPECT_EQ(values(out[0]), buffer);
    EXPECT_EQ(values(out[1]), y);
    for (float& e : y) e *= 2;
    EXPECT_EQ(values(out[2]), y);
  }
}

TEST_P(CaptureDataFlow, EagerAliasesAreReadBeforeTheyChange) {
  Buffer memory(context(), device(), 512);
  const Floats zeros(128, 1);
  memory.write(zeros.data(), 512);
  Tensor a = session.tensor(memory, 0, OST_DTYPE_F32, {4});
  const Tensor b = session.tensor(memory, 0, OST_DTYPE_F32, {4});
  const Tensor lazy = times(b, 3);
  a.assign(plus(times(b, 5), 1));
  EXPECT_EQ(values(lazy), Floats(4, 3));
  EXPECT_EQ(values(b), Floats(4, 6));
  a.assign(b);
  EXPECT_EQ(values(a), Floats(4, 6));
}

}  // namespace capture_test
