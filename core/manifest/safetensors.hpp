// The .safetensors format: an 8-byte header length, a JSON header, the tensors' bytes. The reader
// is strict: ranges neither overlap nor leave a hole, sizes agree with shape and type, the header
// holds what the format knows.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/literal.hpp"
#include "core/base/result.hpp"
#include "core/manifest/folder.hpp"

namespace ost::manifest {

struct TensorEntry {
  std::string dtype_name;  // as the file spells it; may be one that Ostinato has not
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // from the start of the file
  uint64_t bytes = 0;
};

// The header of a file; tensors are read on demand.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(File file);
  const std::map<std::string, TensorEntry, std::less<>>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  Result<Literal> read(std::string_view name) const;

 private:
  explicit SafetensorsFile(File file) : file_(std::move(file)) {}
  File file_;
  std::map<std::string, TensorEntry, std::less<>> entries_;
  std::map<std::string, std::string> metadata_;
};

Result<std::map<std::string, Literal>> read_safetensors(const std::string& path);

using TensorRefs = std::map<std::string, const Literal*>;
// The whole file; tensors by falling alignment, then name, so that each starts at a multiple of its
// element size.
Result<> write_safetensors(const std::string& path, const TensorRefs& tensors,
                           const std::map<std::string, std::string>& metadata = {});
Result<> write_safetensors(const Folder& folder, std::string_view relative,
                           const TensorRefs& tensors,
                           const std::map<std::string, std::string>& metadata = {});

// Number of bytes that a literal of this type and shape has; fails for a negative dimension and
// beyond 2^62.
Result<uint64_t> literal_bytes(DType dtype, std::span<const int64_t> shape);
// Bytes fit shape and type, and a bool is 0 or 1.
Result<> check_literal(const Literal& literal);

}  // namespace ost::manifest
