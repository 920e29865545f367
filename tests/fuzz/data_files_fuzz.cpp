// libFuzzer target: any bytes as a .npy, .npz or .safetensors file (the first byte says which);
// what reads, writes back.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string>

#include "core/manifest/npy.hpp"
#include "core/manifest/safetensors.hpp"

namespace {

// The readers take paths: a file in memory has one.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void check(const ost::Literal& literal) {
  if (!ost::manifest::check_literal(literal)) std::abort();
  auto header = ost::manifest::npy_header(literal);
  if (!header) return;  // bf16
  header->insert(header->end(), literal.bytes.begin(), literal.bytes.end());
  const auto back = ost::manifest::parse_npy(*header);
  if (!back || back->bytes != literal.bytes || back->shape != literal.shape ||
      back->dtype != literal.dtype)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  if (data[0] == 'n') {
    if (const auto literal = ost::manifest::parse_npy(rest)) check(*literal);
    return 0;
  }
  const MemoryFile file(rest.data(), rest.size());
  const auto literals = data[0] == 'z' ? ost::manifest::read_npz(file.path())
                                       : ost::manifest::read_safetensors(file.path());
  if (literals)
    for (const auto& [name, literal] : *literals) check(literal);
  return 0;
}
