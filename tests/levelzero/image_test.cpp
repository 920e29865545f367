// Images and the binaries of Intel's compiler, as a file from a stranger may have them.
#include "plugins/levelzero/compiler/image.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostinato/plugin/error.hpp>

#include "plugins/levelzero/compiler/compiler.hpp"
#include "plugins/levelzero/compiler/native_binary.hpp"

namespace levelzero {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string spirv_words() {
  std::string out;
  for (const uint32_t word : {0x07230203u, 0x10200u, 0u, 1u, 0u}) put(out, word);
  return out;
}
ImageHead head() {
  ImageHead h;
  h.target = "spirv64";
  h.entry = "k_1";
  h.params = 3;
  h.vars = 1;
  h.lanes = 64;
  h.local_bytes = 256;
  return h;
}

TEST(LevelzeroImage, KeepsWhatItIsGiven) {
  const Image image = parse_image(bytes(print_image(head(), spirv_words())));
  EXPECT_EQ(image.kind, ImageKind::spirv);
  EXPECT_EQ(image.target, "spirv64");
  EXPECT_EQ(image.entry, "k_1");
  EXPECT_EQ(image.params, 3u);
  EXPECT_EQ(image.vars, 1u);
  EXPECT_EQ(image.lanes, 64u);
  EXPECT_EQ(image.local_bytes, 256u);
  EXPECT_EQ(image.code, spirv_words());
}

TEST(LevelzeroImage, ADamagedOneIsRefused) {
  const std::string whole = print_image(head(), spirv_words());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse_image(bytes(whole.substr(0, size))), ost::plugin::Failure) << size;
  EXPECT_THROW(parse_image(bytes(whole + "x")), ost::plugin::Failure);
  EXPECT_THROW(parse_image(bytes(print_image(head(), "no SPIR-V..."))), ost::plugin::Failure);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    try {
      parse_image(bytes(damaged));
    } catch (const ost::plugin::Failure&) {
    }
  }
}

std::string verdict(const ost_device_info_t& info, std::string_view image, ost_fit_t& fit) {
  std::string reason;
  const ost_sink_t sink{&reason, [](void* to, const void* data, uint64_t size) {
                          static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                                                size);
                        }};
  fit = check_image(info, bytes(image), sink);
  return reason;
}

TEST(LevelzeroImage, IsForDevicesThatHaveWhatItNeeds) {
  ost_device_info_t info{};
  info.size = sizeof info;
  ost::plugin::copy_text(info.target, spirv_target(false));
  info.max_group = kMaxGroup;
  info.local_bytes = kLocalBytes;
  const std::string image = print_image(head(), spirv_words());
  ost_fit_t fit = 0;
  EXPECT_EQ(verdict(info, image, fit), "");
  EXPECT_EQ(fit, ost_fit_t{OST_FIT_OPTIMAL});
  info.max_group = 32;
  EXPECT_EQ(verdict(info, image, fit), "the kernel has groups of 64, the device 32");
  EXPECT_EQ(fit, ost_fit_t{OST_FIT_UNUSABLE});
  info.max_group = 256;
  info.local_bytes = 255;
  EXPECT_EQ(verdict(info, image, fit), "the kernel has 256 bytes of local memory, the device 255");
  info.local_bytes = 256;
  ost::plugin::copy_text(info.target, "pvc");
  EXPECT_EQ(verdict(info, image, fit), "the image is for spirv64");
  EXPECT_EQ(verdict(info, "OSTHIP1\n", fit), "not an image of the levelzero driver");
}

// --- binaries

std::string patch_tokens(std::string_view kernel, uint32_t code_bytes) {
  std::string out;
  for (const uint32_t word : {0x494e5443u, 1081u, 3079u, 8u, 2u, 0u, 4u}) put(out, word);
  put(out, uint32_t{0});  // a token of the program
  for (const std::string_view name : {std::string_view("other"), kernel}) {
    const auto name_bytes = static_cast<uint32_t>((name.size() + 4) / 4 * 4);
    for (const uint32_t word : {0u, 0u, 0u, name_bytes, 8u, 64u, 0u, 32u, 12u, code_bytes})
      put(out, word);
    out += std::string(name) + std::string(name_bytes - name.size(), '\0');
    out += std::string(64 + 32 + 12 + 8, '\x11');
  }
  return out;
}

std::string elf(uint32_t type, const std::string& section, const std::string& name) {
  const std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_shnum = 3;
  h.e_shstrndx = 2;
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shoff = sizeof h + section.size() + names.size();
  std::string out;
  put(out, h);
  out += section + names;
  Elf64_Shdr none{}, body{}, strings{};
  body.sh_name = 1;
  body.sh_type = type;
  body.sh_offset = sizeof h;
  body.sh_size = section.size();
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof h + section.size();
  strings.sh_size = names.size();
  for (const Elf64_Shdr& s : {none, body, strings}) put(out, s);
  return out;
}

constexpr uint32_t kDeviceBinary = 0xff000005;

TEST(NativeBinary, HasInstructionsOfTheKernelOrNot) {
  const std::string tokens = elf(kDeviceBinary, patch_tokens("k_1", 48), ".binary");
  EXPECT_EQ(instructions_of(tokens, "k_1"), 48u);
  EXPECT_EQ(instructions_of(tokens, "k_2"), 0u);
  EXPECT_EQ(instructions_of(tokens, "k_"), 0u);
  EXPECT_EQ(instructions_of(elf(kDeviceBinary, patch_tokens("k_1", 0), ".binary"), "k_1"), 0u);
  EXPECT_EQ(instructions_of(elf(kDeviceBinary, patch_tokens("k_1", 65), ".binary"), "k_1"), 0u);
  const std::string zebin = elf(SHT_PROGBITS, std::string(80, '\x22'), ".text.k_1");
  EXPECT_EQ(instructions_of(zebin, "k_1"), 80u);
  EXPECT_EQ(instructions_of(zebin, "k_11"), 0u);
  EXPECT_EQ(instructions_of(elf(kDeviceBinary, zebin, ".binary"), "k_1"), 80u);
  EXPECT_EQ(instructions_of("", "k_1"), 0u);
  EXPECT_EQ(instructions_of("CTNI", "k_1"), 0u);
}

TEST(NativeBinary, DamageIsNoCrash) {
  for (const std::string& whole : {elf(kDeviceBinary, patch_tokens("k_1", 48), ".binary"),
                                   elf(SHT_PROGBITS, std::string(80, '\x22'), ".text.k_1")}) {
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_LE(instructions_of(whole.substr(0, size), "k_1"), size);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0x00, 0x7f, 0xff}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(value);
        EXPECT_LE(instructions_of(damaged, "k_1"), whole.size());
      }
    }
  }
}

}  // namespace
}  // namespace levelzero
