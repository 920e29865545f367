// Code in memory: the text of an image, mapped from its cache file where there is one (shared
// between processes, and perf and gdb find the symbols), copied otherwise. Never writable and
// executable at once.
#pragma once

#include <ostinato/plugin/sync.hpp>

#include "../abi/kernel.h"
#include "image.hpp"

namespace ost_cpu {

class CodeMapping {
 public:
  // `path` is a hint: a file that cannot be mapped or does not hold the same bytes is not used.
  CodeMapping(std::span<const std::byte> image, const Image& layout, std::string_view path);
  ~CodeMapping();
  CodeMapping(const CodeMapping&) = delete;
  CodeMapping& operator=(const CodeMapping&) = delete;

  const std::byte* data() const { return static_cast<const std::byte*>(memory_); }
  bool from_file() const { return from_file_; }

 private:
  void* memory_ = nullptr;
  uint64_t size_ = 0;
  bool from_file_ = false;
};

class CpuExecutable final : public ost::plugin::SyncExecutable {
 public:
  CpuExecutable(std::span<const std::byte> bytes, std::string_view path, FeatureSet device);
  uint32_t entry(std::string_view name) override;
  ost_cpu_kernel_fn function(uint32_t entry) const;

 private:
  Image image_;
  CodeMapping code_;
};

// Why an image for `image` cannot run on a device that has `device`, or "".
std::string misfit(FeatureSet image, FeatureSet device);

}  // namespace ost_cpu
