#include <zlib.h>

#include "core/manifest/zip.hpp"

namespace ost::manifest {
namespace {

class Record {
 public:
  template <typename T>
  Record& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
    return *this;
  }
  Record& text(const std::string& s) {
    bytes.insert(bytes.end(), s.begin(), s.end());
    return *this;
  }
  std::vector<uint8_t> bytes;
};

constexpr uint16_t kVersion = 45;       // zip64
constexpr uint16_t kDate = 1 << 5 | 1;  // 1980-01-01, the format's zero
constexpr uint32_t kIn64 = 0xffffffff;

struct Written {
  uint64_t header, size;
  uint32_t crc;
};

// Sizes are always in a zip64 extra field: one form for all sizes.
Record local_header(const std::string& name, const Written& w) {
  Record r;
  r.put<uint32_t>(0x04034b50)
      .put(kVersion)
      .put<uint16_t>(0)
      .put<uint16_t>(0)
      .put<uint16_t>(0)
      .put(kDate);
  r.put(w.crc)
      .put(kIn64)
      .put(kIn64)
      .put(static_cast<uint16_t>(name.size()))
      .put<uint16_t>(20)
      .text(name);
  r.put<uint16_t>(1).put<uint16_t>(16).put(w.size).put(w.size);
  return r;
}

void central_header(Record& r, const std::string& name, const Written& w) {
  r.put<uint32_t>(0x02014b50)
      .put(kVersion)
      .put(kVersion)
      .put<uint16_t>(0)
      .put<uint16_t>(0)
      .put<uint16_t>(0)
      .put(kDate);
  r.put(w.crc)
      .put(kIn64)
      .put(kIn64)
      .put(static_cast<uint16_t>(name.size()))
      .put<uint16_t>(28)
      .put<uint16_t>(0);
  r.put<uint16_t>(0).put<uint16_t>(0).put<uint32_t>(0).put(kIn64).text(name);
  r.put<uint16_t>(1).put<uint16_t>(24).put(w.size).put(w.size).put(w.header);
}

void directory_end(Record& r, uint64_t offset, uint64_t entries) {
  const uint64_t size = r.bytes.size();
  r.put<uint32_t>(0x06064b50)
      .put<uint64_t>(44)
      .put(kVersion)
      .put(kVersion)
      .put<uint32_t>(0)
      .put<uint32_t>(0);
  r.put(entries).put(entries).put(size).put(offset);
  r.put<uint32_t>(0x07064b50).put<uint32_t>(0).put(offset + size).put<uint32_t>(1);
  r.put<uint32_t>(0x06054b50)
      .put<uint16_t>(0)
      .put<uint16_t>(0)
      .put<uint16_t>(0xffff)
      .put<uint16_t>(0xffff);
  r.put(kIn64).put(kIn64).put<uint16_t>(0);
}

}  // namespace

Result<> write_zip(const Folder& folder, std::string_view relative,
                   std::span<const ZipInput> inputs) {
  std::vector<Record> headers;
  Record directory;
  uint64_t offset = 0;
  for (const ZipInput& input : inputs) {
    if (input.name.empty() || input.name.size() > 60000)
      return fail(OST_INVALID_ARGUMENT, "a zip entry's name has {} bytes", input.name.size());
    Written w{offset, 0, 0};
    for (const auto piece : input.pieces) {
      if (piece.empty()) continue;  // zlib would start anew at a null pointer
      w.crc = static_cast<uint32_t>(crc32_z(w.crc, piece.data(), piece.size()));
      w.size += piece.size();
    }
    headers.push_back(local_header(input.name, w));
    central_header(directory, input.name, w);
    offset += headers.back().bytes.size() + w.size;
  }
  directory_end(directory, offset, inputs.size());
  std::vector<std::span<const uint8_t>> pieces;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pieces.emplace_back(headers[i].bytes);
    pieces.insert(pieces.end(), inputs[i].pieces.begin(), inputs[i].pieces.end());
  }
  pieces.emplace_back(directory.bytes);
  return folder.write_file(relative, pieces);
}

}  // namespace ost::manifest
