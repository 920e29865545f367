#include "core/runtime/recipe.hpp"

#include <algorithm>

#include "core/base/sha256.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {

std::string entry_name(const kir::Kernel& kernel) {
  return "k_" + kir::hash_of(kernel).substr(0, 16);
}

Result<Recipe> recipe_for(const kir::Kernel& kernel, const Driver& driver,
                          const ost_device_info_t& info) {
  const std::span forms(info.forms, info.form_count);
  if (std::ranges::find(forms, static_cast<uint32_t>(OST_FORM_KIR_L1)) == forms.end()) {
    std::string accepted;
    for (const uint32_t form : forms)
      accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", form_name(form));
    return fail(OST_UNIMPLEMENTED, "{} ({}) accepts {}; this host makes {}", driver.name(),
                info.name, accepted, form_name(OST_FORM_KIR_L1));
  }
  Recipe r;
  r.code = kir::to_binary(kernel);
  r.entry = entry_name(kernel);
  r.target = info.target;
  OST_TRY_ASSIGN(r.compiler_key, driver.compiler_key(r.target));
  const CompileKey key{r.code,         static_cast<uint32_t>(kernel.numerics),
                       r.form,         driver.name() + "/" + r.target,
                       r.compiler_key, r.options,
                       r.entry,        driver.plugin().abi >> 16};
  r.key = key.hex();
  return r;
}

Result<std::vector<uint8_t>> compile(const Recipe& recipe, const Driver& driver) {
  CompileRequest request;
  request.form = recipe.form;
  request.code = recipe.code;
  request.entry = recipe.entry;
  request.target = recipe.target;
  request.options = recipe.options;
  std::string said;
  auto image = driver.compile(request, &said);
  if (!said.empty()) log(LogLevel::debug, "{}: {}: {}", driver.name(), recipe.entry, said);
  return image;
}

}  // namespace ost::runtime
