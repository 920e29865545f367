#include <cstring>
#include <ostinato/llvm/spirv.hpp>

namespace ostinato::kir {
namespace {

// Numbers of the SPIR-V specification.
enum Opcode : uint32_t {
  kExtension = 10,
  kExtInstImport = 11,
  kCapability = 17,
  kTypeInt = 21,
  kFunction = 54,
  kFunctionEnd = 56,
  kIAddCarry = 149,
  kSMulExtended = 152,
  kLabel = 248
};
constexpr uint32_t kMagic = 0x07230203;

// Addresses, Linkage, Kernel, Int64, Int16, GenericPointer, Int8; f64 where it is wanted.
constexpr uint32_t kCapabilities[] = {4, 5, 6, 11, 22, 38, 39}, kFloat64 = 10;

std::string wrong_instruction(uint32_t opcode, const uint32_t* words, uint32_t count, bool fp64) {
  const auto word = [&](uint32_t i) { return i < count ? words[i] : 0; };
  switch (opcode) {
    case kExtension:
      return "an extension";
    case kCapability:
      if (llvm::is_contained(kCapabilities, word(1)) || (fp64 && word(1) == kFloat64)) return "";
      return "capability " + std::to_string(word(1));
    case kTypeInt:
      return word(2) == 8 || word(2) == 16 || word(2) == 32 || word(2) == 64
                 ? ""
                 : "an integer of " + std::to_string(word(2)) + " bits";
    default:
      return opcode >= kIAddCarry && opcode <= kSMulExtended ? "arithmetic with carry" : "";
  }
}

}  // namespace

std::string check_spirv(llvm::StringRef bytes, bool fp64) {
  constexpr size_t kHeader = 5;
  std::vector<uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  if (bytes.size() % 4 != 0 || words.size() < kHeader || words[0] != kMagic)
    return "no header of SPIR-V";
  if (words[1] != 0x00010200)
    return "version " + std::to_string(words[1] >> 8 & 0xff) + ", wanted 1.2";
  bool defined = true;
  for (size_t at = kHeader; at < words.size();) {
    const uint32_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return "an instruction that is cut off";
    const uint32_t opcode = words[at] & 0xffff;
    if (opcode == kFunction || opcode == kLabel) defined = opcode == kLabel;
    if (opcode == kFunctionEnd && !defined) return "a function that it does not define";
    std::string wrong = wrong_instruction(opcode, &words[at], count, fp64);
    if (!wrong.empty()) return wrong;
    at += count;
  }
  return "";
}

}  // namespace ostinato::kir
