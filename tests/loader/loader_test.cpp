// Each bad plugin ends at the stage and rule that are meant for it, with its cause in the text, and
// the good one that is loaded after it works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/runtime/discovery_file.hpp"
#include "core/runtime/log.hpp"
#include "core/runtime/registry.hpp"
#include "core/runtime/target.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

std::string plugin_file(const std::string& kind) {
  const char* folder = std::getenv("OST_TEST_PLUGINS");
  EXPECT_NE(folder, nullptr)
      << "run this test through ctest, or set OST_TEST_PLUGINS to <build>/tests/bad-plugins";
  return std::string(folder == nullptr ? "." : folder) + "/" + kind + ".so";
}

std::shared_ptr<DeviceRegistry> load(std::vector<std::string> files) {
  RegistryOptions options;
  options.loader.files = std::move(files);
  options.loader.search = false;
  options.loader.environment = false;
  options.cache = std::make_shared<CompileCache>("");
  return DeviceRegistry::create(options);
}

void expect_works(DeviceRegistry& registry, const std::string& id) {
  OpenOptions options;
  options.self_test = false;
  const auto device = registry.get(id, options);
  ASSERT_OK(device);
  const auto ref = test::on_device(*device, {1, 2, 3});
  EXPECT_EQ(test::from_device(ref), (std::vector<uint8_t>{1, 2, 3}));
}

// Making a driver opens its vendor's libraries.
TEST(Loader, ANamedDeviceMakesNoOtherDriver) {
  const auto registry = load({plugin_file("driver_fails"), plugin_file("good")});
  std::vector<std::string> messages;
  set_log_hook([&](LogLevel, std::string_view text) { messages.emplace_back(text); });
  expect_works(*registry, "good:0");
  ASSERT_OK(registry->driver("good"));
  ASSERT_OK(find_target(*registry, "good:0"));
  for (const std::string& m : messages) EXPECT_EQ(m.find("driver_fails"), std::string::npos) << m;
  EXPECT_ERROR(registry->get("driver_fails:0"), "the vendor's runtime is too old");
  EXPECT_EQ(name_of(registry->report()[0].stage), name_of(LoadStage::driver));
  set_log_hook(nullptr);
  EXPECT_EQ(std::ranges::count_if(
                messages, [](const std::string& m) { return m.find("driver_fails") != m.npos; }),
            1);
}

struct Case {
  const char* kind;
  LoadStage stage;
  uint32_t rule;
  const char* reason;  // a part of it
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.kind; }

class BadPlugin : public testing::TestWithParam<Case> {};

TEST_P(BadPlugin, EndsAtItsStageAndTheNextOneWorks) {
  const Case& c = GetParam();
  const auto registry = load({plugin_file(c.kind), plugin_file("good")});
  ASSERT_EQ(registry->report().size(), 3u);
  const LoadRecord& r = registry->report()[0];
  EXPECT_EQ(r.path, plugin_file(c.kind));
  EXPECT_EQ(name_of(r.status), "failed") << r.reason;
  EXPECT_EQ(name_of(r.stage), name_of(c.stage)) << r.reason;
  EXPECT_EQ(r.rule, c.rule) << r.reason;
  EXPECT_NE(r.reason.find(c.reason), std::string::npos)
      << "found: " << r.reason << "\nwant:  " << c.reason;
  EXPECT_EQ(name_of(registry->report()[1].status), "loaded") << registry->report()[1].reason;
  expect_works(*registry, "good:0");
}

INSTANTIATE_TEST_SUITE_P(
    Loader, BadPlugin,
    testing::Values(
        Case{"no_such_file", LoadStage::discover, 13, "No such file or directory"},
        Case{"missing_dependency", LoadStage::open, 14,
             "libbad_plugin_gone.so: cannot open shared object file"},
        Case{"undefined_symbol", LoadStage::open, 14, "undefined symbol: ost_test_nobody_has_this"},
        Case{"no_entry", LoadStage::entry, 14, "does not export ost_plugin_negotiate"},
        Case{"abi_too_new", LoadStage::negotiate, 15,
             "the host accepts ABI 1.0 to 1.0, this plugin has 9.0 to 9.0"},
        Case{"abi_too_old", LoadStage::negotiate, 15, "this plugin has 0.1 to 0.1"},
        Case{"abi_lies", LoadStage::negotiate, 15, "the plugin chose ABI 7.0, this host has 1.0"},
        Case{"refuses_silently", LoadStage::negotiate, 15, "unavailable"},
        Case{"throws_standard", LoadStage::negotiate, 5,
             "threw an exception: not caught by its author"},
        Case{"throws_other", LoadStage::negotiate, 5, "threw an exception"},
        Case{"overrun", LoadStage::negotiate, 2, "wrote beyond"},
        Case{"negotiate_tail", LoadStage::negotiate, 2,
             "ost_plugin_negotiate wrote beyond the 392 bytes that it was given"},
        Case{"negotiate_reserved", LoadStage::negotiate, 2, "reserved is 1"},
        Case{"table_reserved", LoadStage::table, 2,
             "the driver table uses a field that this host does not know: reserved is 1"},
        Case{"info_tail", LoadStage::devices, 2, "device_info wrote beyond the 744 bytes"},
        Case{"info_reserved", LoadStage::devices, 2, "uses a reserved field of ost_device_info_t"},
        Case{"bad_name", LoadStage::negotiate, 16,
             "the driver name \"Not A Name\" is not [a-z][a-z0-9_]*"},
        Case{"endless_name", LoadStage::negotiate, 16, "of at most 31 characters"},
        Case{"sanitizer", LoadStage::negotiate, 17, "sanitizer and this host is not"},
        Case{"null_table", LoadStage::table, 3, "gave no driver table"},
        Case{"null_entry", LoadStage::table, 3, "lacks required entries: queue_submit, compile"},
        Case{"short_table", LoadStage::table, 2, "too short: found 64 bytes"},
        Case{"driver_fails", LoadStage::driver, 0,
             "the vendor's runtime is too old: found 1, wanted 2"},
        Case{"driver_throws", LoadStage::driver, 5,
             "driver_create threw an exception: not caught by its author"},
        Case{"driver_null", LoadStage::driver, 0, "driver_create gave no driver"},
        Case{"no_device", LoadStage::devices, 0, "no card in any slot"},
        Case{"too_many_devices", LoadStage::devices, 0, "1000000 devices"},
        Case{"bad_align", LoadStage::devices, 8, "min_align is 48, wanted a power of two"},
        Case{"endless_text", LoadStage::devices, 5, "a text has no end"}),
    [](const auto& test_case) { return std::string(test_case.param.kind); });

TEST(Loader, AFileThatIsNoLibraryFailsToOpen) {
  const test::TempFolder folder;
  test::write_file(folder / "text.so", "this is not a library\n");
  std::string foreign = test::read_file(plugin_file("good"));
  foreign[18] = 2;  // e_machine: SPARC
  foreign[19] = 0;
  test::write_file(folder / "foreign.so", foreign);
  test::write_file(folder / "cut.so", foreign.substr(0, 100));
  test::write_file(folder / "empty.so", "");
  std::vector<std::string> files;
  for (const char* name : {"text.so", "foreign.so", "cut.so", "empty.so"})
    files.push_back(folder / name);
  files.push_back(folder.path());  // a folder
  files.push_back(plugin_file("good"));
  const auto registry = load(files);
  for (size_t i = 0; i < 5; ++i) {
    const LoadRecord& r = registry->report()[i];
    EXPECT_EQ(name_of(r.status), "failed") << r.path;
    EXPECT_EQ(name_of(r.stage), "open") << r.path;
    EXPECT_EQ(r.rule, 14u) << r.path;
    EXPECT_NE(r.reason.find(files[i]), std::string::npos) << r.reason;
  }
  expect_works(*registry, "good:0");
}

TEST(Loader, TheFirstOfTwoEqualNamesWins) {
  const auto registry = load({plugin_file("good"), plugin_file("twin")});
  EXPECT_EQ(name_of(registry->report()[0].status), "loaded");
  const LoadRecord& second = registry->report()[1];
  EXPECT_EQ(name_of(second.status), "skipped");
  EXPECT_EQ(name_of(second.stage), "negotiate");
  EXPECT_EQ(second.rule, 16u);
  EXPECT_EQ(second.reason, "driver good was loaded from " + plugin_file("good"));
}

TEST(Loader, OneFileUnderTwoNamesIsLoadedOnce) {
  const test::TempFolder folder;
  std::filesystem::create_symlink(plugin_file("good"), folder / "other.so");
  const auto registry = load({plugin_file("good"), folder / "other.so"});
  const LoadRecord& second = registry->report()[1];
  EXPECT_EQ(name_of(second.status), "skipped");
  EXPECT_EQ(name_of(second.stage), "discover");
  EXPECT_EQ(second.rule, 16u);
  EXPECT_EQ(second.reason, "the library is the one of " + plugin_file("good"));
}

TEST(Loader, ATableOfALaterMinorVersionIsAccepted) {
  const auto registry = load({plugin_file("long_table")});
  EXPECT_EQ(name_of(registry->report()[0].status), "loaded") << registry->report()[0].reason;
  expect_works(*registry, "long_table:0");
}

TEST(Loader, ADeviceThatThrowsIsAnErrorOfThatDevice) {
  const auto registry = load({plugin_file("device_throws")});
  EXPECT_EQ(name_of(registry->report()[0].status), "loaded");
  const auto device = registry->get("device_throws:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().rule, 5u);
  EXPECT_ERROR(device, "device_throws:0: device_create threw an exception");
}

TEST(Loader, AHeapThatIsLongerThanAskedForIsAnErrorOfThatDevice) {
  const auto registry = load({plugin_file("heap_tail")});
  EXPECT_EQ(name_of(registry->report()[0].status), "loaded");
  const auto device = registry->get("heap_tail:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().rule, 2u);
  EXPECT_ERROR(device, "heap_tail:0: heap_info wrote beyond the 16 bytes that it was given");
}

TEST(Loader, AutoPassesOverWhatDoesNotComputeAndSaysSo) {
  const test::ScopedEnv unset("OSTINATO_DEVICE", "");
  const auto registry =
      load({plugin_file("good")});  // an accelerator, so better than ref, but without a compiler
  const auto device = registry->get("auto");
  ASSERT_OK(device);
  EXPECT_EQ((*device)->id(), "ref:0");
  ASSERT_EQ(registry->choices().size(), 1u);
  ASSERT_EQ(registry->choices()[0].passed.size(), 1u);
  EXPECT_NE(registry->choices()[0].passed[0].find("good:0: it is inexact (self-test"),
            std::string::npos)
      << registry->choices()[0].passed[0];
  const test::ScopedEnv require("OSTINATO_REQUIRE", "1");
  EXPECT_ERROR(registry->get("auto"),
               "OSTINATO_REQUIRE=1 and a better device does not open: good:0");
}

TEST(Loader, AFailedPluginIsTheReasonForItsMissingDevice) {
  const auto registry = load({plugin_file("driver_fails")});
  const auto device = registry->get("driver_fails:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().status, OST_UNAVAILABLE);
  EXPECT_ERROR(device, "the vendor's runtime is too old");
  EXPECT_ERROR(load({plugin_file("no_device")})->get("no_device:0"), "no card in any slot");
}

}  // namespace
}  // namespace ost::runtime
