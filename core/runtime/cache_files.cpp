#include "core/runtime/cache_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".img";
constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kLayout = "v1";
constexpr uint64_t kMaxBytes = uint64_t{1}
                               << 30;  // an image is never that large: what is, is not ours

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The key, if this is the name of an entry.
std::optional<std::string> key_of(std::string_view name) {
  if (name.size() != 2 * kDigits + 1 + kSuffix.size() || !name.ends_with(kSuffix) ||
      name[kDigits] != '-')
    return std::nullopt;
  if (!is_hex(name.substr(0, kDigits)) || !is_hex(name.substr(kDigits + 1, kDigits)))
    return std::nullopt;
  return std::string(name.substr(0, kDigits));
}

fs::path shard_of(const std::string& folder, const std::string& key) {
  return fs::path(folder) / kLayout / key.substr(0, 2);
}

std::unexpected<Error> io_error(std::string_view what, const std::string& path, int code) {
  return fail(OST_IO_ERROR, "{} {}: {}", what, path, std::strerror(code));
}

bool write_all(int descriptor, std::span<const uint8_t> content) {
  while (!content.empty()) {
    const ssize_t n = ::write(descriptor, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    content = content.subspan(static_cast<size_t>(n));
  }
  return true;
}

// Unique among the writers of all processes that share the folder, also over a network.
std::string temporary_name() {
  static std::atomic<uint64_t> count{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}{}-{}-{}.{:09}", kTemporary, ::getpid(), ++count, now.tv_sec, now.tv_nsec);
}

std::optional<CacheFile> describe(const fs::directory_entry& entry) {
  CacheFile out;
  out.path = entry.path().string();
  const std::string name = entry.path().filename().string();
  const auto key = key_of(name);
  out.temporary = name.starts_with(kTemporary);
  if (!key && !out.temporary) return std::nullopt;
  struct stat info{};
  if (::lstat(out.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  out.key = key.value_or("");
  out.bytes = static_cast<uint64_t>(info.st_size);
  out.used_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
  return out;
}

}  // namespace

std::string cache_path(const std::string& folder, const std::string& key,
                       const std::string& digest) {
  return (shard_of(folder, key) / fmt::format("{}-{}{}", key, digest, kSuffix)).string();
}

std::vector<std::string> cache_files_of(const std::string& folder, const std::string& key) {
  std::vector<std::string> out;
  std::error_code ec;
  const fs::path shard = shard_of(folder, key);
  for (fs::directory_iterator it(shard, ec), end; !ec && it != end; it.increment(ec)) {
    if (key_of(it->path().filename().string()) == key) out.push_back(it->path().string());
  }
  std::ranges::sort(out);
  return out;
}

std::optional<std::vector<uint8_t>> read_cache_file(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  if (static_cast<uint64_t>(info.st_size) > kMaxBytes) return std::nullopt;
  std::vector<uint8_t> content(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::read(file.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  content.resize(done);  // the digest tells a short read
  return content;
}

Result<> write_cache_file(const std::string& path, std::span<const uint8_t> content) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) return fail(OST_IO_ERROR, "cannot make {}: {}", folder.string(), ec.message());
  const std::string temporary = (folder / temporary_name()).string();
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.is_open()) return io_error("cannot make", temporary, errno);
  const bool written = write_all(file.get(), content) && ::fsync(file.get()) == 0;
  const int code = errno;
  if (!file.close() || !written) {
    ::unlink(temporary.c_str());
    return io_error("cannot write", temporary, code);
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int rename_code = errno;
  ::unlink(temporary.c_str());
  return io_error("cannot rename to", path, rename_code);
}

Result<std::vector<CacheFile>> list_cache_files(const std::string& folder) {
  std::vector<CacheFile> out;
  std::error_code ec;
  const fs::path root = fs::path(folder) / kLayout;
  if (!fs::exists(root, ec)) return out;
  for (fs::recursive_directory_iterator it(root, ec), end; !ec && it != end; it.increment(ec)) {
    if (auto file = describe(*it)) out.push_back(std::move(*file));
  }
  if (ec)
    return fail(OST_IO_ERROR, "the compile cache {} cannot be listed: {}", folder, ec.message());
  return out;
}

Result<> remove_stale_temporaries(const std::string& folder) {
  constexpr int64_t kHour = int64_t{3600} * 1000000000;
  OST_TRY_ASSIGN(const std::vector<CacheFile> files, list_cache_files(folder));
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  for (const CacheFile& f : files) {
    if (f.temporary && f.used_ns < now_ns - kHour) ::unlink(f.path.c_str());
  }
  return {};
}

}  // namespace ost::runtime
