// Captures and replays on several threads. The suite runs under ThreadSanitizer too.
#include <atomic>
#include <thread>

#include "lab.hpp"

namespace capture_test {

class CaptureThreads : public Lab {
 protected:
  static void run(int count, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back(body, t);
    for (std::thread& t : threads) t.join();
  }
};
INSTANTIATE_ON_DEVICES(CaptureThreads);

TEST_P(CaptureThreads, AnotherThreadsWorkIsNotRecorded) {
  std::thread other;
  std::atomic<bool> started = false, done = false;
  Floats seen;
  Jit jit(session, [&](const Tensors& in) {
    if (!other.joinable()) {
      // Works on the same session while this function is traced or runs.
      other = std::thread([&] {
        started = true;
        Jit inner(session, [&](const Tensors& x) { return Tensors{times(x[0], 3)}; });
        for (int i = 0; i < 4; ++i)
          seen.push_back(value(inner({floats({static_cast<float>(i)})})[0]));
        done = true;
      });
      while (!started) std::this_thread::yield();
    }
    return Tensors{plus(in[0], 1)};
  });
  const auto call = [&] { return value(jit({floats({1})})[0]); };
  EXPECT_EQ(call(), 2);
  other.join();
  EXPECT_TRUE(done);
  other = std::thread();  // once more, during the capture
  seen.clear();
  EXPECT_EQ(call(), 2);
  other.join();
  EXPECT_EQ(seen, (Floats{0, 3, 6, 9}));
  EXPECT_EQ(call(), 2);
  EXPECT_EQ(jit.program().describe().launches, 1u);
  EXPECT_EQ(jit.program().describe().states, 0u);
}

TEST_P(CaptureThreads, SessionsCaptureSideBySide) {
  run(4, [&](int t) {
    Session own(context());
    Jit jit(own, [&](const Tensors& in) { return Tensors{own.op("add", {in[0], in[0]})}; });
    for (int i = 0; i < 20; ++i) {
      const float v = static_cast<float>(100 * t + i);
      const Tensor x = own.tensor(Array::of<float>({2}, {v, 1}), device());
      EXPECT_EQ(values(jit({x})[0]), (Floats{2 * v, 2}));
      if (i == 10) jit.reset();
    }
  });
}

TEST_P(CaptureThreads, ReplaysOfOneProgramDoNotInterleave) {
  const Tensor w = floats({8, 8}, Floats(64, 0.125f));
  JitOptions options;
  options.outputs = OST_JIT_FRESH;  // each thread keeps its result
  Jit jit(
      session,
      [&](const Tensors& in) {
        Tensor y = in[0];
        for (int i = 0; i < 6; ++i) y = matmul(y, w);  // intermediates in one arena
        return Tensors{y};
      },
      options);
  const auto matrix = [&](float v) { return floats({8, 8}, Floats(64, v)); };
  for (int i = 0; i < 2; ++i) jit({matrix(1)});
  std::atomic<int> wrong = 0;
  run(4, [&](int t) {
    for (int i = 0; i < 25; ++i) {
      const float v = static_cast<float>(t * 1000 + i);
      wrong += values(jit({matrix(v)})[0]) != Floats(64, v);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CaptureThreads, StateIsUpdatedOncePerCallWhoeverCalls) {
  Tensor count = floats({0});
  Jit jit(session, [&](const Tensors& in) {
    count.assign(add(count, in[0]));
    return Tensors{plus(count, 0.5)};
  });
  run(4, [&](int) {
    for (int i = 0; i < 25; ++i) jit({floats({1})});
  });
  EXPECT_EQ(values(count), Floats{100});
}

}  // namespace capture_test
