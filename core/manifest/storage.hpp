// Where a manifest's data lives: decided by the writer, followed by the reader.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/manifest/cursor.hpp"
#include "core/manifest/folder.hpp"
#include "core/manifest/manifest.hpp"
#include "core/manifest/safetensors.hpp"

namespace ost::manifest {

inline constexpr std::size_t kHexLine = 64;  // characters of inline data on a line

// "" file: inline.
struct Place {
  std::string file;
  std::string tensor;
};

// Writer: a place for each literal that a document refers to, and what must be written for it.
class StoragePlan {
 public:
  // Everything inline.
  StoragePlan() = default;
  // `own_file`: the safetensors file that belongs to this manifest; other files are referred to
  // where they already hold the bytes. `folder` is where the manifest will be.
  StoragePlan(const Folder& folder, std::string own_file, uint64_t inline_bytes)
      : folder_(&folder), own_file_(std::move(own_file)), inline_bytes_(inline_bytes) {}

  Place place(const LiteralPtr& data, const std::string& name, const std::string& file,
              const std::string& tensor);
  const TensorRefs& own_tensors() const { return own_; }

 private:
  bool already_there(const Literal& data, const std::string& file, const std::string& tensor);

  const Folder* folder_ = nullptr;
  std::string own_file_;
  uint64_t inline_bytes_ = UINT64_MAX;
  TensorRefs own_;
  std::map<std::string, Result<SafetensorsFile>> files_;
};

// {"dtype", "shape", "sha256", "data" | "file" + "tensor"} and back.
json::object data_to_json(const Literal& data, const Place& place);
extern const std::vector<std::string_view> kDataFields;

// Reader: files of the manifest's folder, opened once; counts what it reads against the limit.
class DataSource {
 public:
  DataSource(const Folder* folder, uint64_t max_bytes) : folder_(folder), budget_(max_bytes) {}

  // `place` (may be null) gets file and tensor of data that is not inline.
  Result<LiteralPtr> literal(const Cursor& at, Place* place);
  Result<std::vector<uint8_t>> image(const Cursor& file_at, uint64_t bytes,
                                     const std::string& sha256) const;

 private:
  Result<LiteralPtr> check(const Cursor& at, Literal data, const std::string& sha256) const;
  Result<const SafetensorsFile*> open(const Cursor& at, const std::string& file);

  const Folder* folder_;
  uint64_t budget_;
  std::map<std::string, SafetensorsFile> files_;
};

}  // namespace ost::manifest
