// The part of the zip format that .npz files use: stored and deflated entries, zip64, no
// encryption, one disk.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/manifest/folder.hpp"

namespace ost::manifest {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t packed = 0;
  uint64_t bytes = 0;
  uint64_t header = 0;  // offset of the local header
};

// The central directory. Names are unique; sizes are plausible (deflate cannot grow data more than
// 1,032 times), so what read_zip_entry allocates is bounded by the size of the file.
Result<std::vector<ZipEntry>> read_zip_directory(const File& file);
Result<std::vector<uint8_t>> read_zip_entry(const File& file, const ZipEntry& entry);

// One stored entry for each name, in this order; the same input gives the same bytes.
struct ZipInput {
  std::string name;
  std::vector<std::span<const uint8_t>> pieces;
};
Result<> write_zip(const Folder& folder, std::string_view relative,
                   std::span<const ZipInput> inputs);

}  // namespace ost::manifest
