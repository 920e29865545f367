#include "core/manifest/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/manifest/cursor.hpp"
#include "core/manifest/json.hpp"

namespace ost::manifest {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr uint64_t kMaxTensors = 1u << 20;

struct DTypeName {
  DType type;
  std::string_view name;
};
constexpr std::array<DTypeName, 13> kNames = {{{DType::boolean, "BOOL"},
                                               {DType::i8, "I8"},
                                               {DType::i16, "I16"},
                                               {DType::i32, "I32"},
                                               {DType::i64, "I64"},
                                               {DType::u8, "U8"},
                                               {DType::u16, "U16"},
                                               {DType::u32, "U32"},
                                               {DType::u64, "U64"},
                                               {DType::f16, "F16"},
                                               {DType::bf16, "BF16"},
                                               {DType::f32, "F32"},
                                               {DType::f64, "F64"}}};

std::optional<DType> dtype_of(std::string_view name) {
  const auto* it = std::ranges::find(kNames, name, &DTypeName::name);
  return it == kNames.end() ? std::nullopt : std::optional(it->type);
}
std::string_view name_in_file(DType type) {
  return std::ranges::find(kNames, type, &DTypeName::type)->name;
}

Result<TensorEntry> parse_entry(const Cursor& at, uint64_t data_start, uint64_t data_bytes) {
  static constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
  OST_TRY(at.only(kFields));
  TensorEntry entry;
  OST_TRY_ASSIGN(const Cursor dtype, at.at("dtype"));
  OST_TRY_ASSIGN(entry.dtype_name, dtype.string(kMaxName));
  OST_TRY_ASSIGN(const Cursor shape, at.at("shape"));
  OST_TRY_ASSIGN(entry.shape, shape.dims());
  OST_TRY_ASSIGN(const Cursor offsets, at.at("data_offsets"));
  OST_TRY_ASSIGN(const auto ends, offsets.elements(2));
  if (ends.size() != 2) return offsets.bad("found {} numbers, want begin and end", ends.size());
  OST_TRY_ASSIGN(const uint64_t begin, ends[0].unsigned_integer(data_bytes));
  OST_TRY_ASSIGN(const uint64_t end, ends[1].unsigned_integer(data_bytes));
  if (begin > end) return offsets.bad("begin {} is after end {}", begin, end);
  entry.offset = data_start + begin;
  entry.bytes = end - begin;
  if (const auto type = dtype_of(entry.dtype_name)) {
    const auto wanted = literal_bytes(*type, entry.shape);
    if (!wanted) return std::unexpected(wanted.error().in(at.pointer()));
    if (*wanted != entry.bytes)
      return offsets.bad("{} bytes, but its shape and type {} need {}", entry.bytes,
                         entry.dtype_name, *wanted);
  }
  return entry;
}

// Sorted by offset, each tensor starts where the one before ends, and the last one ends with the
// file.
Result<> check_ranges(const std::map<std::string, TensorEntry, std::less<>>& entries,
                      uint64_t start, uint64_t end) {
  std::vector<std::pair<const std::string*, const TensorEntry*>> sorted;
  for (const auto& [name, entry] : entries) sorted.emplace_back(&name, &entry);
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(a.second->offset, a.second->bytes) <
           std::pair(b.second->offset, b.second->bytes);
  });
  uint64_t at = start;
  for (const auto& [name, entry] : sorted) {
    if (entry->offset != at)
      return fail(OST_DATA_LOSS, "tensor '{}' starts at byte {}, want {}: tensors {}", *name,
                  entry->offset, at, entry->offset < at ? "overlap" : "leave a hole");
    at += entry->bytes;
  }
  if (at != end) return fail(OST_DATA_LOSS, "the tensors end at byte {}, the file at {}", at, end);
  return {};
}

}  // namespace

Result<uint64_t> literal_bytes(DType dtype, std::span<const int64_t> shape) {
  uint64_t n = size_of(dtype);
  bool empty = false;
  for (const int64_t d : shape) {
    if (d < 0) return fail(OST_INVALID_ARGUMENT, "a dimension is {}, want 0 or more", d);
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(n, static_cast<uint64_t>(d), &n) || n > (uint64_t{1} << 62))
      return fail(OST_INVALID_ARGUMENT, "the shape has more than 2^62 bytes");
  }
  return empty ? 0 : n;
}

Result<> check_literal(const Literal& literal) {
  if (!is_valid(literal.dtype))
    return fail(OST_INVALID_ARGUMENT, "element type {} does not exist",
                static_cast<int>(literal.dtype));
  OST_TRY_ASSIGN(const uint64_t wanted, literal_bytes(literal.dtype, literal.shape));
  if (wanted != literal.bytes.size())
    return fail(OST_INVALID_ARGUMENT, "{} bytes of data, its shape and type {} need {}",
                literal.bytes.size(), name_of(literal.dtype), wanted);
  if (literal.dtype != DType::boolean) return {};
  const auto bad = std::ranges::find_if(literal.bytes, [](uint8_t b) { return b > 1; });
  if (bad != literal.bytes.end())
    return fail(OST_DATA_LOSS, "element {} of a bool tensor is {}, want 0 or 1",
                bad - literal.bytes.begin(), *bad);
  return {};
}

Result<SafetensorsFile> SafetensorsFile::open(File file) {
  uint8_t prefix[8];
  if (file.size() < sizeof prefix)
    return fail(OST_DATA_LOSS, "{} bytes: too short for a safetensors file", file.size());
  OST_TRY(file.read_at(0, prefix));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (length > kMaxHeader || length > file.size() - 8)
    return fail(
        OST_DATA_LOSS,
        "the header claims {} bytes, the file has {} after byte 8: not a safetensors file, or "
        "a truncated one",
        length, file.size() - 8);
  std::string text(length, '\0');
  OST_TRY(file.read_at(8, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  if (text.empty() || text[0] != '{')
    return fail(OST_DATA_LOSS, "the header does not start with '{{' at byte 8");
  auto parsed =
      parse_json(text, {.max_bytes = kMaxHeader, .max_depth = 4, .max_values = 16u << 20});
  if (!parsed) return std::unexpected(parsed.error().in("header"));

  const uint64_t start = 8 + length, end = file.size();
  SafetensorsFile result(std::move(file));
  const Cursor root(*parsed);
  if (parsed->get_object().size() > kMaxTensors)
    return fail(OST_INVALID_ARGUMENT, "{} tensors, at most {} are read",
                parsed->get_object().size(), kMaxTensors);
  for (const auto& member : parsed->get_object()) {
    const std::string name(member.key());
    OST_TRY_ASSIGN(const Cursor at, root.at(name));
    if (name == "__metadata__") {
      if (!at.value().is_object()) return at.bad("found {}, want an object of strings", at.found());
      for (const auto& m : at.value().get_object()) {
        OST_TRY_ASSIGN(const Cursor text_at,
                       at.at(std::string_view(m.key().data(), m.key().size())));
        OST_TRY_ASSIGN(result.metadata_[std::string(m.key())], text_at.string(kMaxHeader));
      }
      continue;
    }
    OST_TRY_ASSIGN(result.entries_[name], parse_entry(at, start, end - start));
  }
  OST_TRY(check_ranges(result.entries_, start, end));
  return result;
}

Result<Literal> SafetensorsFile::read(std::string_view name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    std::vector<std::string_view> known;
    for (const auto& [n, e] : entries_)
      if (known.size() < 12) known.push_back(n);
    return fail(OST_NOT_FOUND, "no tensor '{}' in the file; it has {}{}", name,
                fmt::join(known, ", "), entries_.size() > known.size() ? ", ..." : "");
  }
  const TensorEntry& entry = it->second;
  const auto type = dtype_of(entry.dtype_name);
  if (!type)
    return fail(OST_UNIMPLEMENTED, "tensor '{}' has the element type {}, which is not supported",
                name, entry.dtype_name);
  try {
    Literal out{*type, entry.shape, std::vector<uint8_t>(entry.bytes)};
    OST_TRY(file_.read_at(entry.offset, out.bytes));
    if (auto ok = check_literal(out); !ok)
      return std::unexpected(ok.error().in(fmt::format("tensor '{}'", name)));
    return out;
  } catch (const std::bad_alloc&) {
    return fail(OST_OUT_OF_MEMORY, "no memory for the {} bytes of tensor '{}'", entry.bytes, name);
  }
}

Result<std::map<std::string, Literal>> read_safetensors(const std::string& path) {
  OST_TRY_ASSIGN(File file, File::open(path));
  const auto read = [&]() -> Result<std::map<std::string, Literal>> {
    OST_TRY_ASSIGN(const SafetensorsFile tensors, SafetensorsFile::open(std::move(file)));
    std::map<std::string, Literal> out;
    for (const auto& [name, entry] : tensors.entries()) {
      OST_TRY_ASSIGN(out[name], tensors.read(name));
    }
    return out;
  };
  auto result = read();
  if (!result) return std::unexpected(result.error().in(path));
  return result;
}

Result<> write_safetensors(const Folder& folder, std::string_view relative,
                           const TensorRefs& tensors,
                           const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string_view, const Literal*>> order;
  for (const auto& [name, literal] : tensors) {
    if (name == "__metadata__")
      return fail(OST_INVALID_ARGUMENT, "a tensor cannot be called '__metadata__'");
    if (auto ok = check_literal(*literal); !ok)
      return std::unexpected(ok.error().in(fmt::format("tensor '{}'", name)));
    order.emplace_back(name, literal);
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
    return size_of(a.second->dtype) > size_of(b.second->dtype);
  });

  json::object header;
  if (!metadata.empty()) {
    json::object text;
    for (const auto& [key, value] : metadata) text[key] = value;
    header["__metadata__"] = std::move(text);
  }
  uint64_t offset = 0;
  for (const auto& [name, literal] : order) {
    json::object entry;
    const std::string_view dtype = name_in_file(literal->dtype);
    entry["dtype"] = json::string_view(dtype.data(), dtype.size());
    json::array shape;
    for (const int64_t d : literal->shape) shape.push_back(d);
    entry["shape"] = std::move(shape);
    entry["data_offsets"] = json::array{offset, offset + literal->bytes.size()};
    header[json::string_view(name.data(), name.size())] = std::move(entry);
    offset += literal->bytes.size();
  }
  std::string text = to_canonical(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeader)
    return fail(OST_INVALID_ARGUMENT, "the header has {} bytes, the format allows {}", text.size(),
                kMaxHeader);
  uint8_t prefix[8];
  for (int i = 0; i < 8; ++i)
    prefix[i] = static_cast<uint8_t>(static_cast<uint64_t>(text.size()) >> (8 * i));
  std::vector<std::span<const uint8_t>> pieces = {
      prefix, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}};
  for (const auto& [name, literal] : order) pieces.emplace_back(literal->bytes);
  return folder.write_file(relative, pieces);
}

Result<> write_safetensors(const std::string& path, const TensorRefs& tensors,
                           const std::map<std::string, std::string>& metadata) {
  const auto [folder_path, name] = split_path(path);
  OST_TRY_ASSIGN(const Folder folder, Folder::open(folder_path));
  if (auto ok = write_safetensors(folder, name, tensors, metadata); !ok)
    return std::unexpected(ok.error().in(path));
  return {};
}

}  // namespace ost::manifest
