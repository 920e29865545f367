// From a kernel to something that a device can run: image of a manifest, cache, compiler, in this
// order. Each kernel is compiled once per process, also when several threads ask for it, and loaded
// once per device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/codegen/form.hpp"
#include "core/kir/kernel.hpp"
#include "core/runtime/compile_cache.hpp"
#include "core/runtime/device.hpp"
#include "core/runtime/recipe.hpp"
#include "core/schedule/program.hpp"

namespace ost::runtime {

struct CompileStats {
  uint64_t compiles = 0;     // calls of a driver's compiler
  uint64_t images_used = 0;  // taken from KernelVariants
  uint64_t compile_ns = 0;   // time in the compilers, summed over threads
};

struct CompiledKernel {
  ExecutablePtr executable;
  std::optional<codegen::Launch> launch = {};  // of kernels in a form below level 1
  std::string origin;  // "image", "cache", "compiled", "loaded" (it was already in this process)
};

class Compiler {
 public:
  explicit Compiler(std::shared_ptr<CompileCache> cache) : cache_(std::move(cache)) {}

  // Loaded on this device. `trust_images`: variants may be used; they come from whoever wrote the
  // manifest.
  Result<CompiledKernel> get(const KernelDesc& kernel, const DevicePtr& device,
                             bool trust_images = false);

  // All of them, in parallel on at most `threads` threads (0: as many as cores); out[i] belongs to
  // kernels[i].
  struct Job {
    const KernelDesc* kernel;
    DevicePtr device;
  };
  Result<std::vector<CompiledKernel>> get_all(std::span<const Job> jobs, bool trust_images = false,
                                              unsigned threads = 0);

  // An image for a target that need not be here, to be kept in a manifest.
  Result<KernelVariant> make_variant(const KernelDesc& kernel, const Driver& driver,
                                     const ost_device_info_t& info);

  CompileCache& cache() { return *cache_; }
  CompileStats stats() const;

 private:
  using Place = std::pair<const Device*, std::string>;  // and the key
  Result<CompiledKernel> make(const KernelDesc& kernel, const DevicePtr& device,
                              const Recipe& recipe, bool trust_images);
  Result<ExecutablePtr> from_variants(const KernelDesc& kernel, const DevicePtr& device,
                                      const Recipe& recipe);
  Result<std::vector<uint8_t>> compile_now(const Recipe& recipe, const Driver& driver);
  void sweep();

  std::shared_ptr<CompileCache> cache_;
  FormCache forms_;
  std::atomic<uint64_t> compiles_{0}, images_used_{0}, compile_ns_{0};
  std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  std::set<Place> in_progress_;
  std::map<Place, std::weak_ptr<Executable>> loaded_;
  size_t live_after_sweep_ = 0;
};

}  // namespace ost::runtime
