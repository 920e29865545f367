#include "core/runtime/compiler.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/sha256.hpp"
#include "core/runtime/log.hpp"
#include "core/runtime/recipe.hpp"

namespace ost::runtime {
namespace {

uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// The key of a variant. A launch belongs to the lowering that its image was made from: an image of
// another one, of an older version of this host or for a device with other limits, is none of this
// recipe's.
std::string variant_key(const Recipe& recipe) {
  if (!recipe.launch) return recipe.compiler_key;
  return fmt::format("{} code:{}", recipe.compiler_key, sha256_hex(recipe.code).substr(0, 16));
}

bool has_this_lowering(const KernelVariant& v, const Recipe& recipe) {
  const std::string key = variant_key(recipe);
  return !recipe.launch || v.compiler_key.ends_with(key.substr(key.rfind(" code:")));
}

}  // namespace

Result<std::vector<uint8_t>> Compiler::compile_now(const Recipe& recipe, const Driver& driver) {
  const uint64_t start = now_ns();
  auto image = compile(recipe, driver);
  compile_ns_ += now_ns() - start;
  ++compiles_;
  return image;
}

// An image that came with the program: for this target and compiler, or one that the driver accepts
// for this device.
Result<ExecutablePtr> Compiler::from_variants(const KernelDesc& kernel, const DevicePtr& device,
                                              const Recipe& recipe) {
  for (const KernelVariant& v : kernel.variants) {
    if (v.driver != device->driver().name() || v.target != recipe.target || v.image.empty())
      continue;
    if (sha256_hex(v.image) != v.image_sha256) {
      return fail(OST_DATA_LOSS, "kernel {}: the image for {} has another sha256 than {}",
                  kernel.name, v.target, v.image_sha256);
    }
    if (!has_this_lowering(v, recipe)) {
      log(LogLevel::info, "kernel {}: the image for {} is not used: it was lowered in another way",
          kernel.name, v.target);
      continue;
    }
    OST_TRY_ASSIGN(const Fit fit, device->driver().image_check(device->info(), v.image));
    if (fit.fit != OST_FIT_OPTIMAL) {
      log(LogLevel::info, "kernel {}: the image for {} is not used: {}", kernel.name, v.target,
          fit.reason);
      continue;
    }
    auto loaded = device->load(v.image, "", recipe.entry);
    if (loaded) ++images_used_;
    return loaded;
  }
  return ExecutablePtr();
}

Result<CompiledKernel> Compiler::make(const KernelDesc& kernel, const DevicePtr& device,
                                      const Recipe& recipe, bool trust_images) {
  if (trust_images) {
    OST_TRY_ASSIGN(ExecutablePtr executable, from_variants(kernel, device, recipe));
    if (executable) return CompiledKernel{std::move(executable), recipe.launch, "image"};
  }
  if (const auto found = cache_->find(recipe.key)) {
    if (auto loaded = device->load(found->bytes, found->path, recipe.entry))
      return CompiledKernel{std::move(*loaded), recipe.launch, "cache"};
    // The driver does not take what its own compiler made, so the machine changed in a way that no
    // key shows.
    log(LogLevel::info, "kernel {}: the cached image does not load on {} and is made again",
        kernel.name, device->id());
  }
  auto image = compile_now(recipe, device->driver());
  if (!image) return std::unexpected(image.error().in(fmt::format("kernel {}", kernel.name)));
  const CachedImage kept = cache_->store(recipe.key, std::move(*image));
  OST_TRY_ASSIGN(ExecutablePtr executable, device->load(kept.bytes, kept.path, recipe.entry));
  return CompiledKernel{std::move(executable), recipe.launch, "compiled"};
}

Result<CompiledKernel> Compiler::get(const KernelDesc& kernel, const DevicePtr& device,
                                     bool trust_images) {
  OST_TRY_ASSIGN(const Recipe recipe,
                 recipe_for(kernel.kir, device->driver(), device->info(), &forms_));
  const Place place{device.get(), recipe.key};
  std::unique_lock lock(mutex_);
  // Executables keep their device, so a live one belongs to this device and not to an earlier one
  // at its address.
  done_.wait(lock, [&] { return !in_progress_.contains(place); });
  if (ExecutablePtr executable = loaded_[place].lock())
    return CompiledKernel{std::move(executable), recipe.launch, "loaded"};
  in_progress_.insert(place);
  lock.unlock();
  auto made = make(kernel, device, recipe, trust_images);
  lock.lock();
  in_progress_.erase(place);
  if (made) loaded_[place] = made->executable;
  if (loaded_.size() > 2 * live_after_sweep_ + 256) sweep();
  done_.notify_all();
  return made;
}

void Compiler::sweep() {
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  live_after_sweep_ = loaded_.size();
}

Result<std::vector<CompiledKernel>> Compiler::get_all(std::span<const Job> jobs, bool trust_images,
                                                      unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::optional<Result<CompiledKernel>>> results(jobs.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size() && !failed; i = next++) {
      results[i] = get(*jobs[i].kernel, jobs[i].device, trust_images);
      if (!*results[i]) failed = true;
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (size_t i = 1; i < std::min<size_t>(threads, jobs.size()); ++i)
        helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads: those that are there do all of it
    }
    work();
  }
  std::vector<CompiledKernel> out;
  for (auto& r : results) {
    if (r && !*r) return std::unexpected(std::move(r->error()));
  }
  for (auto& r : results) out.push_back(std::move(**r));
  return out;
}

Result<KernelVariant> Compiler::make_variant(const KernelDesc& kernel, const Driver& driver,
                                             const ost_device_info_t& info) {
  OST_TRY_ASSIGN(const Recipe recipe, recipe_for(kernel.kir, driver, info, &forms_));
  KernelVariant out;
  out.driver = driver.name();
  out.target = recipe.target;
  out.compiler_key = variant_key(recipe);
  if (auto found = cache_->find(recipe.key)) {
    out.image = std::move(found->bytes);
  } else {
    OST_TRY_ASSIGN(std::vector<uint8_t> image, compile_now(recipe, driver));
    out.image = cache_->store(recipe.key, std::move(image)).bytes;
  }
  out.image_sha256 = sha256_hex(out.image);
  return out;
}

CompileStats Compiler::stats() const { return {compiles_, images_used_, compile_ns_}; }

}  // namespace ost::runtime
