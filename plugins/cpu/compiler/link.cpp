#include "plugins/cpu/compiler/link.hpp"

#include <elf.h>

#include <cstring>
#include <span>
#include <vector>

#include "plugins/cpu/abi/image.hpp"
#include "plugins/cpu/compiler/emit.hpp"

namespace ost_cpu {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw CompileError{OST_INTERNAL, "cpu: link: " + what};
}

uint64_t align_up(uint64_t v, uint64_t a) { return (v + a - 1) / a * a; }

// A bounds-checked view of an ELF64 file.
class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  std::vector<T> read(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T))
      refuse("the object file is truncated");
    std::vector<T> out(count);
    if (count) std::memcpy(out.data(), bytes_.data() + offset, count * sizeof(T));
    return out;
  }
  std::vector<Elf64_Shdr> sections() const {
    const auto head = read<Elf64_Ehdr>(0, 1)[0];
    return read<Elf64_Shdr>(head.e_shoff, head.e_shnum);
  }
  template <class T>
  std::vector<T> content(const Elf64_Shdr& s) const {
    return read<T>(s.sh_offset, s.sh_size / sizeof(T));
  }
  std::string name(const Elf64_Shdr& strings, uint32_t offset) const {
    const auto text = content<char>(strings);
    if (offset >= text.size()) refuse("a symbol name is out of range");
    return {text.data() + offset, strnlen(text.data() + offset, text.size() - offset)};
  }

 private:
  std::string_view bytes_;
};

class Linker {
 public:
  Linker(std::string_view object, std::string_view note)
      : object_(object),
        note_(note),
        sections_(object_.sections()),
        place_(sections_.size(), kNowhere) {}

  std::string run() {
    for (const bool code : {true, false})
      for (size_t i = 0; i < sections_.size(); ++i) place(i, code);
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type == SHT_SYMTAB) symbols(s);
      if (s.sh_type == SHT_RELA && s.sh_info < sections_.size() && place_[s.sh_info] != kNowhere)
        relocate(s);
    }
    return write();
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  const Elf64_Shdr& section(uint32_t i) const {
    if (i >= sections_.size()) refuse("a section index is out of range");
    return sections_[i];
  }

  void place(size_t i, bool code) {
    const Elf64_Shdr& s = sections_[i];
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0 || ((s.sh_flags & SHF_EXECINSTR) != 0) != code)
      return;
    if (s.sh_flags & (SHF_WRITE | SHF_TLS)) refuse("a kernel has writable data");
    if (s.sh_type != SHT_PROGBITS || s.sh_addralign > kImagePage)
      refuse("a section of an unexpected kind");
    place_[i] = align_up(text_.size(), std::max<uint64_t>(s.sh_addralign, 64));
    text_.resize(place_[i]);
    const auto content = object_.content<char>(s);
    text_.append(content.data(), content.size());
  }

  // Kernels are global, helpers local; local symbols come first, as ELF wants it.
  void symbols(const Elf64_Shdr& table) {
    const Elf64_Shdr& strings = section(table.sh_link);
    for (const bool global : {false, true}) {
      for (Elf64_Sym s : object_.content<Elf64_Sym>(table)) {
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx >= place_.size() ||
            place_[s.st_shndx] == kNowhere)
          continue;
        if ((ELF64_ST_BIND(s.st_info) == STB_GLOBAL) != global) continue;
        const std::string name = object_.name(strings, s.st_name);
        s.st_name = static_cast<Elf64_Word>(names_.size());
        s.st_value += kImageTextOffset + place_[s.st_shndx];
        s.st_shndx = 1;
        s.st_other = STV_DEFAULT;
        names_.append(name.c_str(), name.size() + 1);
        symbols_.push_back(s);
      }
      if (!global) local_count_ = symbols_.size();
    }
  }

  void relocate(const Elf64_Shdr& table) {
    const Elf64_Shdr& symtab = section(table.sh_link);
    const auto symbols = object_.content<Elf64_Sym>(symtab);
    for (const Elf64_Rela& r : object_.content<Elf64_Rela>(table)) {
      if (ELF64_R_SYM(r.r_info) >= symbols.size()) refuse("a symbol index is out of range");
      const Elf64_Sym& s = symbols[ELF64_R_SYM(r.r_info)];
      const auto type = ELF64_R_TYPE(r.r_info);
      if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
        refuse("relocation type " + std::to_string(type));
      if (s.st_shndx >= place_.size() || place_[s.st_shndx] == kNowhere)
        refuse("the kernel calls " + object_.name(section(symtab.sh_link), s.st_name) +
               ", and images have no imports");
      const uint64_t size = sections_[table.sh_info].sh_size;
      if (r.r_offset > size || size - r.r_offset < 4) refuse("a relocation is out of range");
      const uint64_t at = place_[table.sh_info] + r.r_offset;
      const uint64_t target = place_[s.st_shndx] + s.st_value + static_cast<uint64_t>(r.r_addend);
      const auto distance = static_cast<int32_t>(target - at);
      std::memcpy(text_.data() + at, &distance, sizeof distance);
    }
  }

  std::string write() const {
    static constexpr char kNames[] = "\0.text\0.symtab\0.strtab\0.ostinato\0.shstrtab";
    enum : uint32_t { kText = 1, kSymtab = 7, kStrtab = 15, kNote = 23, kShstrtab = 33 };
    const uint64_t sym_size = symbols_.size() * sizeof(Elf64_Sym);
    const uint64_t sym_at = align_up(kImageTextOffset + text_.size(), 8),
                   str_at = sym_at + sym_size;
    const uint64_t note_at = str_at + names_.size(), shstr_at = note_at + note_.size();
    const uint64_t heads_at = align_up(shstr_at + sizeof kNames, 8);

    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB,
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_DYN, h.e_machine = EM_X86_64, h.e_version = EV_CURRENT, h.e_ehsize = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr), h.e_phnum = 1, h.e_phoff = sizeof h;
    h.e_shentsize = sizeof(Elf64_Shdr), h.e_shnum = 6, h.e_shstrndx = 5, h.e_shoff = heads_at;
    const Elf64_Phdr p{PT_LOAD,          PF_R | PF_X,  kImageTextOffset, kImageTextOffset,
                       kImageTextOffset, text_.size(), text_.size(),     kImagePage};
    const Elf64_Shdr s[6] = {{},
                             {kText, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kImageTextOffset,
                              kImageTextOffset, text_.size(), 0, 0, 64, 0},
                             {kSymtab, SHT_SYMTAB, 0, 0, sym_at, sym_size, 3,
                              static_cast<Elf64_Word>(local_count_), 8, sizeof(Elf64_Sym)},
                             {kStrtab, SHT_STRTAB, 0, 0, str_at, names_.size(), 0, 0, 1, 0},
                             {kNote, SHT_PROGBITS, 0, 0, note_at, note_.size(), 0, 0, 1, 0},
                             {kShstrtab, SHT_STRTAB, 0, 0, shstr_at, sizeof kNames, 0, 0, 1, 0}};

    std::string out(heads_at + sizeof s, '\0');
    const auto put = [&](uint64_t at, const void* data, size_t size) {
      std::memcpy(out.data() + at, data, size);
    };
    put(0, &h, sizeof h);
    put(sizeof h, &p, sizeof p);
    put(kImageTextOffset, text_.data(), text_.size());
    put(sym_at, symbols_.data(), sym_size);
    put(str_at, names_.data(), names_.size());
    put(note_at, note_.data(), note_.size());
    put(shstr_at, kNames, sizeof kNames);
    put(heads_at, s, sizeof s);
    return out;
  }

  Object object_;
  std::string_view note_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint64_t> place_;  // by section: offset in text_
  std::string text_;
  std::vector<Elf64_Sym> symbols_ = std::vector<Elf64_Sym>(1);
  std::string names_ = std::string(1, '\0');
  size_t local_count_ = 1;
};

}  // namespace

std::string link_image(std::string_view object, std::string_view note) {
  return Linker(object, note).run();
}

}  // namespace ost_cpu
