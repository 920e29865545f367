// Files of a manifest, in an order that never leaves a manifest without its data: images, tensors,
// then the JSON.
#include <set>

#include "core/base/sha256.hpp"
#include "core/manifest/writer.hpp"

namespace ost::manifest {
namespace {

// "digits.ost.json" -> "digits"
std::string stem_of(std::string_view name) {
  for (const std::string_view ending : {".ost.json", ".json"})
    if (name.size() > ending.size() && name.ends_with(ending))
      return std::string(name.substr(0, name.size() - ending.size()));
  return std::string(name);
}

Result<> save_images(const Folder& folder, const Program& program, const std::string& images) {
  std::set<std::string> done;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    for (const KernelVariant& v : program.kernels[k].variants) {
      if (v.image.empty() || !done.insert(v.image_sha256).second) continue;
      if (const std::string actual = sha256_hex(v.image); actual != v.image_sha256)
        return fail(OST_INTERNAL, "kernel '{}' for {}: the image has sha256 {}, its record says {}",
                    program.kernels[k].name, v.target, actual, v.image_sha256);
      OST_TRY(folder.write_file(fmt::format("{}/{}.img", images, v.image_sha256), v.image));
    }
  }
  return {};
}

Result<> save_into(const Folder& folder, const std::string& name, const Document& document,
                   const SaveOptions& options) {
  const std::string stem = stem_of(name);
  const std::string images = options.images ? stem + ".images" : "";
  const std::string tensors = stem + ".safetensors";
  StoragePlan storage(folder, tensors, options.inline_bytes);
  OST_TRY_ASSIGN(json::object object, to_json(document, storage, images));
  const std::string text = to_pretty(std::move(object));
  if (options.images) OST_TRY(save_images(folder, document.program, images));
  if (!storage.own_tensors().empty())
    OST_TRY(write_safetensors(folder, tensors, storage.own_tensors()));
  return folder.write_file(name, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

Result<> save(const Document& document, const std::string& path, const SaveOptions& options) {
  if (auto ok = verify(document.program); !ok)
    return std::unexpected(ok.error().in(path));  // what is written can be loaded
  const auto [folder_path, name] = split_path(path);
  OST_TRY_ASSIGN(const Folder folder, Folder::open(folder_path));
  if (auto ok = save_into(folder, name, document, options); !ok)
    return std::unexpected(ok.error().in(path));
  return {};
}

}  // namespace ost::manifest
