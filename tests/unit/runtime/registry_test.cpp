#include "core/runtime/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/runtime/env.hpp"
#include "core/runtime/log.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

using test::ref_only;

TEST(DeviceRegistry, RefIsAlwaysThere) {
  const auto registry = ref_only();
  ASSERT_EQ(registry->devices().size(), 1u);
  const DeviceEntry& e = registry->devices()[0];
  EXPECT_EQ(e.id, "ref:0");
  EXPECT_TRUE(e.available);
  EXPECT_EQ(e.reason, "");
  ASSERT_EQ(registry->report().size(), 1u);
  EXPECT_EQ(registry->report()[0].status, LoadStatus::loaded);
  EXPECT_EQ(registry->report()[0].stage, LoadStage::devices);
}

TEST(DeviceRegistry, ADeviceIsOpenedOncePerProcess) {
  const auto a = ref_only(), b = ref_only();
  const auto x = a->get("ref:0"), y = b->get("ref");
  ASSERT_OK(x);
  ASSERT_OK(y);
  EXPECT_EQ(x->get(), y->get());
  EXPECT_EQ(a->drivers()[0].get(), b->drivers()[0].get()) << "one driver per process";
}

TEST(DeviceRegistry, RefPassesTheSelfTestThatItDefines) {
  const auto device = ref_only()->get("ref:0");
  ASSERT_OK(device);
  EXPECT_TRUE((*device)->self_test().ran);
  EXPECT_TRUE((*device)->self_test().exact) << (*device)->self_test().reason;
}

TEST(DeviceRegistry, UnknownDevicesAreErrorsThatHelp) {
  const auto registry = ref_only();
  const auto error = registry->get("reff:0");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().status, OST_UNAVAILABLE);
  EXPECT_ERROR(error, "there is no device reff:0; did you mean ref:0?");
  EXPECT_ERROR(registry->get("ref:7"), "did you mean ref:0?");
  EXPECT_ERROR(registry->get("warpdrive:0"),
               "there is no device warpdrive:0 (drivers and their number of devices: ref 1;");
  EXPECT_ERROR(registry->driver("hip"), "there is no device hip");
  EXPECT_ERROR(registry->get(":"), "there is no device");
}

TEST(DeviceRegistry, AMissingPluginIsTheReason) {
  RegistryOptions options;
  options.loader.search = false;
  options.loader.files = {"/nowhere/cpu.ostplugin.json"};
  options.cache = std::make_shared<CompileCache>("");
  const auto registry = DeviceRegistry::create(options);
  ASSERT_EQ(registry->report().size(), 2u);
  EXPECT_EQ(to_string(registry->report()[0]),
            "/nowhere/cpu.ostplugin.json: failed at discover (rule 13): "
            "/nowhere/cpu.ostplugin.json: No such file or directory");
  EXPECT_ERROR(registry->get("cpu:0"), "there is no device cpu:0");
}

TEST(DeviceRegistry, AutoRecordsWhatItChose) {
  const test::ScopedEnv unset("OSTINATO_DEVICE", "");
  const auto registry = ref_only();
  const auto device = registry->get("auto");
  ASSERT_OK(device);
  EXPECT_EQ((*device)->id(), "ref:0");
  ASSERT_EQ(registry->choices().size(), 1u);
  EXPECT_EQ(registry->choices()[0].chosen, "ref:0");
  EXPECT_TRUE(registry->choices()[0].passed.empty());
  ASSERT_OK(registry->get("ref:0"));
  EXPECT_EQ(registry->choices().size(), 1u) << "a named device is no choice";
}

TEST(DeviceRegistry, TheEnvironmentNamesWhatAutoMustTake) {
  const test::ScopedEnv named("OSTINATO_DEVICE", "hip:0");
  EXPECT_ERROR(ref_only()->get("auto"), "OSTINATO_DEVICE: there is no device hip:0");
}

TEST(DeviceRegistry, SelfTestKernelsComeFromTheCache) {
  const test::TempFolder folder;
  const auto cache = std::make_shared<CompileCache>(folder.path());
  for (int round = 0; round < 2; ++round) {
    RegistryOptions options;
    options.loader.search = false;
    options.cache = cache;
    ASSERT_OK(DeviceRegistry::create(options)->get("ref:0"));  // the driver goes with the registry
    EXPECT_EQ(cache->stats().stores, cache->list()->size());
    EXPECT_GT(cache->stats().stores, 0u);
    EXPECT_EQ(cache->stats().hits, round == 0 ? 0u : cache->stats().stores);
  }
}

TEST(Env, ListsEveryVariableWithValueAndOrigin) {
  const test::ScopedEnv set("OSTINATO_PLUGINS", "cpu");
  const test::ScopedEnv unset("OSTINATO_THREADS", "");
  const test::ScopedEnv wrong("OSTINATO_PLUGIN_PAHT", "x");
  bool found = false;
  for (const EnvValue& v : env_values()) {
    EXPECT_TRUE(std::string_view(v.variable.name).starts_with("OSTINATO_"));
    EXPECT_NE(v.variable.meaning[0], '\0');
    if (std::string_view(v.variable.name) == "OSTINATO_PLUGINS") {
      found = true;
      EXPECT_EQ(v.value, "cpu");
      EXPECT_EQ(v.origin, "environment");
    }
    if (std::string_view(v.variable.name) == "OSTINATO_THREADS") {
      EXPECT_EQ(v.origin, "default");
    }
  }
  EXPECT_TRUE(found);
  const auto unknown = unknown_env_names();
  EXPECT_NE(std::ranges::find(unknown, "OSTINATO_PLUGIN_PAHT"), unknown.end());
  EXPECT_EQ(std::ranges::find(unknown, "OSTINATO_PLUGINS"), unknown.end());
}

TEST(Log, NothingIsSaidWithoutAHookAndAHookThatThrowsDoesNoHarm) {
  set_log_hook({});
  EXPECT_FALSE(log_enabled(LogLevel::error));
  int calls = 0;
  set_log_hook(
      [&](LogLevel, std::string_view) {
        ++calls;
        throw 1;
      },
      LogLevel::warning);
  log(LogLevel::warning, "number {}", 1);
  log(LogLevel::info, "number {}", 2);
  set_log_hook({});
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace ost::runtime
