#include "core/runtime/compile_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "core/base/sha256.hpp"
#include "core/runtime/log.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

const std::string kKey = sha256_hex(std::string_view("a kernel"));

std::vector<uint8_t> image_of(size_t bytes, uint8_t seed) {
  std::vector<uint8_t> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(i * 31 + seed);
  return out;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(folder)) {
    if (e.is_regular_file()) out.push_back(e.path().string());
  }
  std::ranges::sort(out);
  return out;
}

TEST(CompileKey, EveryFieldCounts) {
  const std::vector<uint8_t> code = {1, 2, 3}, other = {1, 2, 4};
  const CompileKey base{code, 0, 1, "x86", "llvm-22", "", "k", 1};
  std::set<std::string> keys = {base.hex()};
  const auto differs = [&](auto change) {
    CompileKey k = base;
    change(k);
    EXPECT_TRUE(keys.insert(k.hex()).second) << "a changed field gave a known key";
  };
  differs([&](CompileKey& k) { k.code = other; });
  differs([](CompileKey& k) { k.numerics = 1; });
  differs([](CompileKey& k) { k.form = 2; });
  differs([](CompileKey& k) { k.target = "x87"; });
  differs([](CompileKey& k) { k.compiler_key = "llvm-23"; });
  differs([](CompileKey& k) { k.options = "a=b"; });
  differs([](CompileKey& k) { k.entry = "l"; });
  differs([](CompileKey& k) { k.abi_major = 2; });
  // Fields cannot run into each other.
  differs([](CompileKey& k) { k.target = "x86llvm-22", k.compiler_key = ""; });
  differs([](CompileKey& k) { k.target = "", k.compiler_key = "x86llvm-22"; });
  EXPECT_EQ(base.hex(), (CompileKey{code, 0, 1, "x86", "llvm-22", "", "k", 1}.hex()));
}

TEST(CompileCache, FindsWhatAnotherObjectStored) {
  const TempFolder folder;
  const auto image = image_of(1000, 1);
  CompileCache writer(folder / "cache");
  EXPECT_FALSE(writer.find(kKey));
  const CachedImage stored = writer.store(kKey, image);
  EXPECT_EQ(stored.bytes, image);
  ASSERT_FALSE(stored.path.empty());
  EXPECT_EQ(test::read_file(stored.path), std::string(image.begin(), image.end()))
      << "the file must hold exactly the image";

  CompileCache reader(folder / "cache");
  const auto found = reader.find(kKey);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, image);
  EXPECT_EQ(found->path, stored.path);
  EXPECT_EQ(reader.stats().hits, 1u);
  EXPECT_EQ(writer.stats().misses, 1u);
  EXPECT_EQ(writer.stats().stores, 1u);
}

TEST(CompileCache, AnyChangedByteIsAMissAndIsReplaced) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  const auto image = image_of(48, 2);
  const std::string path = cache.store(kKey, image).path;
  for (size_t i = 0; i < image.size(); ++i) {
    std::string damaged(image.begin(), image.end());
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    test::write_file(path, damaged);
    EXPECT_FALSE(cache.find(kKey)) << "byte " << i;
    EXPECT_FALSE(fs::exists(path)) << "a damaged file must go";
    EXPECT_EQ(cache.store(kKey, image).path, path);
    EXPECT_TRUE(cache.find(kKey)) << "byte " << i;
  }
  EXPECT_EQ(cache.stats().damaged, image.size());
}

TEST(CompileCache, AnyOtherLengthIsAMiss) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  const auto image = image_of(300, 3);
  const std::string content(image.begin(), image.end());
  const std::string path = cache.store(kKey, image).path;
  for (size_t length = 0; length < image.size(); length += 7) {
    test::write_file(path, content.substr(0, length));
    EXPECT_FALSE(cache.find(kKey)) << length << " bytes";
  }
  test::write_file(path, content + "x");
  EXPECT_FALSE(cache.find(kKey));
  test::write_file(path, content);
  EXPECT_TRUE(cache.find(kKey));
}

TEST(CompileCache, AnImageUnderTheNameOfAnotherKeyIsAMiss) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  const std::string path = cache.store(kKey, image_of(64, 4)).path;
  std::string other = kKey;
  other[10] = other[10] == '0' ? '1' : '0';  // the same subfolder
  const fs::path renamed =
      fs::path(path).parent_path() / (other + fs::path(path).filename().string().substr(64));
  fs::rename(path, renamed);
  EXPECT_FALSE(cache.find(other));
  EXPECT_FALSE(fs::exists(renamed));
}

TEST(CompileCache, IgnoresWhatIsNotAFileOfItsOwn) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  const auto image = image_of(64, 5);
  const std::string path = cache.store(kKey, image).path;
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(cache.find(kKey));
  fs::remove(path);
  test::write_file(folder / "elsewhere", std::string(image.begin(), image.end()));
  fs::create_symlink(folder / "elsewhere", path);
  EXPECT_FALSE(cache.find(kKey)) << "a link could lead anywhere";
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find(kKey)) << "and a pipe must not block";
}

TEST(CompileCache, ClearAndPruneKeepFilesOfOthers) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  std::vector<std::string> paths;
  for (uint8_t i = 0; i < 4; ++i) {
    paths.push_back(
        cache.store(sha256_hex(std::string(1, static_cast<char>('a' + i))), image_of(100, i)).path);
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};  // used one after the other
    ASSERT_EQ(::utimensat(AT_FDCWD, paths.back().c_str(), times, 0), 0);
  }
  const std::string foreign = fs::path(paths[0]).parent_path() / "notes.txt";
  test::write_file(foreign, "mine");
  EXPECT_EQ(cache.list()->size(), 4u);
  const auto removed = cache.prune(250);
  ASSERT_OK(removed);
  EXPECT_EQ(removed->size(), 2u);
  EXPECT_FALSE(fs::exists(paths[0])) << "least recently used goes first";
  EXPECT_FALSE(fs::exists(paths[1]));
  EXPECT_TRUE(fs::exists(paths[3]));
  EXPECT_EQ(cache.clear()->size(), 2u);
  EXPECT_TRUE(cache.list()->empty());
  EXPECT_TRUE(fs::exists(foreign));
}

TEST(CompileCache, PruneRemovesWhatDeadWritersLeft) {
  const TempFolder folder;
  CompileCache cache(folder.path());
  const fs::path shard = fs::path(cache.store(kKey, image_of(10, 0)).path).parent_path();
  const std::string old_file = shard / ".tmp-1-1-1.0", new_file = shard / ".tmp-2-1-1.0";
  test::write_file(old_file, "half");
  test::write_file(new_file, "half");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, old_file.c_str(), long_ago, 0), 0);
  ASSERT_OK(cache.prune(UINT64_MAX));
  EXPECT_FALSE(fs::exists(old_file));
  EXPECT_TRUE(fs::exists(new_file)) << "its writer may be at work";
  EXPECT_EQ(cache.list()->size(), 1u);
}

TEST(CompileCache, AFolderThatCannotBeWrittenIsNoCacheAndOneWarning) {
  const TempFolder folder;
  test::write_file(folder / "file", "");  // a file where a folder has to be: fails for root too
  CompileCache cache(folder / "file/cache");
  std::vector<std::string> warnings;
  set_log_hook([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  const auto image = image_of(10, 0);
  for (int i = 0; i < 3; ++i) {
    const CachedImage stored = cache.store(kKey, image);
    EXPECT_EQ(stored.bytes, image);
    EXPECT_TRUE(stored.path.empty());
    EXPECT_FALSE(cache.find(kKey));
  }
  set_log_hook({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("compile cache: cannot make"), std::string::npos) << warnings[0];
  EXPECT_EQ(cache.stats().failed_stores, 3u);
}

// For root no folder is read-only, so the child becomes somebody else. Exit codes say what went
// wrong.
int use_read_only_cache(const std::string& folder) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 &&
      (::chown(folder.c_str(), kNobody, kNobody) != 0 || ::setuid(kNobody) != 0))
    return 2;
  CompileCache cache(folder);
  const fs::path shard = fs::path(cache.store(kKey, image_of(10, 0)).path).parent_path();
  if (shard.empty()) return 3;
  fs::permissions(shard, fs::perms::owner_read | fs::perms::owner_exec);
  std::string other = kKey;
  other.back() = other.back() == '0' ? '1' : '0';
  const bool found = cache.find(kKey).has_value();
  const bool stored = !cache.store(other, image_of(10, 1)).path.empty();
  fs::permissions(shard, fs::perms::owner_all);
  return !found ? 4 : stored ? 5 : 0;
}

TEST(CompileCache, AReadOnlyFolderServesWhatItHas) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(use_read_only_cache(folder.path()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CompileCache, NoFolderIsNoCache) {
  CompileCache cache("");
  EXPECT_EQ(cache.store(kKey, image_of(3, 0)).bytes.size(), 3u);
  EXPECT_FALSE(cache.find(kKey));
  EXPECT_TRUE(cache.list()->empty());
}

TEST(CompileCache, DefaultFolderFollowsTheEnvironment) {
  const test::ScopedEnv home("HOME", "/somebody");
  {
    const test::ScopedEnv named("OSTINATO_CACHE_DIR", "/elsewhere/c");
    EXPECT_EQ(CompileCache::default_folder(), "/elsewhere/c");
  }
  const test::ScopedEnv unset("OSTINATO_CACHE_DIR", "");
  {
    const test::ScopedEnv xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(CompileCache::default_folder(), "/xdg/ostinato");
  }
  const test::ScopedEnv relative("XDG_CACHE_HOME", "here");
  EXPECT_EQ(CompileCache::default_folder(), "/somebody/.cache/ostinato");
  const test::ScopedEnv off("OSTINATO_CACHE_DIR", "off");
  EXPECT_EQ(CompileCache::default_folder(), "");
}

// Everything that a reader sees is a whole image of the right key, whatever writers do at the same
// time.
bool hammer(const std::string& folder, unsigned seed, int rounds) {
  CompileCache cache(folder);
  for (int i = 0; i < rounds; ++i) {
    const auto which = static_cast<uint8_t>((seed + static_cast<unsigned>(i) * 7) % 5);
    const std::string key = sha256_hex(std::string(1, static_cast<char>(which)));
    if (const auto found = cache.find(key)) {
      if (found->bytes != image_of(4096u + which, which)) return false;
      if (i % 11 == 0) ::unlink(found->path.c_str());
    } else if (cache.store(key, image_of(4096u + which, which)).path.empty()) {
      return false;
    }
  }
  return cache.stats().damaged == 0;
}

TEST(CompileCache, ThreadsRaceWithoutHarm) {
  const TempFolder folder;
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i)
      threads.emplace_back([&, i] { good += hammer(folder.path(), i, 60); });
  }
  EXPECT_EQ(good, 4);
}

TEST(CompileCache, ProcessesRaceWithoutHarm) {
  const TempFolder folder;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(hammer(folder.path(), i, 60) ? 0 : 1);
    ASSERT_GT(child, 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const std::string& file : files_in(folder.path()))
    EXPECT_TRUE(file.ends_with(".img")) << file << " was left behind";
}

}  // namespace
}  // namespace ost::runtime
