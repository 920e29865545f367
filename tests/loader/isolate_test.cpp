// OSTINATO_ISOLATE: a driver that aborts, crashes, exits or hangs is an error that says so; the
// process and the other devices go on.
#include "core/runtime/isolate/isolated.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "core/runtime/instance.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::runtime {
namespace {

using test::ScopedEnv;

std::string from_env(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << "run this test through ctest";
  return value == nullptr ? "" : value;
}
std::string bad_plugin(const std::string& kind) {
  return from_env("OST_TEST_PLUGINS") + "/" + kind + ".so";
}

std::shared_ptr<DeviceRegistry> load(std::vector<std::string> files,
                                     const std::string& fault = "") {
  RegistryOptions options;
  options.loader.files = std::move(files);
  options.loader.search = false;
  options.loader.environment = false;
  options.cache = std::make_shared<CompileCache>("");
  if (!fault.empty()) options.driver_options["fault"] = fault;
  return DeviceRegistry::create(options);
}

Result<DevicePtr> open(DeviceRegistry& registry, const std::string& id) {
  OpenOptions options;
  options.self_test = false;
  return registry.get(id, options);
}

void expect_ref_works(DeviceRegistry& registry) {
  const auto ref = open(registry, "ref:0");
  ASSERT_OK(ref);
  EXPECT_EQ(test::from_device(test::on_device(*ref, {1, 2, 3})), (std::vector<uint8_t>{1, 2, 3}));
}

Result<std::vector<uint8_t>> run_program(const DevicePtr& device) {
  Compiler compiler{std::make_shared<CompileCache>("")};
  OST_TRY_ASSIGN(
      const auto instance,
      Instance::create(std::make_shared<const Program>(test::scaled_relu()), {device}, compiler));
  const int64_t n = 3;
  std::vector<uint8_t> x(48, 0x3f), y(48);
  OST_TRY_ASSIGN(const BufferPtr in, Buffer::allocate(device, x.size()));
  OST_TRY_ASSIGN(const BufferPtr out, Buffer::allocate(device, y.size()));
  OST_TRY(in->write(0, x));
  const BufferRef a{in, 0, x.size()}, b{out, 0, y.size()};
  OST_TRY(instance->run({&a, 1}, {&b, 1}, {&n, 1}));
  OST_TRY(out->read(0, y));
  return y;
}

class Isolate : public testing::Test {
 protected:
  ScopedEnv isolate_{"OSTINATO_ISOLATE", "faulty,aborts,exits,hangs,compile_hangs"};
  ScopedEnv limit_{"OSTINATO_ISOLATE_TIMEOUT", "1"};
};

TEST_F(Isolate, ADriverRunsInAnotherProcessWithTheSameBits) {
  const auto registry = load({from_env("OST_FAULTY_PLUGIN")});
  const auto device = open(*registry, "faulty:0");
  ASSERT_OK(device);
  const int process = isolated_process((*device)->driver().handle());
  EXPECT_GT(process, 0);
  EXPECT_NE(process, getpid());
  const auto got = run_program(*device);
  ASSERT_OK(got);
  EXPECT_EQ(*got, *run_program(*open(*registry, "ref:0")));
  EXPECT_TRUE((*device)->host_visible()) << "its buffers are shared memory";
}

TEST_F(Isolate, APluginThatEndsTheProcessIsALineOfTheReport) {
  const auto registry =
      load({bad_plugin("aborts"), bad_plugin("exits"), bad_plugin("hangs"), bad_plugin("good")});
  const char* reasons[] = {"was killed by SIGABRT", "ended with exit code 3 (rule 5)",
                           "gave no answer in 1000 ms"};
  for (size_t i = 0; i < 3; ++i) {
    const LoadRecord& r = registry->report()[i];
    EXPECT_EQ(name_of(r.status), "failed") << r.path;
    EXPECT_EQ(name_of(r.stage), "negotiate") << r.path;
    EXPECT_EQ(r.rule, 5u) << r.path;
    EXPECT_NE(r.reason.find(reasons[i]), std::string::npos) << r.reason;
  }
  EXPECT_EQ(name_of(registry->report()[3].status), "loaded");
  expect_ref_works(*registry);
}

TEST_F(Isolate, AStructThatIsLongerThanAskedForIsRefusedAsEverywhere) {
  const ScopedEnv isolate("OSTINATO_ISOLATE", "negotiate_tail,info_tail,heap_tail");
  const auto registry =
      load({bad_plugin("negotiate_tail"), bad_plugin("info_tail"), bad_plugin("heap_tail")});
  const char* stages[] = {"negotiate", "devices"};
  const char* entries[] = {"ost_plugin_negotiate wrote beyond", "device_info wrote beyond"};
  for (size_t i = 0; i < 2; ++i) {
    const LoadRecord& r = registry->report()[i];
    EXPECT_EQ(name_of(r.stage), stages[i]) << r.reason;
    EXPECT_EQ(r.rule, 2u) << r.reason;
    EXPECT_NE(r.reason.find(entries[i]), std::string::npos) << r.reason;
  }
  const auto device = open(*registry, "heap_tail:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().rule, 2u);
  EXPECT_ERROR(device, "heap_info wrote beyond the 16 bytes");
}

TEST_F(Isolate, ACrashIsALostDeviceThatNamesTheSignalAndTheRestGoesOn) {
  const auto registry = load({from_env("OST_FAULTY_PLUGIN")}, "crashes");
  const auto device = open(*registry, "faulty:0");
  ASSERT_OK(device);
  const auto before = Buffer::allocate(*device, 16);
  ASSERT_OK(before);
  const auto lost = Buffer::allocate(*device, 4097);  // where it crashes
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().status, OST_DEVICE_LOST + 0u);
  EXPECT_EQ(lost.error().flags, OST_ERROR_FLAG_DEVICE_LOST + 0u);
  EXPECT_ERROR(lost, "the driver's process was killed by SIGSEGV");
  EXPECT_ERROR((*device)->status(), "SIGSEGV");
  EXPECT_ERROR((*before)->write(0, std::vector<uint8_t>(16)), "SIGSEGV");
  expect_ref_works(*registry);
  const auto again = open(*registry, "faulty:0");  // in a new process
  ASSERT_OK(again);
  EXPECT_NE(*again, *device);
  ASSERT_OK(run_program(*again));
}

TEST_F(Isolate, AHangIsALostDeviceAfterTheTimeLimit) {
  const auto registry = load({from_env("OST_FAULTY_PLUGIN")}, "hangs");
  const auto device = open(*registry, "faulty:0");
  ASSERT_OK(device);
  const auto lost = Buffer::allocate(*device, 4097);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().status, OST_DEVICE_LOST + 0u);
  EXPECT_ERROR(lost, "hangs: no answer in 1000 ms");
  expect_ref_works(*registry);
  ASSERT_OK(run_program(*open(*registry, "faulty:0")));
}

TEST_F(Isolate, ACompilerThatHangsIsAnErrorOfThatKernel) {
  const auto registry = load({bad_plugin("compile_hangs")});
  const auto driver = registry->driver("compile_hangs");
  ASSERT_OK(driver);
  CompileRequest request;
  request.entry = "k";
  EXPECT_ERROR((*driver)->compile(request, nullptr), "hangs: no answer in 1000 ms");
  ASSERT_OK((*driver)->compiler_key("none"));  // from a new process
}

TEST_F(Isolate, WhoWaitsIsWokenWhenTheProcessIsKilled) {
  const auto registry = load({from_env("OST_FAULTY_PLUGIN")});
  const auto device = open(*registry, "faulty:0");
  ASSERT_OK(device);
  const auto timeline = Timeline::create(*device);
  ASSERT_OK(timeline);
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(isolated_process((*device)->driver().handle()), SIGKILL);
  });
  const auto end = (*timeline)->wait(1);  // for ever
  ASSERT_FALSE(end);
  EXPECT_ERROR(end, "was killed by SIGKILL");
}

}  // namespace
}  // namespace ost::runtime
