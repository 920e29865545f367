#include "image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <ostinato/plugin/error.hpp>

#include "../abi/image.hpp"
#include "../abi/kernel.h"

namespace ost_cpu {

using ost::plugin::cat;
using ost::plugin::fail;

namespace {

using Bytes = std::span<const std::byte>;

template <class... Pieces>
[[noreturn]] void damaged(const Pieces&... pieces) {
  fail(OST_DATA_LOSS, "image is damaged: ", pieces...);
}

Bytes part(Bytes bytes, uint64_t offset, uint64_t size, std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    damaged(what, " is at ", offset, " + ", size, ", the image has ", bytes.size(), " bytes");
  }
  return bytes.subspan(offset, size);
}
template <class T>
T read(Bytes bytes, uint64_t offset, std::string_view what) {
  T value;
  std::memcpy(&value, part(bytes, offset, sizeof value, what).data(), sizeof value);
  return value;
}
std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The NUL-terminated string at `offset` of a string table.
std::string_view string_at(Bytes table, uint64_t offset) {
  const std::string_view text = text_of(table);
  if (offset >= text.size()) damaged("a name is at ", offset, " of ", text.size());
  const size_t end = text.find('\0', offset);
  if (end == text.npos) damaged("a name does not end");
  return text.substr(offset, end - offset);
}

Elf64_Ehdr header(Bytes bytes) {
  const auto h = read<Elf64_Ehdr>(bytes, 0, "ELF header");
  if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
      h.e_ident[EI_DATA] != ELFDATA2LSB) {
    damaged("it is no 64-bit little-endian ELF file");
  }
  if (h.e_type != ET_DYN) damaged("ELF type is ", h.e_type, ", wanted ", ET_DYN);
  if (h.e_machine != EM_X86_64)
    fail(OST_INCOMPATIBLE, "image is for ELF machine ", h.e_machine, ", wanted x86-64");
  if (h.e_phnum != 1 || h.e_phentsize != sizeof(Elf64_Phdr))
    damaged(h.e_phnum, " segments, wanted 1");
  if (h.e_shentsize != sizeof(Elf64_Shdr))
    damaged("section headers have ", h.e_shentsize, " bytes");
  return h;
}

void read_segment(Bytes bytes, const Elf64_Ehdr& h, Image& out) {
  const auto p = read<Elf64_Phdr>(bytes, h.e_phoff, "program header");
  if (p.p_type != PT_LOAD || p.p_flags != (PF_R | PF_X))
    damaged("the segment is not readable code");
  if (p.p_offset != kImageTextOffset || p.p_vaddr != p.p_offset || p.p_memsz != p.p_filesz ||
      p.p_filesz == 0) {
    damaged("the segment is not where it should be");
  }
  part(bytes, p.p_offset, p.p_filesz, "code");
  out.text_offset = p.p_offset;
  out.text_size = p.p_filesz;
}

struct Sections {
  std::vector<Elf64_Shdr> headers;
  Bytes names;
};

Sections read_sections(Bytes bytes, const Elf64_Ehdr& h) {
  Sections out;
  part(bytes, h.e_shoff, uint64_t{h.e_shnum} * sizeof(Elf64_Shdr), "section table");
  for (unsigned i = 0; i < h.e_shnum; ++i) {
    out.headers.push_back(
        read<Elf64_Shdr>(bytes, h.e_shoff + i * sizeof(Elf64_Shdr), "section header"));
  }
  if (h.e_shstrndx >= out.headers.size()) damaged("section names are in section ", h.e_shstrndx);
  const Elf64_Shdr& names = out.headers[h.e_shstrndx];
  out.names = part(bytes, names.sh_offset, names.sh_size, "section names");
  return out;
}

// The kernels: global functions. Local ones are helpers that only debuggers name.
void read_symbols(Bytes bytes, const Sections& sections, Image& out) {
  for (const Elf64_Shdr& s : sections.headers) {
    if (s.sh_type != SHT_SYMTAB) continue;
    if (s.sh_link >= sections.headers.size()) damaged("symbol names are in section ", s.sh_link);
    const Elf64_Shdr& strings = sections.headers[s.sh_link];
    const Bytes names = part(bytes, strings.sh_offset, strings.sh_size, "symbol names");
    const Bytes table = part(bytes, s.sh_offset, s.sh_size, "symbols");
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(table, at, "symbol");
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL)
        continue;
      const std::string_view name = string_at(names, symbol.st_name);
      if (symbol.st_value < out.text_offset || symbol.st_value - out.text_offset >= out.text_size ||
          symbol.st_size > out.text_size - (symbol.st_value - out.text_offset)) {
        damaged("kernel '", name, "' is outside the code");
      }
      out.functions.push_back({std::string(name), symbol.st_value - out.text_offset});
    }
  }
  const auto by_name = [](const ImageFunction& a, const ImageFunction& b) {
    return a.name < b.name;
  };
  std::sort(out.functions.begin(), out.functions.end(), by_name);
}

// The value of "key=value\n" in a note.
std::optional<std::string_view> note_value(std::string_view note, std::string_view key) {
  while (!note.empty()) {
    const size_t end = std::min(note.find('\n'), note.size());
    const std::string_view line = note.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=')
      return line.substr(key.size() + 1);
    note.remove_prefix(std::min(end + 1, note.size()));
  }
  return std::nullopt;
}

std::string_view wanted_value(std::string_view note, std::string_view key) {
  const auto value = note_value(note, key);
  if (!value) damaged("its note has no '", key, "'");
  return *value;
}

void read_note(std::string_view note, Image& out) {
  const std::string version = std::to_string(kImageVersion);
  const std::string kernel_abi = std::to_string(OST_CPU_KERNEL_ABI);
  if (const auto found = wanted_value(note, "image"); found != version) {
    fail(OST_INCOMPATIBLE, "image has format ", found, ", this plugin reads ", version);
  }
  if (const auto found = wanted_value(note, "kernel_abi"); found != kernel_abi) {
    fail(OST_INCOMPATIBLE, "image has kernel ABI ", found, ", this plugin has ", kernel_abi);
  }
  const std::string_view target = wanted_value(note, "target");
  const auto features = from_key(target);
  if (!features)
    fail(OST_INCOMPATIBLE, "image is for target '", target, "', which this plugin does not know");
  out.target = *features;
  out.compiler = wanted_value(note, "compiler");
}

}  // namespace

Image parse_image(Bytes bytes) {
  Image out;
  const Elf64_Ehdr h = header(bytes);
  read_segment(bytes, h, out);
  const Sections sections = read_sections(bytes, h);
  bool noted = false;
  for (const Elf64_Shdr& s : sections.headers) {
    if (s.sh_type != SHT_PROGBITS || string_at(sections.names, s.sh_name) != kImageNote) continue;
    read_note(text_of(part(bytes, s.sh_offset, s.sh_size, "note")), out);
    noted = true;
  }
  if (!noted) damaged("it has no section ", kImageNote);
  read_symbols(bytes, sections, out);
  return out;
}

}  // namespace ost_cpu
