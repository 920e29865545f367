#include "core/runtime/instance.hpp"

#include <gtest/gtest.h>

#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost::runtime {
namespace {

using test::bytes_of_floats;
using test::from_device;
using test::on_device;

struct Bench {
  std::shared_ptr<DeviceRegistry> registry = test::ref_only();
  Compiler compiler{std::make_shared<CompileCache>("")};
  DevicePtr device = *registry->get("ref:0");

  std::unique_ptr<Instance> make(Program program, const InstanceOptions& options = {}) {
    std::vector<DevicePtr> devices(program.device_count, device);
    auto made = Instance::create(std::make_shared<const Program>(std::move(program)), devices,
                                 compiler, options);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }
};

std::vector<float> ramp(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i % 13) - 6.5f;
  return out;
}

TEST(Instance, OneInstanceServesAllValuesOfAVariable) {
  Bench t;
  const auto instance = t.make(test::scaled_relu());
  ASSERT_NE(instance, nullptr);
  for (const int64_t n : {1, 2, 7, 64, 3}) {
    test::HostRun host;
    host.vars = {{"n", n}};
    host.inputs = {bytes_of_floats(ramp(static_cast<size_t>(4 * n)))};
    ASSERT_OK(test::run_on_host(instance->program(), host));
    const auto x = on_device(t.device, host.inputs[0]);
    const auto y = on_device(t.device, std::vector<uint8_t>(host.inputs[0].size(), 0xee));
    const int64_t vars[] = {n};
    ASSERT_OK(instance->run({&x, 1}, {&y, 1}, vars));
    EXPECT_EQ(from_device(y), host.outputs[0]) << "n = " << n;
    EXPECT_EQ(instance->last_run().launches, 2u);
    EXPECT_EQ(instance->last_run().allocations, 0u);
    EXPECT_EQ(*instance->output_shape(0, vars), (std::vector<int64_t>{n, 4}));
    EXPECT_EQ(*instance->output_bytes(0, vars), static_cast<uint64_t>(16 * n));
  }
}

TEST(Instance, RefusesWrongArgumentsByName) {
  Bench t;
  const auto instance = t.make(test::scaled_relu());
  ASSERT_NE(instance, nullptr);
  const auto good = on_device(t.device, std::vector<uint8_t>(64));
  const auto out = on_device(t.device, std::vector<uint8_t>(64));
  const auto run = [&](const BufferRef& x, const BufferRef& y, int64_t n) {
    return instance->run({&x, 1}, {&y, 1}, {&n, 1});
  };
  EXPECT_ERROR(run(good, out, 65), "variable n is 65, wanted 1 to 64");
  EXPECT_ERROR(run(good, out, 0), "variable n is 0, wanted 1 to 64");
  EXPECT_ERROR(run(good, out, 5), "input 0 (x) has 64 bytes, wanted 80 for shape [5, 4]");
  EXPECT_ERROR(run({}, out, 4), "input 0 (x) has no buffer");
  EXPECT_ERROR(run(good, {}, 4), "output 0 (y) has no buffer");
  EXPECT_ERROR(run({good.buffer, 4, 60}, out, 1),
               "input 0 (x) starts at byte 4, wanted a multiple of 64");
  EXPECT_ERROR(run({good.buffer, 64, 64}, out, 4),
               "input 0 (x) ends beyond its buffer of 64 bytes");
  EXPECT_ERROR(run(good, good, 4), "share memory, and the program writes output 0");
  EXPECT_ERROR(instance->run({}, {&out, 1}, {}), "0 variables were given, the program has 1");
  const int64_t n = 4;
  EXPECT_ERROR(instance->run({}, {&out, 1}, {&n, 1}),
               "0 inputs and 1 outputs were given, the program has 1 and 1");
  EXPECT_TRUE(run(good, out, 4).has_value()) << "a refused call must leave the instance usable";
}

TEST(Instance, ChecksGuardsBeforeAnyLaunch) {
  Bench t;
  Program program = test::scaled_relu();
  program.guards.push_back({Sym::var(program.vars[0]), Sym(8), "the cache has eight rows"});
  const auto instance = t.make(std::move(program));
  ASSERT_NE(instance, nullptr);
  const auto x = on_device(t.device, std::vector<uint8_t>(1024));
  const auto y = on_device(t.device, std::vector<uint8_t>(1024, 0xee));
  const int64_t nine = 9;
  EXPECT_ERROR(instance->run({&x, 1}, {&y, 1}, {&nine, 1}), "the cache has eight rows");
  EXPECT_EQ(from_device(y), std::vector<uint8_t>(1024, 0xee));
}

TEST(Instance, StatesLiveAcrossRunsAndCopiesReachOtherDevices) {
  Bench t;
  const auto instance = t.make(test::accumulate());
  ASSERT_NE(instance, nullptr);
  const auto x = on_device(t.device, bytes_of_floats(std::vector<float>(8, 2.0f)));
  const auto log = on_device(t.device, std::vector<uint8_t>(32));
  const auto sum = on_device(t.device, std::vector<uint8_t>(32));
  const BufferRef inputs[] = {x, log};
  const BufferRef outputs[] = {sum, {}};
  EXPECT_TRUE(instance->output_is_written(0));
  EXPECT_FALSE(instance->output_is_written(1));
  EXPECT_EQ(instance->output_alias(1, inputs).buffer, x.buffer);
  for (int run = 1; run <= 3; ++run) {
    ASSERT_OK(instance->run(inputs, outputs, {}));
    EXPECT_EQ(from_device(sum),
              bytes_of_floats(std::vector<float>(8, 1.5f + 2.0f * static_cast<float>(run))));
    EXPECT_EQ(from_device(log), from_device(x));
    EXPECT_EQ(instance->last_run().copies, 1u);
    EXPECT_EQ(instance->last_run().copied_bytes, 32u);
  }
  EXPECT_EQ(from_device(instance->state(0)), from_device(sum));
}

TEST(Instance, TakesStorageForStatesFromTheCaller) {
  Bench t;
  const auto mine = on_device(t.device, bytes_of_floats(std::vector<float>(8, 10.0f)));
  InstanceOptions options;
  options.states = {mine};
  const auto instance = t.make(test::accumulate(), options);
  ASSERT_NE(instance, nullptr);
  const BufferRef inputs[] = {on_device(t.device, bytes_of_floats(std::vector<float>(8, 1.0f))),
                              on_device(t.device, std::vector<uint8_t>(32))};
  const BufferRef outputs[] = {on_device(t.device, std::vector<uint8_t>(32)), {}};
  ASSERT_OK(instance->run(inputs, outputs, {}));
  EXPECT_EQ(from_device(mine), bytes_of_floats(std::vector<float>(8, 11.0f)));
  const BufferRef aliased[] = {inputs[0], inputs[0]};
  EXPECT_ERROR(instance->run(aliased, outputs, {}),
               "input 1 and input 0 share memory, and the program writes input 1");
}

TEST(Instance, GivesTimesOfEachLaunch) {
  Bench t;
  const auto instance = t.make(test::scaled_relu());
  ASSERT_NE(instance, nullptr);
  ASSERT_OK(instance->profile(true));
  const auto x = on_device(t.device, std::vector<uint8_t>(64));
  const auto y = on_device(t.device, std::vector<uint8_t>(64));
  const int64_t n = 4;
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK(instance->run({&x, 1}, {&y, 1}, {&n, 1}));
    ASSERT_EQ(instance->last_times().size(), 2u);
    EXPECT_EQ(instance->last_times()[0].kernel, 0u);
    EXPECT_EQ(instance->last_times()[1].kernel, 1u);
    EXPECT_GT(instance->last_times()[0].ns, 0u);
  }
  ASSERT_OK(instance->profile(false));
  ASSERT_OK(instance->run({&x, 1}, {&y, 1}, {&n, 1}));
  EXPECT_TRUE(instance->last_times().empty());
}

TEST(Instance, CompilesEachKernelOncePerProcess) {
  Bench t;
  const auto first = t.make(test::scaled_relu());
  const auto second = t.make(test::scaled_relu());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->build_stats().compiles, 2u);
  EXPECT_EQ(second->build_stats().compiles, 0u);
  EXPECT_EQ(t.compiler.stats().compiles, 2u);
}

TEST(Instance, UsesImagesOfTheProgramOnlyWhenTold) {
  Bench t;
  Program program = test::scaled_relu();
  for (KernelDesc& k : program.kernels) {
    auto variant = Compiler(std::make_shared<CompileCache>(""))
                       .make_variant(k, t.device->driver(), t.device->info());
    ASSERT_OK(variant);
    k.variants.push_back(std::move(*variant));
  }
  EXPECT_EQ(t.make(program)->build_stats().images_used, 0u);
  Bench trusting;
  InstanceOptions options;
  options.trust_images = true;
  const auto instance = trusting.make(program, options);
  ASSERT_NE(instance, nullptr);
  EXPECT_EQ(instance->build_stats().images_used, 2u);
  EXPECT_EQ(trusting.compiler.stats().compiles, 0u);

  program.kernels[1].variants[0].image.back() ^= 1;
  Bench third;
  auto made = Instance::create(std::make_shared<const Program>(program), {third.device},
                               third.compiler, options);
  EXPECT_ERROR(made, "kernel relu: the image for kir has another sha256");
}

TEST(Instance, NeedsADeviceForEachLogicalOne) {
  Bench t;
  auto made =
      Instance::create(std::make_shared<const Program>(test::accumulate()), {t.device}, t.compiler);
  EXPECT_ERROR(made, "the program has 2 logical devices, 1 were given");
}

}  // namespace
}  // namespace ost::runtime
