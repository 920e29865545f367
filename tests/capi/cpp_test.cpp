// ostinato.hpp: handles that clean up, errors that are exceptions, the same results as the C ABI.
#include <gtest/gtest.h>
#include <unistd.h>
#include <ostinato/ostinato.hpp>

#include <cmath>
#include <filesystem>
#include <optional>
#include <thread>

namespace {

using namespace ostinato;

Context ref_context() {
  ContextOptions options;
  options.cache_folder = "off";
  options.flags = OST_CONTEXT_NO_PLUGIN_SEARCH | OST_CONTEXT_IGNORE_ENVIRONMENT;
  return Context(options);
}

Program affine() {
  Graph g;
  g.var("n", 1, 8);
  const Node x = g.input("x", OST_DTYPE_F32, {"n", 2});
  const Node w = g.constant("w", Array::of<float>({2}, {2, 3}));
  g.output("y",
           g.op("add", {g.op("mul", {x, w}),
                        g.op("sum", {x}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", 1}})}));
  return g.compile();
}

TEST(Cpp, RunsAProgram) {
  const Context context = ref_context();
  Instance instance(context, affine(), {"ref:0"});
  const Array x = Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  instance.bind({{"x", x.view()}});
  instance.run();
  EXPECT_EQ(instance.output(0).values<float>(), (std::vector<float>{5, 9, 13, 19, 21, 29}));
  EXPECT_EQ(instance.output(0).shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(instance.var("n"), 3);
  EXPECT_EQ(instance.stats().compiles, 0u);
}

TEST(Cpp, MemoryOfTheCallersIsSharedAndGivenBack) {
  const Context context = ref_context();
  Session session(context);
  alignas(64) float data[2] = {1, 2};
  bool released = false;
  {
    std::optional<Tensor> sum;
    {
      const Buffer b =
          Buffer::import(context, "ref:0", data, sizeof data, [&] { released = true; });
      EXPECT_EQ(b.map(), data);
      const Tensor x = session.tensor(b, 0, OST_DTYPE_F32, {2});
      sum = session.op("add", {x, x});
    }
    EXPECT_FALSE(released) << "a lazy tensor still reads it";
    const auto [storage, offset] = sum->buffer();
    EXPECT_EQ(static_cast<const float*>(storage.map())[offset / sizeof(float) + 1], 4);
  }
  EXPECT_TRUE(released);
}

TEST(Cpp, ErrorsCarryStatusAndMessage) {
  const Context context = ref_context();
  try {
    context.open("nobody:3");
    FAIL() << "a device that does not exist was opened";
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), static_cast<ost_status_t>(OST_UNAVAILABLE));
    EXPECT_NE(std::string(e.what()).find("nobody:3"), std::string::npos);
  }
  EXPECT_THROW(Array::of<float>({2}, {1, 2}).values<double>(), Error);
  EXPECT_THROW(Program::parse("{}"), Error);
}

TEST(Cpp, ProgramsSurviveTheirText) {
  const Program program = affine();
  const Program again = Program::parse(program.inspect(OST_FORMAT_MANIFEST));
  EXPECT_EQ(program.id(), again.id());
  EXPECT_EQ(diff(program, again).count, 0u);
  EXPECT_EQ(program.inputs().at(0).text(), "f32[n, 2]");
  EXPECT_EQ(program.outputs().at(0).name, "y");
  EXPECT_EQ(program.vars().at(0).max, 8);
  EXPECT_EQ(program.input_shape(0, {{"n", 5}}), (std::vector<int64_t>{5, 2}));
}

TEST(Cpp, DifferentProgramsDiffer) {
  Graph g;
  g.input("x", "n:1..8, 2");
  g.outputs_of("y = x * 2");
  const Difference d = diff(affine(), g.compile());
  EXPECT_GT(d.count, 0u);
  EXPECT_NE(d.text.find("- "), std::string::npos);
}

TEST(Cpp, VerifiesADeviceAgainstItself) {
  const Context context = ref_context();
  const Array x = Array::of<float>({1, 2}, {NAN, -0.0f});
  const auto d = verify(context, affine(), {"ref:0"}, {"ref:0"}, {{"x", x.view()}});
  EXPECT_EQ(d.equal, 1u);
  EXPECT_GT(d.compared, 0u);
}

TEST(Cpp, JitRunsItsFunctionTwice) {
  const Context context = ref_context();
  Session session(context);
  int calls = 0;
  Jit jit(session, [&](const std::vector<Tensor>& in) {
    ++calls;
    return std::vector<Tensor>{session.op("softmax", {in[0]}, {{"axis", -1}})};
  });
  std::vector<float> last;
  for (int i = 0; i < 4; ++i) {
    const Tensor x = session.tensor(Array::of<float>({2}, {0, static_cast<float>(i)}), "ref:0");
    last = jit({x})[0].read().values<float>();
  }
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(jit.captured());
  EXPECT_NEAR(last[1], 1 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_EQ(jit.program().describe().inputs, 1u);
}

TEST(Cpp, AnExceptionOfTheFunctionReachesTheCaller) {
  const Context context = ref_context();
  Session session(context);
  Jit jit(session, [](const std::vector<Tensor>&) -> std::vector<Tensor> {
    throw std::runtime_error("the function is unwell");
  });
  try {
    jit({});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the function is unwell"), std::string::npos);
  }
}

TEST(Cpp, StaleOutputsOfAReusingJitAreRefused) {
  const Context context = ref_context();
  Session session(context);
  Jit jit(session, [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{session.op("neg", {in[0]})};
  });
  const Tensor x = session.tensor(Array::of<float>({1}, {2}), "ref:0");
  jit({x});
  jit({x});
  const Tensor old = jit({x})[0];
  EXPECT_EQ(old.read().values<float>()[0], -2);
  jit({x});
  EXPECT_THROW(old.read(), Error);
}

// Programs and contexts are shared by threads, instances are one thread's.
TEST(Cpp, ThreadsShareAProgram) {
  const Context context = ref_context();
  const Program program = affine();
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      Instance instance(context, program, {"ref:0"});
      const Array x = Array::of<float>({1, 2}, {static_cast<float>(t), 0});
      for (int i = 0; i < 20; ++i) {
        instance.bind({{"x", x.view()}});
        instance.run();
      }
      results[t] = instance.output(0).values<float>()[0];
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(results, (std::vector<float>{0, 3, 6, 9}));
}

TEST(Cpp, ArchivesKeepArrays) {
  const auto path = (std::filesystem::temp_directory_path() /
                     ("ostinato_cpp_" + std::to_string(getpid()) + ".safetensors"))
                        .string();
  Archive out;
  const Array a = Array::of<int64_t>({2}, {-1, int64_t{1} << 40});
  out.add("a", a.view());
  out.save(path);
  const Archive in(path);
  EXPECT_TRUE(in.has("a"));
  EXPECT_FALSE(in.has("b"));
  EXPECT_EQ(Array(in.array("a")).values<int64_t>(), a.values<int64_t>());
  EXPECT_EQ(in.type(0).text(), "i64[2]");
  std::filesystem::remove(path);
}

}  // namespace
