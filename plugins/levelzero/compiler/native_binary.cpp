// Two formats of Intel's: an ELF whose section of type kDeviceBinary has the GPU's own binary; that
// is a list of kernels ("patch tokens"), or an ELF again, with a section .text.NAME for each kernel
// ("zebin").
#include "native_binary.hpp"

#include <elf.h>

#include <cstring>
#include <string>

namespace levelzero {
namespace {

constexpr uint32_t kDeviceBinary = 0xff000005;
constexpr uint32_t kPatchTokens = 0x494e5443;  // "CTNI"

template <class T>
bool read(std::string_view bytes, uint64_t at, T& out) {
  if (at > bytes.size() || bytes.size() - at < sizeof out) return false;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return true;
}
std::string_view part(std::string_view bytes, uint64_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at ? bytes.substr(at, size)
                                                         : std::string_view();
}

struct TokensHead {
  uint32_t magic, version, device, pointer_bytes, kernels, stepping, patch_bytes;
};
struct KernelHead {
  uint32_t checksum, hash[2];
  uint32_t name_bytes, patch_bytes, code_heap, general_heap, dynamic_heap, surface_heap, code_bytes;
};

uint64_t in_tokens(std::string_view bytes, std::string_view kernel) {
  TokensHead head;
  if (!read(bytes, 0, head)) return 0;
  uint64_t at = sizeof head + uint64_t{head.patch_bytes};
  for (uint32_t i = 0; i < head.kernels; ++i) {
    KernelHead k;
    if (!read(bytes, at, k)) return 0;
    at += sizeof k;
    std::string_view name = part(bytes, at, k.name_bytes);
    name = name.substr(0, name.find('\0'));
    at += k.name_bytes;
    if (name == kernel)
      return k.code_bytes <= k.code_heap && !part(bytes, at, k.code_heap).empty() ? k.code_bytes
                                                                                  : 0;
    at += uint64_t{k.code_heap} + k.general_heap + k.dynamic_heap + k.surface_heap + k.patch_bytes;
  }
  return 0;
}

// `depth`: how many ELFs may be in this one.
uint64_t in_elf(std::string_view bytes, std::string_view kernel, int depth) {
  Elf64_Ehdr head;
  if (!read(bytes, 0, head) || head.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  const auto section = [&](uint32_t i, Elf64_Shdr& s) {
    return read(bytes, head.e_shoff + uint64_t{i} * sizeof s, s);
  };
  Elf64_Shdr names{};
  section(head.e_shstrndx, names);
  const std::string_view strings = part(bytes, names.sh_offset, names.sh_size);
  const std::string wanted = ".text." + std::string(kernel) + '\0';
  for (uint32_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr s;
    if (!section(i, s)) return 0;
    const std::string_view body = part(bytes, s.sh_offset, s.sh_size);
    uint64_t found = 0;
    if (s.sh_type == kDeviceBinary && depth > 0) {
      uint32_t magic = 0;
      read(body, 0, magic);
      found = magic == kPatchTokens ? in_tokens(body, kernel) : in_elf(body, kernel, depth - 1);
    } else if (s.sh_type == SHT_PROGBITS && part(strings, s.sh_name, wanted.size()) == wanted) {
      found = body.size();
    }
    if (found != 0) return found;
  }
  return 0;
}

}  // namespace

uint64_t instructions_of(std::string_view binary, std::string_view kernel) {
  return binary.starts_with(ELFMAG) ? in_elf(binary, kernel, 1) : 0;
}

}  // namespace levelzero
