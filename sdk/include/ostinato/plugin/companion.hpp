// A library beside a plugin that the plugin opens when it needs it: a compiler, which a process
// that only replays should not map. It has one exported function, and may keep its key in a section
// of its file, so that a look-up in a cache need not load it.
#ifndef OSTINATO_PLUGIN_COMPANION_HPP_
#define OSTINATO_PLUGIN_COMPANION_HPP_

#include <dlfcn.h>
#include <elf.h>

#include <fstream>
#include <mutex>
#include <vector>

#include "error.hpp"

namespace ost::plugin {

namespace detail {

template <class T>
bool read_at(std::ifstream& file, T* out, size_t count, uint64_t offset) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

}  // namespace detail

// One section of an ELF file, up to the first NUL, without loading the file; "" if the file or the
// section is missing, damaged or longer than 64 KiB.
inline std::string read_elf_section(const std::string& path, const char* section) {
  constexpr size_t kMost = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr h;
  if (!detail::read_at(file, &h, 1, 0) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof(Elf64_Shdr)) return {};
  std::vector<Elf64_Shdr> sections(h.e_shnum);
  if (h.e_shstrndx >= h.e_shnum ||
      !detail::read_at(file, sections.data(), sections.size(), h.e_shoff))
    return {};
  const auto text_of = [&](const Elf64_Shdr& s) {
    std::string bytes(s.sh_type == SHT_NOBITS || s.sh_size > kMost ? 0 : s.sh_size, '\0');
    return detail::read_at(file, bytes.data(), bytes.size(), s.sh_offset) ? bytes : std::string();
  };
  const std::string names = text_of(sections[h.e_shstrndx]);
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_name >= names.size() || std::strcmp(names.c_str() + s.sh_name, section) != 0) continue;
    const std::string bytes = text_of(s);
    return bytes.substr(0, bytes.find('\0'));
  }
  return {};
}

// `Table` is what the exported function returns a pointer to: it has `abi` and `key`.
template <class Table>
class Companion {
 public:
  // `inside`: an address of the plugin, whose folder has the library.
  Companion(const void* inside, const char* file, const char* symbol, const char* key_section)
      : inside_(inside), file_(file), symbol_(symbol), key_section_(key_section) {}
  virtual ~Companion() = default;

  // Any thread. OST_UNAVAILABLE with the linker's words if it is missing. It stays loaded.
  const Table& get() {
    const std::scoped_lock lock(mutex_);
    if (table_ == nullptr) table_ = &open();
    return *table_;
  }
  // Its key, read from the file where possible.
  std::string key() {
    {
      const std::scoped_lock lock(mutex_);
      if (key_.empty() && table_ == nullptr) key_ = read_elf_section(path(), key_section_);
      if (!key_.empty()) return key_;
    }
    return get().key;
  }

 protected:
  virtual bool fits(const Table& table) const = 0;  // it is of this version of the plugin

 private:
  std::string path() const {
    Dl_info info{};
    if (dladdr(inside_, &info) == 0 || info.dli_fname == nullptr)
      fail(OST_UNAVAILABLE, "cannot find out where the plugin was loaded from");
    const std::string_view self = info.dli_fname;
    const size_t slash = self.rfind('/');
    return cat(slash == self.npos ? std::string_view(".") : self.substr(0, slash), "/", file_);
  }
  static std::string last_dl_error() {
    const char* text = dlerror();
    return text != nullptr ? text : "unknown error of the dynamic linker";
  }
  const Table& open() const {
    const std::string from = path();
    void* library = dlopen(from.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr)
      fail(OST_UNAVAILABLE, "the plugin can replay but not compile here: ", last_dl_error());
    const auto entry = reinterpret_cast<const Table* (*)()>(dlsym(library, symbol_));
    if (entry == nullptr)
      fail(OST_INCOMPATIBLE, from, " is not the plugin's compiler: ", last_dl_error());
    const Table* table = entry();
    if (table == nullptr || !fits(*table))
      fail(OST_INCOMPATIBLE, from, " belongs to another version of the plugin");
    return *table;
  }

  const void* inside_;
  const char *file_, *symbol_, *key_section_;
  std::mutex mutex_;
  const Table* table_ = nullptr;
  std::string key_;
};

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_COMPANION_HPP_
