#include "elf_exports.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace ost::conform {
namespace {

// Element i of an array in the file; zeros where the file ends before.
template <typename T>
T at(const std::string& file, uint64_t offset) {
  T out{};
  if (offset <= file.size() && sizeof out <= file.size() - offset)
    std::memcpy(&out, file.data() + offset, sizeof out);
  return out;
}

std::string name_at(const std::string& file, const Elf64_Shdr& strings, uint32_t offset) {
  const uint64_t start = strings.sh_offset + offset;
  if (start >= file.size()) return {};
  const size_t end = file.find('\0', start);
  return file.substr(start, end - start);
}

bool is_visible(const Elf64_Sym& s) {
  const unsigned binding = ELF64_ST_BIND(s.st_info);
  const unsigned visibility = ELF64_ST_VISIBILITY(s.st_other);
  return s.st_shndx != SHN_UNDEF && s.st_shndx != SHN_ABS &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

Result<std::vector<std::string>> exported_symbols(const std::string& file_name) {
  std::ifstream in(file_name, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return fail(OST_INCOMPATIBLE, "{}: no 64-bit ELF file", file_name);
  }
  std::vector<std::string> out;
  const auto section = [&](uint64_t i) {
    return at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr strings = section(table.sh_link);
    const uint64_t count = std::min<uint64_t>(table.sh_size, file.size()) / sizeof(Elf64_Sym);
    for (uint64_t s = 0; s < count; ++s) {
      const auto symbol = at<Elf64_Sym>(file, table.sh_offset + s * sizeof(Elf64_Sym));
      if (is_visible(symbol)) out.push_back(name_at(file, strings, symbol.st_name));
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace ost::conform
