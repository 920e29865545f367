// What outlives a process: the compile cache, programs in files.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "lab.hpp"

namespace capture_test {

namespace fs = std::filesystem;

class CaptureProcess : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    folder_ = fs::temp_directory_path() / ("ostinato-capture-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A context of its own is to the cache what a process is.
  struct Process {
    Context context;
    uint64_t compiles = 0, hits = 0, damaged = 0, stores = 0;
    std::vector<Array> results = {};
  };
  Process run(const std::string& cache, double factor = 2) {
    ContextOptions options;
    options.cache_folder = cache;
    Process p{Context(options)};
    Session own(p.context);
    Tensor total = own.tensor(Array::of<float>({4}, {0, 0, 0, 0}), device());
    Jit jit(own, [&](const Tensors& in) {
      const Attrs scalar{
          {"dtype", static_cast<int>(OST_DTYPE_F32)}, dims("shape", {}), {"value", factor}};
      const Tensor y = own.op("mul", {in[0], own.op("full", {}, scalar, device())});
      total.assign(own.op("add", {total, y}));
      return Tensors{own.op("softmax", {y})};
    });
    for (int i = 0; i < 4; ++i) {
      const float v = static_cast<float>(i);
      p.results.push_back(
          jit({own.tensor(Array::of<float>({4}, {v, 1, 2, 3}), device())})[0].read());
    }
    p.results.push_back(total.read());
    const auto stats = p.context.compile_stats();
    p.compiles = stats.compiles;
    p.hits = stats.cache_hits;
    p.damaged = stats.cache_damaged;
    p.stores = stats.cache_stores;
    return p;
  }
  static void expect_equal(const Process& a, const Process& b) {
    ASSERT_EQ(a.results.size(), b.results.size());
    for (size_t i = 0; i < a.results.size(); ++i)
      EXPECT_EQ(a.results[i].bytes, b.results[i].bytes) << "result " << i;
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::recursive_directory_iterator(folder_)) {
      if (e.is_regular_file()) out.push_back(e.path());
    }
    return out;
  }
  fs::path folder_;
};
INSTANTIATE_ON_DEVICES(CaptureProcess);

TEST_P(CaptureProcess, AColdProcessStoresAndAWarmOneOnlyHits) {
  const Process cold = run(folder_.string()), warm = run(folder_.string());
  EXPECT_EQ(cold.hits, 0u);
  EXPECT_EQ(cold.stores, cold.compiles);
  EXPECT_EQ(warm.compiles, 0u);
  EXPECT_EQ(warm.hits, cold.compiles);
  EXPECT_EQ(warm.stores, 0u);
  expect_equal(cold, warm);
}

TEST_P(CaptureProcess, ADamagedEntryIsAMissAndIsWrittenAgain) {
  const Process cold = run(folder_.string());
  for (const fs::path& entry : entries()) {
    const auto size = fs::file_size(entry);
    if (size > 0) fs::resize_file(entry, size / 2);
  }
  const Process again = run(folder_.string());
  expect_equal(cold, again);
  EXPECT_EQ(again.compiles, cold.compiles);
  const Process warm = run(folder_.string());
  EXPECT_EQ(warm.compiles, 0u);
  expect_equal(cold, warm);  // the state was written through the hit path too
}

TEST_P(CaptureProcess, ACacheThatIsOffTouchesNoDisk) {
  const Process off = run("off"), cold = run(folder_.string());
  EXPECT_EQ(off.stores, 0u);
  EXPECT_EQ(off.context.cache_folder(), "");
  expect_equal(off, cold);
}

TEST_P(CaptureProcess, AnotherKernelHasAnotherKey) {
  const Process one = run(folder_.string());
  const size_t before = entries().size();
  const Process two = run(folder_.string(), 3);
  if (one.compiles == 0) GTEST_SKIP() << "needs a device that compiles; this one interprets";
  EXPECT_GT(two.compiles, 0u);
  EXPECT_GT(entries().size(), before);
  EXPECT_NE(one.results[0].bytes, two.results[0].bytes);
}

TEST_P(CaptureProcess, ACapturedProgramWorksInAFreshContext) {
  const fs::path file = folder_ / "step.ost.json";
  Tensor total = floats({1, 2, 3, 4});
  const Tensor w = floats({4, 4}, Floats(16, 0.5f));
  Jit jit(session, [&](const Tensors& in) {
    total.assign(add(total, in[0]));
    return Tensors{matmul(in[0], w), plus(total, 0)};
  });
  EXPECT_EQ(raised([&] { jit.program(); }).message,
            "nothing is captured yet; the second call captures");
  for (int i = 0; i < 3; ++i) jit({floats({1, 1, 1, 1})});
  jit.program().save(file.string());
  uint64_t bytes = 0;
  for (const fs::path& f : entries()) bytes += fs::file_size(f);
  EXPECT_LT(bytes, 64u << 10);  // no intermediates
  ContextOptions options;
  options.cache_folder = "off";
  Context fresh(options);
  Instance instance(fresh, Program::load(file.string()), {device()});
  const Array x = Array::of<float>({4}, {1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) {
    instance.bind({{"arg0", x.view()}});
    instance.run();
    const auto want = jit({session.tensor(x, device())});
    EXPECT_EQ(instance.output(0).bytes, want[0].read().bytes);
    EXPECT_EQ(instance.output(1).bytes, want[1].read().bytes);
  }
}

}  // namespace capture_test
