// Writes images by hand, so that the executor is tested without the compiler.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels.h"
#include "plugins/cpu/abi/image.hpp"

namespace ost_test {

struct Symbol {
  std::string name;
  uint64_t offset;
};

inline std::string note(const std::string& target, unsigned image = ost_cpu::kImageVersion,
                        unsigned kernel_abi = OST_CPU_KERNEL_ABI) {
  return "image=" + std::to_string(image) + "\nkernel_abi=" + std::to_string(kernel_abi) +
         "\ntarget=" + target + "\ncompiler=by-hand/1\n";
}

// The layout of plugins/cpu/abi/image.hpp around `text`.
inline std::string write_image(const std::string& text, const std::vector<Symbol>& symbols,
                               const std::string& note) {
  const std::string section_names("\0.text\0.symtab\0.strtab\0.ostinato\0.shstrtab\0", 43);
  std::string names(1, '\0');
  std::vector<Elf64_Sym> table(1);
  for (const Symbol& s : symbols) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = ost_cpu::kImageTextOffset + s.offset;
    table.push_back(symbol);
    names += s.name + '\0';
  }
  std::string out(ost_cpu::kImageTextOffset, '\0');
  out += text;
  const auto place = [&out](const void* bytes, size_t size) {
    out.resize((out.size() + 7) / 8 * 8);
    const uint64_t at = out.size();
    out.append(static_cast<const char*>(bytes), size);
    return at;
  };
  const uint64_t table_size = table.size() * sizeof(Elf64_Sym);
  const uint64_t at_table = place(table.data(), table_size);
  const uint64_t at_names = place(names.data(), names.size());
  const uint64_t at_note = place(note.data(), note.size());
  const uint64_t at_sections = place(section_names.data(), section_names.size());
  constexpr uint64_t kText = ost_cpu::kImageTextOffset;
  const Elf64_Shdr sections[] = {
      {},
      {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kText, kText, text.size(), 0, 0, 64, 0},
      {7, SHT_SYMTAB, 0, 0, at_table, table_size, 3, 1, 8, sizeof(Elf64_Sym)},
      {15, SHT_STRTAB, 0, 0, at_names, names.size(), 0, 0, 1, 0},
      {23, SHT_PROGBITS, 0, 0, at_note, note.size(), 0, 0, 1, 0},
      {33, SHT_STRTAB, 0, 0, at_sections, section_names.size(), 0, 0, 1, 0}};
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_DYN;
  h.e_machine = EM_X86_64;
  h.e_version = EV_CURRENT;
  h.e_ehsize = sizeof h;
  h.e_phoff = sizeof h;
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phnum = 1;
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = std::size(sections);
  h.e_shstrndx = 5;
  h.e_shoff = place(sections, sizeof sections);
  const Elf64_Phdr segment{PT_LOAD, PF_R | PF_X, kText,       kText,
                           kText,   text.size(), text.size(), ost_cpu::kImagePage};
  std::memcpy(out.data(), &h, sizeof h);
  std::memcpy(out.data() + h.e_phoff, &segment, sizeof segment);
  return out;
}

// All kernels of kernels.c for a target.
inline std::string kernel_image(const std::string& target = "x86_64") {
  const std::string text(__start_ost_test_kernels, __stop_ost_test_kernels);
  const auto at = [](ost_cpu_kernel_fn f) {
    return static_cast<uint64_t>(reinterpret_cast<const char*>(f) - __start_ost_test_kernels);
  };
  return write_image(text,
                     {{"add_one", at(add_one)},
                      {"step", at(step)},
                      {"two_phase_sum", at(two_phase_sum)},
                      {"meet", at(meet)},
                      {"control_word", at(control_word)},
                      {"impossible_plan", at(impossible_plan)}},
                     note(target));
}

}  // namespace ost_test
