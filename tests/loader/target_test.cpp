// Devices that only compile: their ids, what running on them says, and what can be linked for.
#include "core/runtime/target.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/runtime/recipe.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

std::shared_ptr<DeviceRegistry> load(const DriverOptions& options = {},
                                     const std::vector<std::string>& names = {"cross"}) {
  const char* folder = std::getenv("OST_TEST_PLUGINS");
  EXPECT_NE(folder, nullptr) << "run this test through ctest";
  RegistryOptions o;
  for (const std::string& name : names)
    o.loader.files.push_back(std::string(folder == nullptr ? "." : folder) + "/" + name + ".so");
  o.loader.search = false;
  o.loader.environment = false;
  o.driver_options = options;
  o.cache = std::make_shared<CompileCache>("");
  return DeviceRegistry::create(o);
}

std::vector<std::string> ids(const DeviceRegistry& registry) {
  std::vector<std::string> out;
  for (const DeviceEntry& e : registry.devices()) out.push_back(e.id);
  return out;
}

using Ids = std::vector<std::string>;

TEST(CompileOnly, HasItsTargetAsItsId) {
  const auto registry = load({{"cards", "2"}});
  EXPECT_EQ(ids(*registry), (Ids{"cross:0", "cross:1", "cross:alpha", "cross:beta", "ref:0"}));
  for (const DeviceEntry& e : registry->devices().subspan(2, 2)) {
    EXPECT_TRUE(e.compile_only && !e.available);
    EXPECT_EQ(e.reason, "no such card is here");
  }
  EXPECT_EQ(registry->report()[0].reason, "version 1.0, ABI 1.0, devices: 2, compiles for: 2");
}

TEST(CompileOnly, ATargetThatIsListedTwiceHasANumber) {
  EXPECT_EQ(ids(*load({{"twice", "1"}})),
            (Ids{"cross:alpha", "cross:beta", "cross:2", "cross:3", "ref:0"}));
}

TEST(CompileOnly, DoesNotRunAndSaysWhy) {
  const auto registry = load();
  EXPECT_ERROR(registry->get("cross:alpha"),
               "cross:alpha can only compile, it cannot run: no such card is here");
  const auto device = registry->get("cross:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().status, OST_UNAVAILABLE);
  EXPECT_ERROR(device, "cross has none that runs: no card in any slot");
  EXPECT_ERROR(registry->get("cross"), "no card in any slot");
  EXPECT_ERROR(registry->get("alphb"), "did you mean cross:alpha?");
}

TEST(CompileOnly, IsReportedWithTheReasonForNoDevice) {
  const LoadRecord record = load()->report()[0];
  EXPECT_EQ(name_of(record.status), "loaded");
  EXPECT_EQ(record.reason,
            "version 1.0, ABI 1.0, devices: 0, compiles for: 2; no card in any slot");
}

TEST(CompileOnly, IsNothingForAuto) {
  const auto registry = load();
  const auto device = registry->get("auto");
  ASSERT_OK(device);
  EXPECT_EQ((*device)->id(), "ref:0");
  EXPECT_TRUE(registry->choices()[0].passed.empty());
}

std::string target_of(const Result<Target>& target) {
  return target ? target->driver->name() + " " + target->info.target : target.error().message;
}

TEST(FindTarget, TakesDevicesKeysAndBareKeys) {
  const auto registry = load({{"cards", "1"}});
  for (const auto& [text, wanted] :
       std::vector<std::pair<std::string, std::string>>{{"cross:0", "cross alpha:1"},
                                                        {"cross", "cross alpha:1"},
                                                        {"cross:beta", "cross beta"},
                                                        {"beta", "cross beta"},
                                                        {"alpha", "cross alpha"},
                                                        {"alpha:1", "cross alpha:1"},
                                                        {"alpha:7:x", "cross alpha:7:x"},
                                                        {"cross:gamma", "cross gamma"},
                                                        {"ref", "ref kir"}}) {
    const auto target = find_target(*registry, text);
    const std::string prefix = wanted.substr(0, wanted.find(' ') + 1);
    if (text == "ref")
      EXPECT_TRUE(target_of(target).starts_with(prefix)) << target_of(target);
    else
      EXPECT_EQ(target_of(target), wanted) << text;
  }
}

TEST(FindTarget, TakesWhatTheRefinedDeviceSays) {
  const auto registry = load({{"cards", "1"}});
  for (const auto& [text, group] : std::vector<std::pair<std::string, uint32_t>>{
           {"alpha", 64}, {"beta", 1}, {"cross:beta:1", 1}, {"beta:1", 1}, {"alpha:9", 64}}) {
    const auto target = find_target(*registry, text);
    ASSERT_OK(target);
    EXPECT_EQ(target->info.max_group, group) << text;
  }
}

TEST(FindTarget, SaysWhatThereIs) {
  const auto registry = load();
  EXPECT_ERROR(find_target(*registry, "gamma"), "targets here: cross:alpha, cross:beta, ref:0");
  EXPECT_ERROR(find_target(*registry, "alpho"), "did you mean cross:alpha?");
  EXPECT_ERROR(find_target(*registry, "alphabet"), "there is no device alphabet");
  EXPECT_ERROR(find_target(*registry, ""), "targets here");
  EXPECT_ERROR(find_target(*registry, "cross:"), "wanted DRIVER, DRIVER:INDEX or DRIVER:KEY");
  EXPECT_ERROR(find_target(*registry, "cross"),
               "driver cross found 0 devices: no card in any slot");
  EXPECT_ERROR(find_target(*registry, "cross:1"), "found 0 devices");
  EXPECT_ERROR(find_target(*registry, std::string(300, 'a')), "there is no device");
  EXPECT_ERROR(find_target(*registry, "alpha:" + std::string(300, 'a')), "wanted DRIVER");
}

TEST(FindTarget, DoesNotChooseBetweenDrivers) {
  const auto registry = load({}, {"cross", "rival"});
  EXPECT_ERROR(find_target(*registry, "beta"),
               "target 'beta' is one of several drivers; name one: cross:beta, rival:beta");
  EXPECT_EQ(target_of(find_target(*registry, "rival:beta")), "rival beta");
}

TEST(FindTarget, KernelsAreLoweredForTheTarget) {
  kir::Builder b;
  const kir::Value n = b.i64(5000);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  const kir::Value x = b.load(b.param(0, DType::f32, n, OST_KIR_READ), i);
  b.store(b.param(1, DType::f32, n, OST_KIR_WRITE), i, b.add(x, x));
  const auto kernel = b.build();
  ASSERT_OK(kernel);
  const auto registry = load();
  for (const auto& [text, lanes] :
       std::vector<std::pair<std::string, uint32_t>>{{"alpha", 64}, {"beta", 1}}) {
    const auto target = find_target(*registry, text);
    ASSERT_OK(target);
    const auto recipe = recipe_for(*kernel, *target->driver, target->info);
    ASSERT_OK(recipe);
    ASSERT_TRUE(recipe->launch);
    EXPECT_EQ(recipe->launch->lanes, lanes);
    Compiler compiler(std::make_shared<CompileCache>(""));
    const auto variant = compiler.make_variant({"k", *kernel, {}}, *target->driver, target->info);
    ASSERT_OK(variant);
    EXPECT_EQ(variant->target, text);
    EXPECT_TRUE(std::string(variant->image.begin(), variant->image.end()).starts_with(text));
  }
}

TEST(FindTarget, AnImageOfAnotherLoweringIsNotUsed) {
  kir::Builder b;
  const kir::Value n = b.i64(5000);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  const kir::Value x = b.load(b.param(0, DType::f32, n, OST_KIR_READ), i);
  b.store(b.param(1, DType::f32, n, OST_KIR_WRITE), i, b.add(x, x));
  KernelDesc kernel{"k", *b.build(), {}};
  const auto registry = load({{"cards", "1"}});
  OpenOptions options;
  options.self_test = false;
  const auto device = registry->get("cross:0", options);
  ASSERT_OK(device);
  const auto origin = [&](const ost_device_info_t& info) {
    Compiler maker(std::make_shared<CompileCache>("")), user(std::make_shared<CompileCache>(""));
    auto variant = maker.make_variant(kernel, (*device)->driver(), info);
    EXPECT_TRUE(variant.has_value());
    KernelDesc linked = kernel;
    linked.variants = {*variant};
    const auto got = user.get(linked, *device, true);
    return got ? got->origin : got.error().message;
  };
  EXPECT_EQ(origin((*device)->info()), "image");
  ost_device_info_t smaller = (*device)->info();  // of the same target, lowered for other lanes
  smaller.max_group = 1;
  EXPECT_EQ(origin(smaller), "compiled");
}

}  // namespace
}  // namespace ost::runtime
