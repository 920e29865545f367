// Parts of the hip plugin by themselves: target ids, images, what code objects say.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "plugins/hip/code_object.hpp"
#include "plugins/hip/image.hpp"
#include "plugins/hip/target.hpp"

namespace hip {
namespace {

using ost::plugin::Failure;

template <class Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(HipTarget, HasAnArchitectureAndItsFeatures) {
  const Target t = parse_target("gfx90a:sramecc+:xnack-");
  EXPECT_EQ(t.architecture, "gfx90a");
  EXPECT_EQ(t.sramecc, std::optional(true));
  EXPECT_EQ(t.xnack, std::optional(false));
  EXPECT_FALSE(parse_target("gfx90a").xnack);
  EXPECT_EQ(parse_target("gfx900:xnack+").xnack, std::optional(true));
  // Of an architecture that is not known here both may be said.
  EXPECT_EQ(parse_target("gfx000:xnack+").xnack, std::optional(true));
}

TEST(HipTarget, RefusesWhatIsNone) {
  for (const char* text : {"", "gfx", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack*",
                           "gfx90a:+", "gfx90a:xnack+:sramecc+", "gfx90a:xnack+:xnack+",
                           "gfx1030:xnack+", "gfx900:sramecc-", "gfx90a:speed+", "gfx90a::xnack+"})
    EXPECT_NE(failure_of([&] { parse_target(text); }).find("wanted"), std::string::npos) << text;
}

TEST(HipTarget, CodeRunsWhereItsFeaturesAreSetTheSame) {
  const auto runs = [](const char* image, const char* device) {
    return runs_on(parse_target(image), parse_target(device));
  };
  EXPECT_TRUE(runs("gfx90a", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(runs("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx90a:xnack-", "gfx90a"));
  EXPECT_FALSE(runs("gfx906", "gfx90a"));
  EXPECT_FALSE(runs("gfx90", "gfx90a"));
  EXPECT_TRUE(runs("gfx11-generic", "gfx1151"));
  EXPECT_TRUE(runs("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx9-4-generic", "gfx90a"));
  EXPECT_FALSE(runs("gfx12-generic", "gfx1100"));
  EXPECT_FALSE(runs("gfx11-generic", "gfx12-generic"));
  EXPECT_FALSE(runs("gfx1100", "gfx11-generic"));
}

TEST(HipTarget, TheTableIsInOrder) {
  for (const Architecture& a : architectures()) {
    EXPECT_EQ(find_architecture(a.name), &a);
    EXPECT_TRUE(a.wave == 32 || a.wave == 64);
    EXPECT_TRUE(a.hip != 0 || a.clang != 0) << a.name;
  }
  EXPECT_EQ(find_architecture("gfx90"), nullptr);
}

// --- code objects

void put(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}
std::string packed(std::string_view text) {
  return std::string(1, static_cast<char>(0xd9)) + static_cast<char>(text.size()) +
         std::string(text);
}

// An object with one segment of notes; `features` are bits of e_flags.
std::string object(std::string_view isa, uint32_t features, uint16_t machine = 224) {
  std::string metadata("\x83");
  metadata += packed("amdhsa.kernels") + "\x91\x81" + packed(".args") + "\xdc" +
              std::string("\0\2", 2) + "\xcd" + std::string("\1\0", 2) + "\xc0";
  metadata += packed("amdhsa.target") + packed(isa);
  metadata += packed("amdhsa.version") + "\x92\x01\x02";
  const Elf64_Nhdr head{7, static_cast<Elf64_Word>(metadata.size()), 32};
  std::string notes;
  put(notes, &head, sizeof head);
  notes += std::string("AMDGPU\0\0", 8) + metadata;
  notes.resize((notes.size() + 3) / 4 * 4);
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_machine = machine;
  elf.e_flags = features << 8;
  elf.e_phoff = sizeof elf;
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof elf + sizeof segment;
  segment.p_filesz = notes.size();
  std::string out;
  put(out, &elf, sizeof elf);
  put(out, &segment, sizeof segment);
  return out + notes;
}

TEST(HipCodeObject, SaysItsTarget) {
  const auto found = read_code_object(object("amdgcn-amd-amdhsa--gfx90a:xnack-", 0x6));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->target, "gfx90a:xnack-");
  EXPECT_EQ(found->features, 0x600u);
  EXPECT_FALSE(read_code_object(""));
  EXPECT_FALSE(
      read_code_object("no code at all, but rather long, so that an ELF head would fit in it"));
  EXPECT_FALSE(read_code_object(object("amdgcn-amd-amdhsa--gfx90a", 0, EM_X86_64)));
}

TEST(HipCodeObject, ADamagedOneFailsAndNothingWorse) {
  const std::string good = object("amdgcn-amd-amdhsa--gfx90a", 0x5);
  for (size_t size = sizeof(Elf64_Ehdr); size < good.size() - 20; ++size)
    EXPECT_NE(failure_of([&] { read_code_object(good.substr(0, size)); }), "no failure") << size;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      failure_of([&] { read_code_object(bad); });  // whatever it is, it returns
    }
  }
}

// --- images

std::string image_of(const std::string& target, const std::string& code) {
  Image image;
  image.target = target;
  image.entry = "k";
  image.params = 2;
  image.vars = 1;
  image.code = code;
  return image_bytes(image);
}
std::string why_bad(const std::string& image) {
  return failure_of([&] { parse_image(std::as_bytes(std::span(image))); });
}

TEST(HipImage, KeepsWhatItIsMadeOf) {
  const std::string bytes = image_of("gfx90a", object("amdgcn-amd-amdhsa--gfx90a", 0x5));
  const Image image = parse_image(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(image.target, "gfx90a");
  EXPECT_EQ(image.entry, "k");
  EXPECT_EQ(image.params, 2u);
  EXPECT_EQ(image.vars, 1u);
  EXPECT_EQ(image.code.substr(1, 3), "ELF");
}

TEST(HipImage, ItsCodeIsForItsTarget) {
  constexpr const char* kIsa = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
  EXPECT_EQ(why_bad(image_of("gfx90a:sramecc+:xnack-", object(kIsa, 0xe))), "no failure");
  for (const char* other : {"gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack+", "gfx942"})
    EXPECT_NE(
        why_bad(image_of(other, object(kIsa, 0xe))).find("its code object for gfx90a:sramecc+"),
        std::string::npos);
  for (const uint32_t flags : {0x0u, 0x5u, 0xfu, 0xau})
    EXPECT_NE(why_bad(image_of("gfx90a:sramecc+:xnack-", object(kIsa, flags))).find("flags"),
              std::string::npos);
  EXPECT_EQ(why_bad(image_of("gfx000", "the code of a stand-in")), "no failure");
}

TEST(HipImage, CutOffOrLongerIsAFailure) {
  const std::string bytes = image_of("gfx90a", object("amdgcn-amd-amdhsa--gfx90a", 0x5));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(why_bad(bytes.substr(0, size)), "no failure") << size;
  EXPECT_NE(why_bad(bytes + "x").find("1 bytes behind the end"), std::string::npos);
}

TEST(HipImage, CountsTheArgumentsOfItsKernel) {
  const auto counts = [](std::string_view source) {
    ImageHead head;
    head.entry = "k";
    read_signature(source, head);
    return std::pair(head.params, head.vars);
  };
  using Pair = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(counts("extern \"C\" __global__ void k(u8* p0, u8* p1, long long v0) {}"), Pair(2, 1));
  EXPECT_EQ(counts("__global__ void k() {}"), Pair(0, 0));
  EXPECT_EQ(counts("__global__ void other(int* a) {}\n__global__ void k(long long v0) {}"),
            Pair(0, 1));
  EXPECT_NE(failure_of([&] { counts("__global__ void kk(int* a) {}"); }), "no failure");
}

}  // namespace
}  // namespace hip
