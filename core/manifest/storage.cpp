#include "core/manifest/storage.hpp"

#include <algorithm>

#include "core/base/sha256.hpp"

namespace ost::manifest {
namespace {

bool same(const Literal& a, const Literal& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Lines of kHexLine characters, the last one may be shorter.
Result<std::vector<uint8_t>> read_hex(const Cursor& at, uint64_t bytes) {
  OST_TRY_ASSIGN(const auto lines, at.elements(bytes / (kHexLine / 2) + 1));
  std::vector<uint8_t> out;
  out.reserve(std::min<uint64_t>(bytes, lines.size() * (kHexLine / 2)));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    OST_TRY_ASSIGN(const std::string line, lines[i].string(kHexLine));
    if (line.empty() || line.size() % 2 != 0 || (line.size() != kHexLine && i + 1 < lines.size()))
      return lines[i].bad("found {} characters, want lines of {} hex digits, the last one shorter",
                          line.size(), kHexLine);
    for (std::size_t c = 0; c < line.size(); c += 2) {
      const int high = hex_digit(line[c]), low = hex_digit(line[c + 1]);
      if (high < 0 || low < 0)
        return lines[i].bad("not a lower-case hex digit at character {}", high < 0 ? c : c + 1);
      out.push_back(static_cast<uint8_t>(high << 4 | low));
    }
  }
  if (out.size() != bytes)
    return at.bad("found {} bytes of data, its shape and type need {}", out.size(), bytes);
  return out;
}

json::array hex_lines(const std::vector<uint8_t>& bytes) {
  json::array lines;
  for (std::size_t at = 0; at < bytes.size(); at += kHexLine / 2) {
    const std::size_t n = std::min(kHexLine / 2, bytes.size() - at);
    lines.emplace_back(to_hex({bytes.data() + at, n}));
  }
  return lines;
}

}  // namespace

const std::vector<std::string_view> kDataFields = {"dtype", "shape", "sha256",
                                                   "data",  "file",  "tensor"};

// --- writer

bool StoragePlan::already_there(const Literal& data, const std::string& file,
                                const std::string& tensor) {
  if (file.empty() || file == own_file_) return false;  // the own file is written anew
  auto it = files_.find(file);
  if (it == files_.end()) {
    const auto open = [&]() -> Result<SafetensorsFile> {
      OST_TRY_ASSIGN(File opened, folder_->open_file(file));
      return SafetensorsFile::open(std::move(opened));
    };
    it = files_.emplace(file, open()).first;
  }
  if (!it->second) return false;
  const auto entry = it->second->entries().find(tensor);
  if (entry == it->second->entries().end() || entry->second.bytes != data.bytes.size())
    return false;
  const auto found = it->second->read(tensor);
  return found && same(*found, data);
}

Place StoragePlan::place(const LiteralPtr& data, const std::string& name, const std::string& file,
                         const std::string& tensor) {
  if (data->bytes.size() <= inline_bytes_) return {};
  if (already_there(*data, file, tensor)) return {file, tensor};
  // Equal data is stored once; a name that is taken by other data gets a number.
  for (const auto& [known, literal] : own_)
    if (literal == data.get() ||
        (literal->bytes.size() == data->bytes.size() && same(*literal, *data)))
      return {own_file_, known};
  std::string unique = name;
  for (int i = 2; own_.contains(unique); ++i) unique = fmt::format("{}.{}", name, i);
  own_.emplace(unique, data.get());
  return {own_file_, unique};
}

json::object data_to_json(const Literal& data, const Place& place) {
  json::object out;
  const std::string_view dtype = name_of(data.dtype);
  out["dtype"] = json::string_view(dtype.data(), dtype.size());
  json::array shape;
  for (const int64_t d : data.shape) shape.push_back(json_int(d));
  out["shape"] = std::move(shape);
  out["sha256"] = sha256_hex(data.bytes);
  if (place.file.empty()) {
    out["data"] = hex_lines(data.bytes);
  } else {
    out["file"] = place.file;
    out["tensor"] = place.tensor;
  }
  return out;
}

// --- reader

Result<LiteralPtr> DataSource::check(const Cursor& at, Literal data,
                                     const std::string& sha256) const {
  if (auto ok = check_literal(data); !ok) return at.bad("{}", ok.error().message);
  if (const std::string actual = sha256_hex(data.bytes); actual != sha256)
    return fail(OST_DATA_LOSS,
                "{}: the data has sha256 {}, {} was recorded: one of them was changed",
                at.pointer(), actual, sha256);
  return std::make_shared<const Literal>(std::move(data));
}

Result<const SafetensorsFile*> DataSource::open(const Cursor& at, const std::string& file) {
  if (const auto it = files_.find(file); it != files_.end()) return &it->second;
  if (auto ok = check_relative_path(file); !ok) return at.bad("{}", ok.error().message);
  if (!folder_)
    return at.bad(
        "found the file '{}', but this text was read without a folder; load it from its file",
        file);
  auto opened = folder_->open_file(file);
  if (!opened) return std::unexpected(opened.error().in(at.pointer()));
  auto tensors = SafetensorsFile::open(std::move(*opened));
  if (!tensors)
    return std::unexpected(tensors.error().in(fmt::format("{}: {}", at.pointer(), file)));
  return &files_.emplace(file, std::move(*tensors)).first->second;
}

Result<LiteralPtr> DataSource::literal(const Cursor& at, Place* place) {
  Literal data;
  OST_TRY_ASSIGN(const Cursor dtype, at.at("dtype"));
  OST_TRY_ASSIGN(data.dtype, dtype.dtype());
  OST_TRY_ASSIGN(const Cursor shape, at.at("shape"));
  OST_TRY_ASSIGN(data.shape, shape.dims());
  OST_TRY_ASSIGN(const Cursor hash, at.at("sha256"));
  OST_TRY_ASSIGN(const std::string sha256, hash.sha256());
  const auto bytes = literal_bytes(data.dtype, data.shape);
  if (!bytes) return shape.bad("{}", bytes.error().message);
  if (*bytes > budget_) return at.bad("{} bytes of data, {} more may be read", *bytes, budget_);

  OST_TRY_ASSIGN(const auto inline_at, at.find("data"));
  if (inline_at) {
    OST_TRY_ASSIGN(data.bytes, read_hex(*inline_at, *bytes));
    budget_ -= *bytes;
    return check(at, std::move(data), sha256);
  }
  OST_TRY_ASSIGN(const Cursor file_at, at.at("file"));
  OST_TRY_ASSIGN(const std::string file, file_at.string(kMaxText));
  OST_TRY_ASSIGN(const Cursor tensor_at, at.at("tensor"));
  OST_TRY_ASSIGN(const std::string tensor, tensor_at.string(kMaxText));
  OST_TRY_ASSIGN(const SafetensorsFile* const tensors, open(file_at, file));
  if (const auto entry = tensors->entries().find(tensor);
      entry != tensors->entries().end() &&
      (entry->second.bytes != *bytes || entry->second.shape != data.shape))
    return tensor_at.bad("tensor '{}' of {} has {} bytes and shape [{}], want {} and [{}]", tensor,
                         file, entry->second.bytes, fmt::join(entry->second.shape, ", "), *bytes,
                         fmt::join(data.shape, ", "));
  auto read = tensors->read(tensor);
  if (!read)
    return std::unexpected(read.error().in(fmt::format("{}: {}", tensor_at.pointer(), file)));
  if (read->dtype != data.dtype)
    return tensor_at.bad("tensor '{}' of {} is {}, want {}", tensor, file, name_of(read->dtype),
                         name_of(data.dtype));
  budget_ -= *bytes;
  if (place) *place = {file, tensor};
  return check(at, std::move(*read), sha256);
}

Result<std::vector<uint8_t>> DataSource::image(const Cursor& file_at, uint64_t bytes,
                                               const std::string& sha256) const {
  OST_TRY_ASSIGN(const std::string name, file_at.string(kMaxText));
  if (auto ok = check_relative_path(name); !ok) return file_at.bad("{}", ok.error().message);
  if (!folder_)
    return file_at.bad("found the file '{}', but this text was read without a folder", name);
  const auto file = folder_->open_file(name);
  if (!file) return std::unexpected(file.error().in(file_at.pointer()));
  if (file->size() != bytes)
    return file_at.bad("{} has {} bytes, {} were recorded", name, file->size(), bytes);
  auto image = file->read_all(bytes);
  if (!image)
    return std::unexpected(image.error().in(fmt::format("{}: {}", file_at.pointer(), name)));
  if (const std::string actual = sha256_hex(*image); actual != sha256)
    return fail(OST_DATA_LOSS, "{}: {} has sha256 {}, {} was recorded: it was changed",
                file_at.pointer(), name, actual, sha256);
  return image;
}

}  // namespace ost::manifest
