// Instances on drivers that have less than ref has, that fail, and in several threads; random
// programs on all of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <latch>
#include <random>
#include <thread>

#include "core/runtime/instance.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/runtime/changed_ref.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"
#include "tests/unit/schedule/random_graph.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost::runtime {
namespace {

using test::bytes_of_floats;
using test::from_device;
using test::on_device;

std::unique_ptr<Instance> make(Program program, std::vector<DevicePtr> devices) {
  Compiler compiler(std::make_shared<CompileCache>(""));
  auto made = Instance::create(std::make_shared<const Program>(std::move(program)),
                               std::move(devices), compiler);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? std::move(*made) : nullptr;
}

// Runs with new buffers and gives the contents of all outputs, those that alias something included.
Result<std::vector<test::Bytes>> run_fresh(Instance& instance,
                                           const std::vector<test::Bytes>& inputs,
                                           const std::vector<int64_t>& vars) {
  const Program& p = instance.program();
  std::vector<BufferRef> in, out(p.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    in.push_back(on_device(instance.devices()[p.inputs[i].device], inputs[i]));
  for (uint32_t o = 0; o < out.size(); ++o) {
    if (!instance.output_is_written(o)) continue;
    OST_TRY_ASSIGN(const uint64_t bytes, instance.output_bytes(o, vars));
    out[o] = on_device(instance.devices()[p.outputs[o].device], test::Bytes(bytes, 0xcd));
  }
  OST_TRY(instance.run(in, out, vars));
  std::vector<test::Bytes> contents;
  for (uint32_t o = 0; o < out.size(); ++o) {
    const uint32_t first = p.buffers[p.outputs[o].buffer].slot;
    BufferRef ref = instance.output_is_written(o) ? out[first] : instance.output_alias(o, in);
    OST_TRY_ASSIGN(ref.bytes, instance.output_bytes(o, vars));
    contents.push_back(from_device(ref));
  }
  return contents;
}

TEST(PlainDriver, RunsWithoutCommandListsAndMapping) {
  const DevicePtr plain = test::plain_ref();
  ASSERT_FALSE(plain->host_visible());
  EXPECT_EQ(*(*Buffer::allocate(plain, 8))->map(), nullptr);
  const auto instance = make(test::scaled_relu(), {plain});
  ASSERT_NE(instance, nullptr);
  for (const int64_t n : {3, 64, 1}) {
    test::HostRun host;
    host.vars = {{"n", n}};
    host.inputs = {bytes_of_floats(std::vector<float>(static_cast<size_t>(4 * n), 1.25f))};
    ASSERT_OK(test::run_on_host(instance->program(), host));
    const auto got = run_fresh(*instance, host.inputs, {n});
    ASSERT_OK(got);
    EXPECT_EQ((*got)[0], host.outputs[0]);
  }
  const auto profile = instance->profile(true);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().status, OST_UNIMPLEMENTED);
}

TEST(PlainDriver, TransfersGoThroughTheHostBothWays) {
  const DevicePtr plain = test::plain_ref(), ref = test::ref_device();
  for (const auto& devices :
       {std::vector{plain, ref}, std::vector{ref, plain}, std::vector{plain, plain}}) {
    const auto instance = make(test::accumulate(), devices);
    ASSERT_NE(instance, nullptr);
    const auto got =
        run_fresh(*instance, {bytes_of_floats(std::vector<float>(8, 2.0f)), test::Bytes(32)}, {});
    ASSERT_OK(got);
    EXPECT_EQ((*got)[0], bytes_of_floats(std::vector<float>(8, 3.5f)));
    EXPECT_EQ(instance->last_run().allocations, 0u);
  }
}

// What the next submit of the failing driver does.
std::atomic<int> failures{0};
bool lost = false;
decltype(ost_driver_table_t::queue_submit) real_submit;

DevicePtr failing_ref() {
  struct Failing {};
  return test::changed_ref<Failing>("failing", [](ost_driver_table_t& t) {
    real_submit = t.queue_submit;
    t.queue_submit = [](ost_queue_t* queue, const ost_point_t* waits, uint32_t wait_count,
                        const ost_command_t* commands, uint32_t count, const ost_point_t* signals,
                        uint32_t signal_count, ost_error_t* error) -> ost_status_t {
      if (failures > 0) {
        --failures;
        error->status = OST_BUSY;
        error->flags = OST_ERROR_RETRYABLE;
        std::snprintf(error->message, sizeof error->message, "too many submits in flight");
        return OST_BUSY;
      }
      return real_submit(queue, waits, wait_count, commands, count, signals, signal_count, error);
    };
    t.device_status = [](ost_device_t*, ost_error_t* error) -> ost_status_t {
      if (!lost) return OST_OK;
      std::snprintf(error->message, sizeof error->message, "the card fell off the bus");
      return OST_DEVICE_LOST;
    };
  });
}

TEST(FailingDriver, AFailedRunIsAnErrorAndTheNextOneWorks) {
  const DevicePtr device = failing_ref();
  const auto instance = make(test::scaled_relu(), {device});
  ASSERT_NE(instance, nullptr);
  const std::vector<test::Bytes> inputs = {bytes_of_floats({1, 2, 3, 4})};
  for (int round = 0; round < 3; ++round) {
    failures = 1;
    const auto failed = run_fresh(*instance, inputs, {1});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().status, OST_BUSY);
    EXPECT_EQ(failed.error().flags, static_cast<uint32_t>(OST_ERROR_RETRYABLE));
    EXPECT_ERROR(failed, "failing:0: queue_submit: too many submits in flight");
    const auto again = run_fresh(*instance, inputs, {1});
    ASSERT_OK(again);
    EXPECT_EQ((*again)[0], bytes_of_floats({1.0f, -0.0f, 1.5f, 12.0f}));
  }
}

TEST(FailingDriver, ALostDeviceIsOpenedAgain) {
  const DevicePtr first = failing_ref();
  EXPECT_EQ(*first->driver().open(0, {.self_test = false, .cache = nullptr}), first);
  lost = true;
  EXPECT_ERROR(first->status(), "failing:0: device_status: the card fell off the bus");
  const auto second = first->driver().open(0, {.self_test = false, .cache = nullptr});
  lost = false;
  ASSERT_OK(second);
  EXPECT_NE(*second, first);
}

TEST(Instance, ThreadsShareADeviceAndACompiler) {
  const DevicePtr device = test::ref_device();
  Compiler compiler(std::make_shared<CompileCache>(""));
  const auto program = std::make_shared<const Program>(test::scaled_relu());
  std::atomic<int> right{0};
  std::latch all_made(4);  // an executable goes with the last instance that uses it
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        auto instance = Instance::create(program, {device}, compiler);
        all_made.arrive_and_wait();
        if (!instance) return;
        for (int64_t n = 1; n <= 8; ++n) {
          const std::vector<test::Bytes> inputs = {bytes_of_floats(
              std::vector<float>(static_cast<size_t>(4 * n), static_cast<float>(t)))};
          const auto got = run_fresh(**instance, inputs, {n});
          right += got && test::floats_of_bytes((*got)[0])[3] == 3.0f * static_cast<float>(t);
        }
      });
    }
  }
  EXPECT_EQ(right, 32);
  EXPECT_EQ(compiler.stats().compiles, 2u)
      << "whoever comes second must wait for the first, not compile again";
}

// The same bits as on host memory, on one device with command lists and on one without.
TEST(Instance, RandomProgramsGiveTheBitsOfTheirDefinition) {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t base = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  const DevicePtr ref = test::ref_device(), plain = test::plain_ref();
  for (uint64_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << base + i);
    const test::RandomGraph r =
        test::random_graph(base + i, {.max_elements = 512, .symbolic = i % 2 == 1});
    const auto program = schedule(r.graph, {});
    ASSERT_OK(program);
    test::HostRun host{r.inputs, {}, r.vars, {}};
    ASSERT_OK(test::run_on_host(*program, host));
    std::vector<int64_t> vars;
    for (const Var& v : program->vars) vars.push_back(r.vars.at(v.name));
    for (const DevicePtr& device : {ref, plain}) {
      const auto instance = make(*program, std::vector(program->device_count, device));
      ASSERT_NE(instance, nullptr);
      for (int run = 0; run < 2; ++run) {
        const auto got = run_fresh(*instance, r.inputs, vars);
        ASSERT_OK(got);
        for (size_t o = 0; o < got->size(); ++o)
          EXPECT_EQ((*got)[o], host.outputs[o]) << device->id() << ", output " << o;
      }
    }
  }
}

}  // namespace
}  // namespace ost::runtime
