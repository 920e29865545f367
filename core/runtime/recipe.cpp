#include "core/runtime/recipe.hpp"

#include <algorithm>

#include "core/base/sha256.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {

std::string entry_name(const kir::Kernel& kernel) {
  return "k_" + kir::hash_of(kernel).substr(0, 16);
}

// What form_for depends on.
Result<std::shared_ptr<const codegen::Formed>> FormCache::get(const kir::Kernel& kernel,
                                                              const ost_device_info_t& info) {
  std::string key = fmt::format("{} {} {}", kir::hash_of(kernel), info.max_group, info.local_bytes);
  for (uint32_t i = 0; i < info.form_count && i < OST_MAX_FORMS; ++i)
    key += fmt::format(" {}", info.forms[i]);
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
  }
  OST_TRY_ASSIGN(codegen::Formed formed, codegen::form_for(kernel, info, entry_name(kernel)));
  auto made = std::make_shared<const codegen::Formed>(std::move(formed));
  const std::lock_guard lock(mutex_);
  if (made_.size() >= kMost) made_.clear();
  return made_.try_emplace(std::move(key), std::move(made)).first->second;
}

Result<Recipe> recipe_for(const kir::Kernel& kernel, const Driver& driver,
                          const ost_device_info_t& info, FormCache* forms) {
  Recipe r;
  r.entry = entry_name(kernel);
  FormCache own;
  auto formed = (forms ? *forms : own).get(kernel, info);
  if (!formed)
    return std::unexpected(formed.error().in(fmt::format("{} ({})", driver.name(), info.name)));
  r.form = (*formed)->form;
  r.code = (*formed)->code;
  r.launch = (*formed)->launch;
  r.target = info.target;
  OST_TRY_ASSIGN(r.compiler_key, driver.compiler_key(r.target));
  const CompileKey key{r.code,         static_cast<uint32_t>(kernel.numerics),
                       r.form,         driver.name() + "/" + r.target,
                       r.compiler_key, r.options,
                       r.entry,        driver.plugin().abi >> 16};
  r.key = key.hex();
  return r;
}

void set_launch(codegen::Launch& launch, std::span<const int64_t> vars, ost_command_t& command) {
  const auto groups = launch.grid.eval(vars);
  for (size_t d = 0; d < 3; ++d) {
    command.group[d] = d == 0 ? launch.lanes : 1;
    command.grid[d] = groups[d] * command.group[d];
  }
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
