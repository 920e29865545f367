#include "spirv.hpp"

#include <cstring>
#include <set>
#include <stdexcept>

namespace standin {
namespace {

// Numbers of the SPIR-V specification.
enum Op : uint32_t {
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypePointer = 32,
  kTypeFunction = 33,
  kConstantFalse = 42,
  kConstant = 43,
  kConstantNull = 46,
  kFunction = 54,
  kFunctionEnd = 56
};
constexpr uint32_t kMagic = 0x07230203, kHeaderWords = 5;
constexpr uint32_t kCapabilityFloat64 = 10, kModelKernel = 6, kModeLocalSize = 17,
                   kStorageWorkgroup = 4;

class Reader {
 public:
  explicit Reader(bool without_null) : without_null_(without_null) {}

  SpirvModule read(const std::vector<uint32_t>& words) {
    if (words.size() < kHeaderWords || words[0] != kMagic)
      throw std::runtime_error("not a SPIR-V module");
    out_.words.assign(words.begin(), words.begin() + kHeaderWords);
    for (size_t at = kHeaderWords; at < words.size();) {
      const uint32_t count = words[at] >> 16;
      if (count == 0 || count > words.size() - at)
        throw std::runtime_error("the SPIR-V module is cut off");
      const std::span<const uint32_t> operands(&words[at + 1], count - 1);
      const uint32_t op = words[at] & 0xffff;
      note(op, operands);
      if (op != kConstantNull || !without_null_ || !zero(operands))
        out_.words.insert(out_.words.end(), words.begin() + static_cast<long>(at),
                          words.begin() + static_cast<long>(at + count));
      at += count;
    }
    if (inside_) throw std::runtime_error("the SPIR-V module is cut off in a function");
    if (out_.kernels.empty()) throw std::runtime_error("the SPIR-V module has no kernel");
    return std::move(out_);
  }

 private:
  static void require(std::span<const uint32_t> operands, size_t count) {
    if (operands.size() < count) throw std::runtime_error("a SPIR-V instruction is too short");
  }

  void note(uint32_t op, std::span<const uint32_t> o) {
    switch (op) {
      case kCapability:
        require(o, 1);
        out_.fp64 |= o[0] == kCapabilityFloat64;
        break;
      case kEntryPoint:
        require(o, 3);
        if (o[0] == kModelKernel)
          names_[o[1]] = std::string(
              reinterpret_cast<const char*>(&o[2]),
              strnlen(reinterpret_cast<const char*>(&o[2]), (o.size() - 2) * sizeof(uint32_t)));
        break;
      case kExecutionMode:
        require(o, 2);
        if (o[1] == kModeLocalSize && o.size() >= 5) groups_[o[0]] = {o[2], o[3], o[4]};
        break;
      case kTypeBool:
        require(o, 1);
        bools_.insert(o[0]);
        break;
      case kTypeInt:
      case kTypeFloat:
        require(o, 2);
        numbers_[o[0]] = o[1];
        sizes_[o[0]] = o[1] / 8;
        break;
      case kTypeVector:
        require(o, 3);
        sizes_[o[0]] = sizes_[o[1]] * (o[2] == 3 ? 4 : o[2]);
        break;
      case kTypePointer:
        require(o, 2);
        pointers_[o[0]] = o[1];
        break;
      case kTypeFunction:
        require(o, 2);
        functions_[o[0]].assign(o.begin() + 2, o.end());
        break;
      case kFunction:
        require(o, 4);
        note_function(o[1], o[3]);
        inside_ = true;
        break;
      case kFunctionEnd:
        inside_ = false;
        break;
      default:
        break;
    }
  }

  void note_function(uint32_t id, uint32_t type) {
    const auto name = names_.find(id);
    if (name == names_.end()) return;
    KernelInfo kernel;
    for (const uint32_t t : functions_[type]) {
      const auto pointer = pointers_.find(t);
      if (pointer == pointers_.end())
        kernel.arguments.push_back({ArgumentKind::kValue, sizes_[t]});
      else if (pointer->second == kStorageWorkgroup)
        kernel.arguments.push_back({ArgumentKind::kLocal, 0});
      else
        kernel.arguments.push_back({ArgumentKind::kGlobal, sizeof(void*)});
    }
    if (const auto group = groups_.find(id); group != groups_.end()) kernel.group = group->second;
    out_.kernels[name->second] = kernel;
  }

  // OpConstantNull of a number or a bool, written in another way.
  bool zero(std::span<const uint32_t> o) {
    require(o, 2);
    const auto put = [&](Op op, uint32_t zeros) {
      out_.words.push_back((3 + zeros) << 16 | op);
      out_.words.push_back(o[0]);
      out_.words.push_back(o[1]);
      out_.words.insert(out_.words.end(), zeros, 0);
      return true;
    };
    if (const auto number = numbers_.find(o[0]); number != numbers_.end())
      return put(kConstant, number->second > 32 ? 2 : 1);
    return bools_.contains(o[0]) && put(kConstantFalse, 0);
  }

  bool without_null_;
  SpirvModule out_;
  bool inside_ = false;  // of a function
  // by id
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, std::array<uint32_t, 3>> groups_;
  std::map<uint32_t, uint32_t> numbers_, pointers_;  // bits; storage class
  std::map<uint32_t, size_t> sizes_;
  std::map<uint32_t, std::vector<uint32_t>> functions_;  // types of the arguments
  std::set<uint32_t> bools_;
};

}  // namespace

SpirvModule parse_spirv(std::span<const uint8_t> bytes, bool without_null) {
  if (bytes.size() % sizeof(uint32_t) != 0)
    throw std::runtime_error("a SPIR-V module of " + std::to_string(bytes.size()) + " bytes");
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return Reader(without_null).read(words);
}

}  // namespace standin
