#include "executable.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isa.hpp"

namespace ost_cpu {

using ost::plugin::cat;
using ost::plugin::fail;

namespace {

// The text of the file, or null. The file may have changed since the caller read it, so the bytes
// decide.
void* map_file(const std::string& path, std::span<const std::byte> image, const Image& layout) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<uint64_t>(info.st_size) == image.size()) {
    const auto offset = static_cast<off_t>(layout.text_offset);
    memory = mmap(nullptr, layout.text_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);
  }
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  if (std::memcmp(memory, image.data() + layout.text_offset, layout.text_size) == 0) return memory;
  munmap(memory, layout.text_size);
  return nullptr;
}

void* copy_code(std::span<const std::byte> image, const Image& layout) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* memory = mmap(nullptr, layout.text_size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(memory, image.data() + layout.text_offset, layout.text_size);
  if (mprotect(memory, layout.text_size, PROT_READ | PROT_EXEC) == 0) return memory;
  const int code = errno;
  munmap(memory, layout.text_size);
  throw ost::plugin::Failure(
      OST_UNAVAILABLE,
      cat("cannot make memory executable: ", strerror(code), "; does a security policy forbid it?"),
      0, code);
}

}  // namespace

CodeMapping::CodeMapping(std::span<const std::byte> image, const Image& layout,
                         std::string_view path)
    : size_(layout.text_size) {
  if (!path.empty()) memory_ = map_file(std::string(path), image, layout);
  from_file_ = memory_ != nullptr;
  if (!from_file_) memory_ = copy_code(image, layout);
}

CodeMapping::~CodeMapping() { munmap(memory_, size_); }

std::string misfit(FeatureSet image, FeatureSet device) {
  const FeatureSet missing = image & ~device;
  return missing == 0
             ? ""
             : cat("the image needs ", feature_list(missing), ", which the device has not");
}

namespace {
Image parse_for(std::span<const std::byte> bytes, FeatureSet device) {
  Image image = parse_image(bytes);
  if (const std::string why = misfit(image.target, device); !why.empty())
    fail(OST_INCOMPATIBLE, why);
  return image;
}
}  // namespace

CpuExecutable::CpuExecutable(std::span<const std::byte> bytes, std::string_view path,
                             FeatureSet device)
    : image_(parse_for(bytes, device)), code_(bytes, image_, path) {}

uint32_t CpuExecutable::entry(std::string_view name) {
  const auto& all = image_.functions;
  const auto at =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const ImageFunction& f, std::string_view n) { return f.name < n; });
  if (at == all.end() || at->name != name) {
    fail(OST_NOT_FOUND, "the image has no kernel '", name, "' among its ", all.size());
  }
  return static_cast<uint32_t>(at - all.begin());
}

ost_cpu_kernel_fn CpuExecutable::function(uint32_t entry) const {
  if (entry >= image_.functions.size()) {
    fail(OST_INVALID_ARGUMENT, "kernel ", entry, " of an image with ", image_.functions.size());
  }
  return reinterpret_cast<ost_cpu_kernel_fn>(
      reinterpret_cast<uintptr_t>(code_.data() + image_.functions[entry].offset));
}

}  // namespace ost_cpu
