#include "elf_section.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace ost_cpu {

namespace {

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read(void* out, size_t size, uint64_t offset) const {
    return fd_ >= 0 &&
           pread(fd_, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

 private:
  int fd_;
};

constexpr size_t kMost = 1 << 16;  // of any table read here

}  // namespace

std::string read_elf_section(const std::string& path, const char* section) {
  const File file(path);
  Elf64_Ehdr h;
  if (!file.read(&h, sizeof h, 0) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof(Elf64_Shdr)) return {};
  std::vector<Elf64_Shdr> sections(h.e_shnum);
  if (h.e_shstrndx >= h.e_shnum ||
      !file.read(sections.data(), h.e_shnum * sizeof(Elf64_Shdr), h.e_shoff))
    return {};
  const Elf64_Shdr& strings = sections[h.e_shstrndx];
  if (strings.sh_size > kMost) return {};
  std::string names(strings.sh_size, '\0');
  if (!file.read(names.data(), names.size(), strings.sh_offset)) return {};
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_name >= names.size() || std::strcmp(names.c_str() + s.sh_name, section) != 0) continue;
    if (s.sh_type == SHT_NOBITS || s.sh_size > kMost) return {};
    std::string bytes(s.sh_size, '\0');
    if (!file.read(bytes.data(), bytes.size(), s.sh_offset)) return {};
    return bytes.substr(0, bytes.find('\0'));
  }
  return {};
}

}  // namespace ost_cpu
