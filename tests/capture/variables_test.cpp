// One capture for all values of its variables.
#include <cmath>
#include <optional>

#include "lab.hpp"

namespace capture_test {

class CaptureVariables : public Lab {
 protected:
  static Floats ramp(int64_t count, float start = 0) {
    Floats out;
    for (int64_t i = 0; i < count; ++i) out.push_back(start + static_cast<float>((i * 7) % 11));
    return out;
  }
  // The same body in an eager jit: what every captured call must equal bit for bit.
  void expect_as_eager(const Jit::Function& body,
                       const std::function<Arguments(int64_t, int64_t)>& arguments,
                       const std::vector<std::pair<int64_t, int64_t>>& calls) {
    JitOptions never;
    never.disabled = true;
    Jit jit(session, body), eager(session, body, never);
    for (const auto& [i, j] : calls) {
      session.bind("i", 0, 8, i);
      session.bind("j", 0, 8, j);
      const auto want = eager(arguments(i, j));
      const auto got = jit(arguments(i, j));
      ASSERT_EQ(got.size(), want.size());
      for (size_t o = 0; o < got.size(); ++o) {
        EXPECT_EQ(got[o].read().shape, want[o].read().shape) << "i=" << i << " j=" << j;
        EXPECT_EQ(got[o].read().bytes, want[o].read().bytes) << "i=" << i << " j=" << j;
      }
    }
    EXPECT_TRUE(jit.captured());
  }
  const std::vector<std::pair<int64_t, int64_t>> all{{3, 2}, {2, 3}, {5, 5}, {0, 4},
                                                     {4, 0}, {8, 8}, {0, 0}, {1, 7}};
};
INSTANTIATE_ON_DEVICES(CaptureVariables);

TEST_P(CaptureVariables, OneCaptureServesAllValues) {
  const auto arguments = [&](int64_t i, int64_t j) {
    return Arguments()
        .add(floats({3, i}, ramp(3 * i), {3, "i"}))
        .add(floats({i, 4}, ramp(4 * i, 1), {"i", 4}))
        .add(floats({j, 4}, ramp(4 * j, 2), {"j", 4}))
        .add(var("i", 0, 8, i))
        .add(var("j", 0, 8, j));
  };
  expect_as_eager(
      [&](const Tensors& in) {
        return Tensors{matmul(in[0], in[1]),                         // over K
                       op("concat", {in[1], in[2]}, {{"axis", 0}}),  // two variables
                       op("concat", {in[2], in[1]}, {{"axis", 0}}),  // in the other order
                       matmul(in[1], op("transpose", {in[2]})),      // [i, j]
                       op("mean", {in[1]}, {{"axes", std::vector<int64_t>{0}}}),
                       op("sum", {in[2]}),
                       plus(in[1], 1)};
      },
      arguments, all);
}

TEST_P(CaptureVariables, MeanAndVarianceDivideByTheBoundValue) {
  Jit jit(session, [&](const Tensors& in) {
    const Tensor mean = op("mean", {in[0]});
    const Tensor d = op("sub", {in[0], mean});
    return Tensors{mean, op("mean", {mul(d, d)})};
  });
  for (const int64_t n : {4, 2, 8, 1, 4}) {
    session.bind("n", 0, 8, n);
    Floats x;
    for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(2 * i));
    const auto out = jit(Arguments().add(floats({n}, x, {"n"})).add(var("n", 0, 8, n)));
    const float mean = static_cast<float>(n - 1);
    EXPECT_EQ(values(out[0]), Floats{mean});
    EXPECT_EQ(values(out[1]), Floats{static_cast<float>(n * n - 1) / 3.0f});
  }
}

TEST_P(CaptureVariables, AttentionOverASymbolicLengthEqualsEager) {
  const auto arguments = [&](int64_t i, int64_t) {
    const int64_t kv = i + 1;
    Floats q(16), k(static_cast<size_t>(8 * kv)), v = k;
    for (size_t e = 0; e < q.size(); ++e) q[e] = std::sin(static_cast<float>(e));
    for (size_t e = 0; e < k.size(); ++e) {
      k[e] = std::cos(static_cast<float>(e));
      v[e] = static_cast<float>(e % 5);
    }
    return Arguments()
        .add(floats({1, 2, 8}, q))
        .add(floats({1, kv, 8}, k, {1, "i + 1", 8}))
        .add(floats({1, kv, 8}, v, {1, "i + 1", 8}))
        .add(var("i", 0, 8, i));
  };
  expect_as_eager([&](const Tensors& in) { return Tensors{op("attention", in)}; }, arguments, all);
}

TEST_P(CaptureVariables, SlicesAndReshapesAtSymbolicPlaces) {
  const auto arguments = [&](int64_t i, int64_t j) {
    return Arguments()
        .add(floats(ramp(16)))
        .add(floats({2 * i}, ramp(2 * i), {"2*i"}))
        .add(var("i", 0, 8, i))
        .add(var("j", 0, 8, j));
  };
  expect_as_eager(
      [&](const Tensors& in) {
        const Tensor part = slice(in[0], {"i"}, {"i + 4"});
        const Tensor folded = op("reshape", {in[1]}, {dims("shape", {"i", 2})});
        return Tensors{plus(part, 1), sum(slice(in[0], {"j"}, {"j + i"})), plus(folded, 1), part};
      },
      arguments, all);
}

TEST_P(CaptureVariables, AKernelWithoutVariablesAmongOthers) {
  const auto arguments = [&](int64_t i, int64_t) {
    return Arguments()
        .add(floats({i}, ramp(i), {"i"}))
        .add(floats({4, 4}, ramp(16)))
        .add(var("i", 0, 8, i));
  };
  expect_as_eager(
      [&](const Tensors& in) {
        const Tensor fixed = matmul(matmul(in[1], in[1]), in[1]);
        return Tensors{add(in[0], sum(fixed)), fixed};
      },
      arguments, all);
}

TEST_P(CaptureVariables, MalformedVariablesRaise) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  const Tensor x = floats({1});
  const auto with = [&](const std::vector<BoundVar>& vars) {
    Arguments a;
    a.add(x);
    for (const BoundVar& v : vars) a.add(v);
    return a;
  };
  EXPECT_JIT_ERROR(jit(with({var("", 0, 1, 0)})), "a variable has no name");
  EXPECT_JIT_ERROR(jit(with({var("a", 5, 1, 3)})), "bounds [5, 1] are malformed");
  EXPECT_JIT_ERROR(jit(with({var("a", -1, 1, 0)})), "bounds [-1, 1] are malformed");
  EXPECT_JIT_ERROR(jit(with({var("b", 0, 4, 7)})), "value 7 is outside its bounds [0, 4]");
  EXPECT_JIT_ERROR(jit(with({var("c", 0, 4, 1), var("c", 0, 4, 2)})),
                   "variable 'c' is given twice, with values 1 and 2");
  EXPECT_JIT_ERROR(jit({x}, {{{nullptr, 0, 1}, 0}}), "a variable has no name");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(jit(with({var("d", 0, 4, i)}))[0]), Floats{2});
}

TEST_P(CaptureVariables, OneNameHasOnePairOfBounds) {
  session.bind("n", 0, 8, 2);
  const Raised r = raised([&] { session.bind("n", 0, 9, 2); });
  EXPECT_NE(r.message.find("'n'"), std::string::npos) << r.message;
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  const auto call = [&](int64_t max) {
    return Arguments().add(floats({1})).add(var("n", 0, max, 2));
  };
  EXPECT_NE(raised([&] { jit(call(9)); }).message.find("'n'"), std::string::npos);
  for (int i = 0; i < 3; ++i) jit(call(8));
  EXPECT_NE(raised([&] { jit(call(9)); }).message.find("'n'"), std::string::npos);
}

TEST_P(CaptureVariables, AVariableThatTheCallDoesNotGiveRaises) {
  session.bind("n", 0, 8, 2);
  session.bind("m", 0, 8, 2);
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  const Tensor x = floats({2}, {1, 2}, {"n"});
  jit({x});
  EXPECT_JIT_ERROR(jit({x}), "uses variable 'n', which the call does not give a value");
  EXPECT_FALSE(jit.captured());
  jit(Arguments().add(x).add(var("n", 0, 8, 2)));
  EXPECT_JIT_ERROR(jit({x}), "0 variables were given, the capture has 1");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add(var("m", 0, 8, 2))),
                   "variable 0 is 'm' in [0, 8], the capture has 'n' in [0, 8]");
  EXPECT_JIT_ERROR(jit(Arguments().add(x).add(var("n", 0, 8, 2)).add(var("m", 0, 8, 2))),
                   "2 variables were given, the capture has 1");
}

TEST_P(CaptureVariables, AnInputOfAnotherSizeThanTheVariableRaises) {
  Jit jit(session, [&](const Tensors& in) { return Tensors{plus(in[0], 1)}; });
  const auto x = [&](int64_t n) {
    session.bind("n", 0, 8, n);
    return floats({n}, ramp(n), {"n"});
  };
  for (int i = 0; i < 2; ++i) jit(Arguments().add(x(3)).add(var("n", 0, 8, 3)));
  const Tensor five = x(5);
  EXPECT_JIT_ERROR(jit(Arguments().add(five).add(var("n", 0, 8, 3))),
                   "dimension 0 of input 0 is 5, wanted 3, which is n");
  EXPECT_EQ(values(jit(Arguments().add(five).add(var("n", 0, 8, 5)))[0]).size(), 5u);
}

TEST_P(CaptureVariables, ALazyTensorIsRealizedBeforeItsVariableChanges) {
  session.bind("n", 0, 8, 3);
  const Tensor lazy = plus(floats({3}, {1, 2, 3}, {"n"}), 1);
  session.bind("n", 0, 8, 5);
  EXPECT_EQ(values(lazy), (Floats{2, 3, 4}));
}

TEST_P(CaptureVariables, APadAtTheEndIsNotFrozen) {
  Jit jit(session, [&](const Tensors& in) {
    return Tensors{
        op("pad", {slice(in[0], {0}, {"n"})}, {dims("before", {0}), dims("after", {"8 - n"})})};
  });
  session.bind("n", 0, 8, 2);
  for (const int64_t n : {2, 2, 4, 0, 8, 1}) {
    Floats want(8, 0);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) want[i] = 1;
    EXPECT_EQ(values(jit(Arguments().add(floats(Floats(8, 1))).add(var("n", 0, 8, n)))[0]), want);
  }
}

TEST_P(CaptureVariables, ZeroIsAValue) {
  Jit jit(session, [&](const Tensors& in) {
    return Tensors{sum(in[0]), op("prod", {in[0]}), plus(in[0], 1), op("mean", {in[0]}),
                   matmul(op("transpose", {in[1]}), in[1])};
  });
  for (const int64_t n : {3, 0, 0, 2, 0}) {
    session.bind("n", 0, 8, n);
    const auto out = jit(Arguments()
                             .add(floats({n}, Floats(static_cast<size_t>(n), 2), {"n"}))
                             .add(floats({n, 2}, Floats(static_cast<size_t>(2 * n), 1), {"n", 2}))
                             .add(var("n", 0, 8, n)));
    EXPECT_EQ(value(out[0]), static_cast<float>(2 * n));
    EXPECT_EQ(value(out[1]), static_cast<float>(1 << n));
    EXPECT_EQ(values(out[2]), Floats(static_cast<size_t>(n), 3));
    EXPECT_EQ(std::isnan(value(out[3])), n == 0);
    EXPECT_EQ(values(out[4]), Floats(4, static_cast<float>(n)));
  }
}

TEST_P(CaptureVariables, SizesAreThoseOfTheCallAndMemoryThatOfTheMaximum) {
  const Tensor w = floats({4, 4}, Floats(16, 0.25f));
  Jit jit(session, [&](const Tensors& in) { return Tensors{matmul(matmul(in[0], w), w)}; });
  std::optional<Tensor> first;
  for (const int64_t n : {2, 2, 8, 1, 5}) {
    session.bind("n", 0, 8, n);
    const uint64_t before = allocations();
    const Tensor x = floats({n, 4}, Floats(static_cast<size_t>(4 * n), 1), {"n", 4});
    const uint64_t made = allocations() - before;
    const Tensor out = jit(Arguments().add(x).add(var("n", 0, 8, n)))[0];
    if (jit.captured() && first) {
      EXPECT_EQ(allocations(), before + made);  // large enough from the start
    }
    const Type type = out.type();
    EXPECT_EQ(type.dims[0].value, n);  // not the largest
    EXPECT_EQ(out.read().shape, (std::vector<int64_t>{n, 4}));
    EXPECT_EQ(values(out), Floats(static_cast<size_t>(4 * n), 1));
    if (jit.captured()) first = out;
  }
  session.bind("n", 0, 8, 3);
  EXPECT_EQ(first->type().dims[0].value, 5);  // a tensor knows its own size
}

}  // namespace capture_test
