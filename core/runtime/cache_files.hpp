// The files of the compile cache: names, atomic writing, reading, listing. For compile_cache.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace ost::runtime {

inline constexpr size_t kDigits = 64;  // of a sha256

struct CacheFile {
  std::string path;
  std::string key;  // "" for a temporary file
  uint64_t bytes = 0;
  int64_t used_ns = 0;
  bool temporary = false;  // what a writer that died has left
};

std::string cache_path(const std::string& folder, const std::string& key,
                       const std::string& digest);
// Existing files of this key, sorted: usually one; several if a compiler is not deterministic.
std::vector<std::string> cache_files_of(const std::string& folder, const std::string& key);
std::optional<std::vector<uint8_t>> read_cache_file(const std::string& path);
// Temporary file, fsync, rename. Makes the folders.
Result<> write_cache_file(const std::string& path, std::span<const uint8_t> content);
// Files with names that the cache did not give are not listed, and so never removed.
Result<std::vector<CacheFile>> list_cache_files(const std::string& folder);
Result<> remove_stale_temporaries(const std::string& folder);

}  // namespace ost::runtime
