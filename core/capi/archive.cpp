// Files of arrays. A safetensors file is read tensor by tensor, on demand; the others at once.
#include <fmt/ranges.h>

#include "core/capi/handles.hpp"
#include "core/manifest/npy.hpp"
#include "core/manifest/safetensors.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

struct Entry {
  std::shared_ptr<const Literal> data;  // null: still in the file
  std::optional<TypeText> type;         // absent: an element type that the library does not have
  std::string foreign_dtype;
};

enum class Format { npy, npz, safetensors };

Result<Format> format_of(std::string_view path) {
  if (path.ends_with(".npy")) return Format::npy;
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".safetensors")) return Format::safetensors;
  return fail(OST_INVALID_ARGUMENT, "{}: unknown kind of file, wanted .npy, .npz or .safetensors",
              path);
}

Entry entry_of(const std::string& name, Literal literal) {
  auto shared = std::make_shared<const Literal>(std::move(literal));
  return {shared, type_text(name, shared->dtype, std::span(shared->shape), 0), {}};
}

// The names of the format for types that the library has.
std::optional<DType> from_safetensors(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"BOOL", DType::boolean}, {"I8", DType::i8},   {"I16", DType::i16},   {"I32", DType::i32},
      {"I64", DType::i64},      {"U8", DType::u8},   {"U16", DType::u16},   {"U32", DType::u32},
      {"U64", DType::u64},      {"F16", DType::f16}, {"BF16", DType::bf16}, {"F32", DType::f32},
      {"F64", DType::f64}};
  for (const auto& [text, dtype] : kNames) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace

struct ost_archive_t {
  std::string path;
  std::map<std::string, Entry, std::less<>> entries;
  std::optional<manifest::SafetensorsFile> file;
  mutable std::mutex mutex;

  // By index, in order of the names.
  Result<std::pair<const std::string, Entry>*> at(uint32_t index) {
    OST_TRY(check_index(index, entries.size(), "array"));
    return &*std::next(entries.begin(), index);
  }
};

namespace {

Result<> read_file(ost_archive_t& archive) {
  OST_TRY_ASSIGN(const Format format, format_of(archive.path));
  if (format == Format::npy) {
    OST_TRY_ASSIGN(auto literal, manifest::read_npy(archive.path));
    archive.entries.emplace("", entry_of("", std::move(literal)));
  } else if (format == Format::npz) {
    OST_TRY_ASSIGN(auto literals, manifest::read_npz(archive.path));
    for (auto& [name, literal] : literals)
      archive.entries.emplace(name, entry_of(name, std::move(literal)));
  } else {
    OST_TRY_ASSIGN(auto opened, manifest::File::open(archive.path));
    auto file = manifest::SafetensorsFile::open(std::move(opened));
    if (!file) return std::unexpected(file.error().in(archive.path));
    for (const auto& [name, tensor] : file->entries()) {
      Entry entry{nullptr, std::nullopt, tensor.dtype_name};
      if (const auto dtype = from_safetensors(tensor.dtype_name))
        entry.type = type_text(name, *dtype, std::span(tensor.shape), 0);
      archive.entries.emplace(name, std::move(entry));
    }
    archive.file = std::move(*file);
  }
  return {};
}

Result<> load_entry(ost_archive_t& archive, const std::string& name, Entry& entry) {
  if (entry.data) return {};
  auto literal = archive.file->read(name);
  if (!literal) return std::unexpected(literal.error().in(archive.path));
  entry = entry_of(name, std::move(*literal));
  return {};
}

}  // namespace

extern "C" {

ost_status_t ost_archive_create(ost_archive_t** out_archive, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_archive, "out_archive"));
    *out_archive = nullptr;
    *out_archive = new ost_archive_t();
    return {};
  });
}

ost_status_t ost_archive_load(const char* path, ost_archive_t** out_archive, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_archive, "out_archive"));
    *out_archive = nullptr;
    OST_TRY(require(path, "path"));
    auto archive = std::make_unique<ost_archive_t>();
    archive->path = path;
    OST_TRY(read_file(*archive));
    *out_archive = archive.release();
    return {};
  });
}

void ost_archive_destroy(ost_archive_t* archive) { delete archive; }

uint32_t ost_archive_count(const ost_archive_t* archive) {
  if (archive == nullptr) return 0;
  const std::scoped_lock lock(archive->mutex);
  return static_cast<uint32_t>(archive->entries.size());
}

ost_status_t ost_archive_type_at(const ost_archive_t* archive, uint32_t index,
                                 ost_type_desc_t* out_type, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(archive, "archive"));
    const std::scoped_lock lock(archive->mutex);
    OST_TRY_ASSIGN(const auto* found, const_cast<ost_archive_t*>(archive)->at(index));
    if (!found->second.type) {
      return fail(OST_INVALID_ARGUMENT, "{}: '{}' has the element type {}, which is not supported",
                  archive->path, found->first, found->second.foreign_dtype);
    }
    return write_type(out_type, *found->second.type);
  });
}

ost_status_t ost_archive_find(const ost_archive_t* archive, const char* name, uint32_t* out_index,
                              ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(archive, "archive"));
    OST_TRY(require(out_index, "out_index"));
    const std::scoped_lock lock(archive->mutex);
    std::vector<std::string_view> names;
    for (const auto& [key, entry] : archive->entries) names.push_back(key);
    if (name == nullptr && names.size() != 1) {
      return fail(OST_NOT_FOUND, "{}: {} arrays, name one of: {}", archive->path, names.size(),
                  fmt::join(names, ", "));
    }
    const auto it =
        name == nullptr ? names.begin() : std::ranges::find(names, std::string_view(name));
    if (it == names.end())
      return fail(OST_NOT_FOUND, "{}: no array '{}', there are: {}", archive->path, name,
                  fmt::join(names, ", "));
    *out_index = static_cast<uint32_t>(it - names.begin());
    return {};
  });
}

ost_status_t ost_archive_array_at(ost_archive_t* archive, uint32_t index, ost_array_t* out_array,
                                  ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(archive, "archive"));
    OST_TRY(require(out_array, "out_array"));
    const std::scoped_lock lock(archive->mutex);
    OST_TRY_ASSIGN(auto* found, archive->at(index));
    OST_TRY(load_entry(*archive, found->first, found->second));
    const Literal& literal = *found->second.data;
    *out_array = {static_cast<ost_dtype_t>(literal.dtype),
                  static_cast<uint32_t>(literal.shape.size()), literal.shape.data(),
                  literal.bytes.data()};
    return {};
  });
}

ost_status_t ost_archive_add(ost_archive_t* archive, const char* name, const ost_array_t* array,
                             ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(archive, "archive"));
    const std::string key = name == nullptr ? "" : name;
    OST_TRY_ASSIGN(const LiteralPtr literal, to_literal(array, fmt::format("array '{}'", key)));
    const std::scoped_lock lock(archive->mutex);
    archive->entries.insert_or_assign(
        key, Entry{literal, type_text(key, literal->dtype, std::span(literal->shape), 0), {}});
    return {};
  });
}

ost_status_t ost_archive_save(ost_archive_t* archive, const char* path, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(archive, "archive"));
    OST_TRY(require(path, "path"));
    const std::scoped_lock lock(archive->mutex);
    OST_TRY_ASSIGN(const Format format, format_of(path));
    std::map<std::string, const Literal*> arrays;
    for (auto& [name, entry] : archive->entries) {
      OST_TRY(load_entry(*archive, name, entry));
      arrays.emplace(name, entry.data.get());
    }
    if (format == Format::npz) return manifest::write_npz(path, arrays);
    if (format == Format::safetensors) return manifest::write_safetensors(path, arrays);
    if (arrays.size() != 1)
      return fail(OST_INVALID_ARGUMENT, "{}: a .npy file holds one array, there are {}; use .npz",
                  path, arrays.size());
    return manifest::write_npy(path, *arrays.begin()->second);
  });
}

}  // extern "C"
