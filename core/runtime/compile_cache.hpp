// Compiled kernels on disk, shared by all processes of a user.
//
// One entry is one file that holds exactly the image, so that a driver can map it:
//   <dir>/v1/<2 digits>/<key>-<digest>.img    key = sha256 of CompileKey, digest = sha256 of key
//   and image
// The digest is checked on every read: a file that was cut, changed or renamed is a miss and is
// replaced. Writers make a temporary file, fsync and rename it, so readers never see half a file
// and processes may race. A folder that cannot be written means no cache, with one warning; it is
// never an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ost::runtime {

// All that an image depends on. Two compilations with equal keys give equal images.
struct CompileKey {
  std::span<const uint8_t> code;  // canonical KIR binary, or source text
  uint32_t numerics = 0;          // OST_KIR_STRICT or OST_KIR_FAST
  uint32_t form = 0;              // OST_FORM_*
  std::string target;
  std::string compiler_key;
  std::string options;
  std::string entry;
  uint32_t abi_major = 0;

  std::string hex() const;  // 64 digits
};

struct CachedImage {
  std::vector<uint8_t> bytes;
  std::string path;  // of a file that holds exactly the image; "" if there is none
};

struct CacheStats {
  uint64_t hits = 0;
  uint64_t misses = 0;   // no file, or a damaged one
  uint64_t damaged = 0;  // files that failed the check and were removed
  uint64_t stores = 0;
  uint64_t failed_stores = 0;
};

struct CacheEntry {
  std::string key;
  std::string path;
  uint64_t bytes = 0;
  int64_t used_ns = 0;  // last use, since the epoch
};

class CompileCache {
 public:
  // "" is no cache at all. The folder is made at the first store.
  explicit CompileCache(std::string folder);
  // $OSTINATO_CACHE_DIR ("off": none), $XDG_CACHE_HOME/ostinato, ~/.cache/ostinato.
  static std::string default_folder();
  static std::shared_ptr<CompileCache> open_default();

  const std::string& folder() const { return folder_; }

  std::optional<CachedImage> find(const std::string& key);
  // Never fails: without a file the image is returned with an empty path.
  CachedImage store(const std::string& key, std::vector<uint8_t> image);
  CacheStats stats() const;

  // Maintenance. `list` is sorted by key; `prune` removes the entries that were used least recently
  // until at most `max_bytes` are left, and temporary files older than an hour; both return what
  // they removed.
  Result<std::vector<CacheEntry>> list() const;
  Result<std::vector<CacheEntry>> prune(uint64_t max_bytes);
  Result<std::vector<CacheEntry>> clear();

 private:
  std::string folder_;
  std::atomic<bool> warned_{false};
  std::atomic<uint64_t> hits_{0}, misses_{0}, damaged_{0}, stores_{0}, failed_stores_{0};
};

}  // namespace ost::runtime
