#include "core/manifest/npy.hpp"
#include "core/manifest/zip.hpp"

namespace ost::manifest {
namespace {

constexpr std::string_view kEnding = ".npy";

Result<std::map<std::string, Literal>> read(const File& file) {
  OST_TRY_ASSIGN(const auto entries, read_zip_directory(file));
  std::map<std::string, Literal> out;
  for (const ZipEntry& e : entries) {
    if (!e.name.ends_with(kEnding))
      return fail(OST_INVALID_ARGUMENT, "zip entry '{}' is no .npy file", e.name);
    OST_TRY_ASSIGN(const auto bytes, read_zip_entry(file, e));
    auto literal = parse_npy(bytes);
    if (!literal) return std::unexpected(literal.error().in(e.name));
    out.emplace(e.name.substr(0, e.name.size() - kEnding.size()), std::move(*literal));
  }
  return out;
}

}  // namespace

Result<std::map<std::string, Literal>> read_npz(const std::string& path) {
  OST_TRY_ASSIGN(const File file, File::open(path));
  auto out = read(file);
  if (!out) return std::unexpected(out.error().in(path));
  return out;
}

Result<> write_npz(const std::string& path, const std::map<std::string, const Literal*>& literals) {
  std::vector<std::vector<uint8_t>> headers;
  headers.reserve(literals.size());
  std::vector<ZipInput> inputs;
  for (const auto& [name, literal] : literals) {
    auto header = npy_header(*literal);
    if (!header) return std::unexpected(header.error().in(fmt::format("{}: {}", path, name)));
    headers.push_back(std::move(*header));
    inputs.push_back({name + std::string(kEnding), {headers.back(), literal->bytes}});
  }
  const auto [folder_path, name] = split_path(path);
  OST_TRY_ASSIGN(const Folder folder, Folder::open(folder_path));
  return write_zip(folder, name, inputs);
}

}  // namespace ost::manifest
