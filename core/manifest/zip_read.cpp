#include <zlib.h>

#include <algorithm>
#include <set>

#include "core/manifest/zip.hpp"

namespace ost::manifest {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kMaxDirectory = 64u << 20;
constexpr std::size_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30, kMaxComment = 65535;

// Little-endian fields of a record that is known to be long enough.
template <typename T>
T field(std::span<const uint8_t> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>(static_cast<uint64_t>(value) << 8 | bytes[at + i]);
  return value;
}

struct Directory {
  uint64_t entries = 0, size = 0, offset = 0;
};

Result<Directory> find_directory(const File& file) {
  const uint64_t tail_size = std::min<uint64_t>(file.size(), kEndSize + kMaxComment);
  std::vector<uint8_t> tail(tail_size);
  OST_TRY(file.read_at(file.size() - tail_size, tail));
  for (std::size_t at = tail.size() >= kEndSize ? tail.size() - kEndSize + 1 : 0; at-- > 0;) {
    if (field<uint32_t>(tail, at) != kEnd ||
        at + kEndSize + field<uint16_t>(tail, at + 20) != tail.size())
      continue;
    Directory d{field<uint16_t>(tail, at + 10), field<uint32_t>(tail, at + 12),
                field<uint32_t>(tail, at + 16)};
    if (d.entries != 0xffff && d.size != 0xffffffff && d.offset != 0xffffffff) return d;
    if (at < 20 || field<uint32_t>(tail, at - 20) != kLocator64)
      return fail(OST_DATA_LOSS,
                  "the zip's directory is marked as 64-bit, but its locator is missing");
    uint8_t end64[56];
    OST_TRY(file.read_at(field<uint64_t>(tail, at - 12), end64));
    if (field<uint32_t>(end64, 0) != kEnd64)
      return fail(OST_DATA_LOSS, "the zip's 64-bit directory end is damaged");
    return Directory{field<uint64_t>(end64, 32), field<uint64_t>(end64, 40),
                     field<uint64_t>(end64, 48)};
  }
  return fail(OST_DATA_LOSS,
              "no zip directory at the end of the file: not a .npz file, or a truncated one");
}

// Sizes of 0xffffffff are in the zip64 extra field, in this order.
Result<> read_extra(std::span<const uint8_t> extra, ZipEntry& e) {
  while (extra.size() >= 4) {
    const auto id = field<uint16_t>(extra, 0);
    const std::size_t size = field<uint16_t>(extra, 2);
    if (size > extra.size() - 4) break;
    if (id == 1) {
      std::span<const uint8_t> values = extra.subspan(4, size);
      for (uint64_t* v : {&e.bytes, &e.packed, &e.header}) {
        if (*v != 0xffffffff) continue;
        if (values.size() < 8)
          return fail(OST_DATA_LOSS, "zip entry '{}': its 64-bit sizes are incomplete", e.name);
        *v = field<uint64_t>(values, 0);
        values = values.subspan(8);
      }
      return {};
    }
    extra = extra.subspan(4 + size);
  }
  return {};
}

Result<> check_entry(const ZipEntry& e, uint16_t flags, uint64_t file_size) {
  if (flags & 0x41) return fail(OST_UNIMPLEMENTED, "zip entry '{}' is encrypted", e.name);
  if (e.method != 0 && e.method != 8)
    return fail(OST_UNIMPLEMENTED,
                "zip entry '{}' has compression method {}; stored (0) and deflated (8) are known",
                e.name, e.method);
  if (e.header > file_size || e.packed > file_size - e.header)
    return fail(OST_DATA_LOSS, "zip entry '{}' lies beyond the end of the file: it is truncated",
                e.name);
  if (e.method == 0 ? e.bytes != e.packed : e.bytes / 1032 > e.packed + 1)
    return fail(OST_DATA_LOSS, "zip entry '{}' claims {} bytes out of {}, which is impossible",
                e.name, e.bytes, e.packed);
  return {};
}

Result<> inflate_into(std::span<const uint8_t> packed, std::span<uint8_t> out,
                      const std::string& name) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail(OST_OUT_OF_MEMORY, "zip entry '{}': no memory to inflate it", name);
  constexpr std::size_t kChunk = 1u << 30;  // zlib counts in 32 bits
  std::size_t read = 0, written = 0;
  int code = Z_OK;
  uint8_t nothing = 0;  // an empty entry still needs somewhere to write to
  while (code == Z_OK) {
    const std::size_t in = std::min(kChunk, packed.size() - read),
                      room = std::min(kChunk, out.size() - written);
    stream.next_in = const_cast<Bytef*>(packed.data() + read);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = room ? out.data() + written : &nothing;
    stream.avail_out = static_cast<uInt>(room ? room : 1);
    const uInt before = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = before - stream.avail_out;
    read += in - stream.avail_in;
    if (!room && made)
      code = Z_DATA_ERROR;
    else
      written += made;
    if (code == Z_OK && in == stream.avail_in && made == 0) code = Z_DATA_ERROR;  // no progress
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || written != out.size() || read != packed.size())
    return fail(OST_DATA_LOSS, "zip entry '{}' is damaged: {} of {} bytes could be inflated", name,
                written, out.size());
  return {};
}

uint32_t crc_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const File& file) {
  OST_TRY_ASSIGN(const Directory directory, find_directory(file));
  if (directory.size > kMaxDirectory)
    return fail(OST_INVALID_ARGUMENT, "the zip's directory has {} bytes, at most {} are read",
                directory.size, kMaxDirectory);
  if (directory.offset > file.size() || directory.size > file.size() - directory.offset)
    return fail(OST_DATA_LOSS, "the zip's directory at byte {} lies beyond the end of the file",
                directory.offset);
  std::vector<uint8_t> bytes(directory.size);
  OST_TRY(file.read_at(directory.offset, bytes));
  std::span<const uint8_t> rest = bytes;
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kCentralSize || field<uint32_t>(rest, 0) != kCentral)
      return fail(OST_DATA_LOSS, "entry {} of the zip's directory is damaged", i);
    ZipEntry e;
    const std::size_t name = field<uint16_t>(rest, 28), extra = field<uint16_t>(rest, 30),
                      comment = field<uint16_t>(rest, 32);
    if (name + extra + comment > rest.size() - kCentralSize)
      return fail(OST_DATA_LOSS, "entry {} of the zip's directory is damaged", i);
    e.name.assign(reinterpret_cast<const char*>(rest.data()) + kCentralSize, name);
    e.method = field<uint16_t>(rest, 10);
    e.crc = field<uint32_t>(rest, 16);
    e.packed = field<uint32_t>(rest, 20);
    e.bytes = field<uint32_t>(rest, 24);
    e.header = field<uint32_t>(rest, 42);
    OST_TRY(read_extra(rest.subspan(kCentralSize + name, extra), e));
    OST_TRY(check_entry(e, field<uint16_t>(rest, 8), file.size()));
    if (!names.insert(e.name).second)
      return fail(OST_DATA_LOSS, "the zip has two entries '{}'", e.name);
    rest = rest.subspan(kCentralSize + name + extra + comment);
    entries.push_back(std::move(e));
  }
  return entries;
}

Result<std::vector<uint8_t>> read_zip_entry(const File& file, const ZipEntry& entry) {
  uint8_t local[kLocalSize];
  OST_TRY(file.read_at(entry.header, local));
  if (field<uint32_t>(local, 0) != kLocal)
    return fail(OST_DATA_LOSS, "zip entry '{}': its header at byte {} is damaged", entry.name,
                entry.header);
  const uint64_t start =
      entry.header + kLocalSize + field<uint16_t>(local, 26) + field<uint16_t>(local, 28);
  try {
    std::vector<uint8_t> packed(entry.packed);
    OST_TRY(file.read_at(start, packed));
    std::vector<uint8_t> out;
    if (entry.method == 0) {
      out = std::move(packed);
    } else {
      out.resize(entry.bytes);
      OST_TRY(inflate_into(packed, out, entry.name));
    }
    if (crc_of(out) != entry.crc)
      return fail(OST_DATA_LOSS, "zip entry '{}': its checksum is wrong, the file is damaged",
                  entry.name);
    return out;
  } catch (const std::bad_alloc&) {
    return fail(OST_OUT_OF_MEMORY, "no memory for the {} bytes of zip entry '{}'", entry.bytes,
                entry.name);
  }
}

}  // namespace ost::manifest
