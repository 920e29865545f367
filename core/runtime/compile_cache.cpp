#include "core/runtime/compile_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/sha256.hpp"
#include "core/runtime/cache_files.hpp"
#include "core/runtime/env.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;

// Each field with its length in front, so that no two keys give the same bytes.
void add(Sha256& hash, std::string_view field) {
  hash.update(fmt::format("{}:", field.size()));
  hash.update(field);
}

std::string digest_of(const std::string& key, std::span<const uint8_t> image) {
  Sha256 hash;
  hash.update(key);
  hash.update(image);
  return to_hex(hash.finish());
}

}  // namespace

std::string CompileKey::hex() const {
  Sha256 hash;
  add(hash, "ostinato-image-1");
  add(hash, {reinterpret_cast<const char*>(code.data()), code.size()});
  add(hash, fmt::format("{} {} {}", numerics, form, abi_major));
  add(hash, target);
  add(hash, compiler_key);
  add(hash, options);
  add(hash, entry);
  return to_hex(hash.finish());
}

CompileCache::CompileCache(std::string folder) : folder_(std::move(folder)) {}

std::string CompileCache::default_folder() {
  if (const auto named = env("OSTINATO_CACHE_DIR")) return *named == "off" ? "" : *named;
  // Relative values are to be ignored, says the XDG specification.
  const char* xdg = secure_getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/ostinato";
  const char* home = secure_getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/ostinato";
  return "";
}

std::shared_ptr<CompileCache> CompileCache::open_default() {
  return std::make_shared<CompileCache>(default_folder());
}

std::optional<CachedImage> CompileCache::find(const std::string& key) {
  if (folder_.empty()) {
    ++misses_;
    return std::nullopt;
  }
  for (const std::string& path : cache_files_of(folder_, key)) {
    auto image = read_cache_file(path);
    if (!image) continue;  // another process removed it, or it cannot be read
    if (path == cache_path(folder_, key, digest_of(key, *image))) {
      ++hits_;
      ::utimensat(AT_FDCWD, path.c_str(), nullptr,
                  0);  // last use, for prune; does not matter if it fails
      return CachedImage{std::move(*image), path};
    }
    ++damaged_;
    log(LogLevel::info, "compile cache: {} is damaged and will be made again", path);
    ::unlink(path.c_str());
  }
  ++misses_;
  return std::nullopt;
}

CachedImage CompileCache::store(const std::string& key, std::vector<uint8_t> image) {
  if (folder_.empty()) return {std::move(image), ""};
  const std::string path = cache_path(folder_, key, digest_of(key, image));
  if (const auto ok = write_cache_file(path, image); !ok) {
    ++failed_stores_;
    if (!warned_.exchange(true)) {
      log(LogLevel::warning, "compile cache: {}; kernels are compiled again in each process",
          ok.error().message);
    }
    return {std::move(image), ""};
  }
  ++stores_;
  return {std::move(image), path};
}

CacheStats CompileCache::stats() const {
  return {hits_, misses_, damaged_, stores_, failed_stores_};
}

Result<std::vector<CacheEntry>> CompileCache::list() const {
  if (folder_.empty()) return std::vector<CacheEntry>();
  OST_TRY_ASSIGN(std::vector<CacheFile> files, list_cache_files(folder_));
  std::vector<CacheEntry> out;
  for (CacheFile& f : files) {
    if (!f.temporary) out.push_back({f.key, std::move(f.path), f.bytes, f.used_ns});
  }
  std::ranges::sort(out, {}, &CacheEntry::path);
  return out;
}

Result<std::vector<CacheEntry>> CompileCache::prune(uint64_t max_bytes) {
  if (folder_.empty()) return std::vector<CacheEntry>();
  OST_TRY(remove_stale_temporaries(folder_));
  OST_TRY_ASSIGN(std::vector<CacheEntry> entries, list());
  std::ranges::sort(entries,
                    [](const CacheEntry& a, const CacheEntry& b) { return a.used_ns > b.used_ns; });
  std::vector<CacheEntry> removed;
  uint64_t kept = 0;
  for (CacheEntry& e : entries) {
    if (max_bytes > 0 && removed.empty() && e.bytes <= max_bytes - kept) {
      kept += e.bytes;
    } else if (::unlink(e.path.c_str()) == 0 || errno == ENOENT) {
      removed.push_back(std::move(e));
    } else {
      return fail(OST_IO_ERROR, "{} cannot be removed: {}", e.path, std::strerror(errno));
    }
  }
  return removed;
}

Result<std::vector<CacheEntry>> CompileCache::clear() { return prune(0); }

}  // namespace ost::runtime
