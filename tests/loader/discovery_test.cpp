// Discovery files and the sources of a search.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/runtime/discovery_file.hpp"
#include "core/runtime/plugin_loader.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;
using test::ScopedEnv;
using test::TempFolder;
using test::write_file;

std::string good_library() {
  const char* folder = std::getenv("OST_TEST_PLUGINS");
  EXPECT_NE(folder, nullptr);
  return std::string(folder == nullptr ? "." : folder) + "/good.so";
}

// A discovery file with one member replaced (or added); `value` is JSON, "" leaves the member out.
std::string discovery(const std::string& member = "", const std::string& value = "") {
  std::vector<std::pair<std::string, std::string>> members = {
      {"format", "\"ostinato-plugin\""},
      {"format_version", "1"},
      {"library", "\"good.so\""},
      {"abi", "[\"1.0\", \"1.0\"]"},
      {"arch", fmt::format("\"{}\"", host_arch())}};
  bool known = false;
  for (auto& [name, text] : members) {
    if (name == member) text = value, known = true;
  }
  if (!known && !member.empty()) members.emplace_back(member, value);
  std::string out;
  for (const auto& [name, text] : members) {
    if (!text.empty()) out += fmt::format("{}\"{}\": {}", out.empty() ? "{" : ", ", name, text);
  }
  return out + "}";
}

class Discovery : public testing::Test {
 protected:
  Discovery() { fs::create_symlink(good_library(), folder / "good.so"); }

  LoadResult load_file(const std::string& name, const std::string& text,
                       const std::string& filter = "") {
    write_file(folder / name, text);
    LoaderOptions options;
    options.files = {folder / name};
    options.search = false;
    options.environment = false;
    options.filter = filter;
    return load_plugins(options);
  }

  void expect_rejected(const std::string& text, LoadStatus status, LoadStage stage, uint32_t rule,
                       const std::string& reason) {
    const LoadResult result = load_file("good.ostplugin.json", text);
    ASSERT_EQ(result.records.size(), 1u);
    const LoadRecord& r = result.records[0];
    EXPECT_TRUE(result.plugins.empty()) << text;
    EXPECT_EQ(name_of(r.status), name_of(status)) << text;
    EXPECT_EQ(name_of(r.stage), name_of(stage)) << text;
    EXPECT_EQ(r.rule, rule) << text;
    EXPECT_NE(r.reason.find(reason), std::string::npos)
        << text << "\nfound: " << r.reason << "\nwant:  " << reason;
  }

  TempFolder folder;
};

TEST_F(Discovery, AGoodFileLoadsItsLibrary) {
  const LoadResult result =
      load_file("good.ostplugin.json", discovery("comment", "\"other members are ignored\""));
  ASSERT_EQ(result.plugins.size(), 1u) << to_string(result.records[0]);
  EXPECT_EQ(result.plugins[0]->name, "good");
  EXPECT_EQ(result.plugins[0]->version, "1.2.3");
  EXPECT_EQ(result.plugins[0]->library, folder / "good.so");
  EXPECT_EQ(result.plugins[0]->path, folder / "good.ostplugin.json");
}

TEST_F(Discovery, EachMistakeIsNamed) {
  const auto manifest = [&](const std::string& text, const std::string& reason) {
    expect_rejected(text, LoadStatus::failed, LoadStage::manifest, 13, reason);
  };
  manifest("", "is not JSON");
  manifest("{\"format\": ", "is not JSON");
  manifest("[]", "is not a JSON object");
  manifest("{}", "member \"format\" is missing");
  manifest(discovery("format", "\"vulkan\""), "format is \"vulkan\", wanted \"ostinato-plugin\"");
  manifest(discovery("format", "7"), "member \"format\" is not a string");
  manifest(discovery("format_version", "2"), "format_version is 2, this host reads 1");
  manifest(discovery("format_version", ""), "member \"format_version\" is missing");
  manifest(discovery("library", ""), "member \"library\" is missing");
  manifest(discovery("library", "\"\""), "wanted a path relative to this file");
  manifest(discovery("library", "\"/etc/evil.so\""), "wanted a path relative to this file");
  manifest(discovery("library", "\"a\\u0000b\""), "wanted a path relative to this file");
  manifest(discovery("arch", ""), "member \"arch\" is missing");
  manifest(discovery("sanitizer", "\"magic\""), "sanitizer is \"magic\"");
  for (const char* abi : {"", "1", "[\"1.0\"]", "[1, 1]", "[\"1\", \"1.0\"]", "[\"1.0\", \"1.x\"]",
                          "[\"2.0\", \"1.0\"]", "[\"-1.0\", \"1.0\"]", "[\"1.0\", \"1.70000\"]"}) {
    manifest(discovery("abi", abi), "member \"abi\" is not a");
  }
  manifest(discovery() + std::string(70000, ' '), "bytes, wanted at most 65536");
}

TEST_F(Discovery, WhatCannotFitIsKnownWithoutRunningTheLibrary) {
  write_file(folder / "crash.so", "opening this would fail");
  const auto with = [&](const std::string& member, const std::string& value) {
    std::string text = discovery(member, value);
    text.replace(text.find("good.so"), 7, "crash.so");
    return text;
  };
  expect_rejected(with("abi", "[\"2.0\", \"3.1\"]"), LoadStatus::failed, LoadStage::manifest, 15,
                  "ABI 2.0 to 3.1, this host has 1.0: the host is too old");
  expect_rejected(with("abi", "[\"0.1\", \"0.9\"]"), LoadStatus::failed, LoadStage::manifest, 15,
                  "the plugin is too old");
  expect_rejected(with("arch", "\"sparc\""), LoadStatus::skipped, LoadStage::manifest, 13,
                  "the library is for sparc");
  const char* other = host_sanitizer() == OST_SANITIZER_THREAD ? "\"address\"" : "\"thread\"";
  expect_rejected(with("sanitizer", other), LoadStatus::failed, LoadStage::manifest, 17,
                  "sanitizer");
}

TEST_F(Discovery, TheLibraryMustExistAndAgreeOnTheName) {
  expect_rejected(discovery("library", "\"nowhere.so\""), LoadStatus::failed, LoadStage::discover,
                  13, "nowhere.so: No such file or directory");
  expect_rejected(discovery("name", "\"better\""), LoadStatus::failed, LoadStage::negotiate, 16,
                  "the discovery file says driver better, the library is driver good");
}

TEST_F(Discovery, WithRaisedPrivilegesOnlyFilesOfRootThatNobodyElseMayWriteAreLoaded) {
  fs::remove(folder / "good.so");
  fs::copy_file(good_library(), folder / "good.so");
  LoaderOptions options;
  options.files = {folder / "good.so"};
  options.search = false;
  options.environment = false;
  options.secure = true;
  fs::permissions(folder / "good.so", fs::perms::others_write, fs::perm_options::add);
  const LoadResult open_to_all = load_plugins(options);
  EXPECT_TRUE(open_to_all.plugins.empty());
  EXPECT_EQ(name_of(open_to_all.records[0].stage), "discover");
  EXPECT_EQ(open_to_all.records[0].rule, 13u);
  EXPECT_NE(open_to_all.records[0].reason.find("others than root may write it"), std::string::npos);
  if (getuid() != 0) GTEST_SKIP() << "the rest needs a file of root";
  fs::permissions(folder / "good.so", fs::perms(0755));
  EXPECT_EQ(load_plugins(options).plugins.size(), 1u);
}

TEST_F(Discovery, TheFilterDropsByName) {
  for (const char* filter : {"!good", "cpu", "*,!g*"}) {
    const LoadResult result = load_file("good.ostplugin.json", discovery(), filter);
    EXPECT_TRUE(result.plugins.empty());
    EXPECT_EQ(name_of(result.records[0].status), "skipped");
    EXPECT_EQ(name_of(result.records[0].stage), "filter");
    EXPECT_EQ(result.records[0].rule, 0u);
    EXPECT_NE(result.records[0].reason.find("driver good is dropped by the filter"),
              std::string::npos)
        << result.records[0].reason;
  }
  EXPECT_EQ(load_file("good.ostplugin.json", discovery(), "g*").plugins.size(), 1u);
}

TEST_F(Discovery, FoldersAreSearchedInOrderAndByName) {
  const TempFolder second;
  for (const char* name : {"b", "a"})
    write_file(folder / (std::string(name) + ".ostplugin.json"), "not json");
  write_file(folder / "ignored.json", "not json");
  write_file(folder / "ignored.so", "not a library");
  write_file(second / "c.ostplugin.json", "not json");
  const ScopedEnv path("OSTINATO_PLUGIN_PATH",
                       second.path() + "::" + folder.path() + ":/no/such/folder");
  const ScopedEnv files("OSTINATO_PLUGIN_FILES", "");
  LoaderOptions options;
  options.folders = {folder.path()};  // instead of those beside the library
  const LoadResult result = load_plugins(options);
  std::vector<std::string> paths;
  for (const LoadRecord& r : result.records) paths.push_back(r.path);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"/no/such/folder", second / "c.ostplugin.json",
                                      folder / "a.ostplugin.json", folder / "b.ostplugin.json",
                                      folder / "a.ostplugin.json", folder / "b.ostplugin.json"}));
  EXPECT_EQ(name_of(result.records[0].stage), "discover");
}

TEST_F(Discovery, NamedFilesReplaceTheSearch) {
  write_file(folder / "a.ostplugin.json", "not json");
  const ScopedEnv path("OSTINATO_PLUGIN_PATH", folder.path());
  const ScopedEnv files("OSTINATO_PLUGIN_FILES", good_library());
  const LoadResult result = load_plugins({});
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].path, good_library());
  EXPECT_EQ(result.plugins.size(), 1u);
  const ScopedEnv filter("OSTINATO_PLUGINS", "!good");
  EXPECT_EQ(name_of(load_plugins({}).records[0].stage), "filter");
}

TEST_F(Discovery, TheCurrentFolderIsNeverSearched) {
  fs::create_directory(folder / "ostinato-plugins");
  for (const char* place : {"", "ostinato-plugins/"})
    write_file(folder / (std::string(place) + "x.ostplugin.json"), "not json");
  const ScopedEnv path("OSTINATO_PLUGIN_PATH", ":");
  const ScopedEnv files("OSTINATO_PLUGIN_FILES", "");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const LoadResult result = load_plugins({});
  const std::vector<std::string> folders = plugin_folders({});
  fs::current_path(before);
  for (const LoadRecord& r : result.records)
    EXPECT_FALSE(r.path.starts_with(folder.path())) << r.path;
  for (const std::string& f : folders)
    EXPECT_TRUE(fs::path(f).is_absolute() && !f.starts_with(folder.path())) << f;
  EXPECT_EQ(folders.size(), 2u);
}

}  // namespace
}  // namespace ost::runtime
