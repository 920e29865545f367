// A library beside a plugin: what is read of its file without loading it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostinato/plugin/companion.hpp>

namespace ost::plugin {
namespace {

[[gnu::section(".ostinato_test"), gnu::used]] constexpr char kText[] = "llvm-1.2/3";

std::string own_file() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class Damaged {
 public:
  explicit Damaged(const std::string& bytes)
      : path_((std::filesystem::temp_directory_path() / cat("ostinato-elf-", getpid())).string()) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~Damaged() { std::filesystem::remove(path_); }
  std::string read() const { return read_elf_section(path_, ".ostinato_test"); }

 private:
  std::string path_;
};

TEST(Companion, ASectionIsReadFromTheFile) {
  EXPECT_EQ(read_elf_section(own_file(), ".ostinato_test"), kText);
  EXPECT_EQ(read_elf_section(own_file(), ".ostinato_test2"), "");
  EXPECT_EQ(read_elf_section(own_file(), ".bss"), "");
  EXPECT_EQ(read_elf_section("/nowhere/lib.so", ".ostinato_test"), "");
  EXPECT_EQ(read_elf_section("/", ".ostinato_test"), "");
}

TEST(Companion, ADamagedFileHasNone) {
  std::ifstream in(own_file(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(Damaged("").read(), "");
  for (const size_t size : {size_t{3}, size_t{4}, size_t{63}, size_t{64}, whole.size() / 2})
    EXPECT_EQ(Damaged(whole.substr(0, size)).read(), "") << size;
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const auto with = [&](auto change) {
    Elf64_Ehdr changed = header;
    change(changed);
    std::string bytes = whole;
    std::memcpy(bytes.data(), &changed, sizeof changed);
    return Damaged(bytes).read();
  };
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shoff = UINT64_MAX; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shoff += 64; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shnum = 0; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shstrndx = h.e_shnum; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shentsize = 1; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }), "");
  EXPECT_EQ(with([](Elf64_Ehdr& h) { h.e_shnum = 0xffff; }), "");
}

struct Table {
  uint32_t abi;
  const char* key;
};
class Missing : public ost::plugin::Companion<Table> {
 public:
  Missing() : Companion(&kText, "libthere_is_none.so", "entry", ".key") {}

 protected:
  bool fits(const Table& table) const override { return table.abi == 1; }
};

TEST(Companion, AMissingLibraryIsAnErrorWithItsPath) {
  Missing missing;
  try {
    missing.get();
    FAIL() << "it was found";
  } catch (const Failure& why) {
    EXPECT_EQ(why.status(), ost_status_t{OST_UNAVAILABLE});
    EXPECT_NE(std::string(why.what()).find("libthere_is_none.so"), std::string::npos);
  }
  EXPECT_THROW(missing.key(), Failure);
}

}  // namespace
}  // namespace ost::plugin
