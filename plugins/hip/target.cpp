#include "target.hpp"

#include <algorithm>

namespace hip {
namespace {

using ost::plugin::fail;

constexpr int kOld = 52, kNew = 60, kRecent = 64, kLast = 70;  // of hipRTC
constexpr int kClang = 19;                                     // older ones are not used at all

// hipRTC: 5.2 as measured; later ones by AMD's lists of supported GPUs, and never early: compiling
// asks the compiler's own list, clang makes what hipRTC is too old for.
constexpr Architecture kAll[] = {
    {"gfx600", 64, 64, false, false, kOld, kClang, ""},
    {"gfx601", 64, 64, false, false, kOld, kClang, ""},
    {"gfx602", 64, 64, false, false, kOld, kClang, ""},
    {"gfx700", 64, 64, false, false, kOld, kClang, ""},
    {"gfx701", 64, 64, false, false, kOld, kClang, ""},
    {"gfx702", 64, 64, false, false, kOld, kClang, ""},
    {"gfx703", 64, 64, false, false, kOld, kClang, ""},
    {"gfx704", 64, 64, false, false, kOld, kClang, ""},
    {"gfx705", 64, 64, false, false, kOld, kClang, ""},
    {"gfx801", 64, 64, false, true, kOld, kClang, ""},
    {"gfx802", 64, 64, false, false, kOld, kClang, ""},
    {"gfx803", 64, 64, false, false, kOld, kClang, ""},
    {"gfx805", 64, 64, false, false, kOld, kClang, ""},
    {"gfx810", 64, 64, false, true, kOld, kClang, ""},
    {"gfx900", 64, 64, false, true, kOld, kClang, ""},
    {"gfx902", 64, 64, false, true, kOld, kClang, ""},
    {"gfx904", 64, 64, false, true, kOld, kClang, ""},
    {"gfx906", 64, 64, true, true, kOld, kClang, ""},
    {"gfx908", 64, 64, true, true, kOld, kClang, ""},
    {"gfx909", 64, 64, false, true, kOld, kClang, ""},
    {"gfx90a", 64, 64, true, true, kOld, kClang, ""},
    {"gfx90c", 64, 64, false, true, kOld, kClang, ""},
    {"gfx942", 64, 64, true, true, kNew, kClang, ""},
    {"gfx950", 64, 160, true, true, kLast, 20, ""},
    {"gfx1010", 32, 64, false, true, kOld, kClang, ""},
    {"gfx1011", 32, 64, false, true, kOld, kClang, ""},
    {"gfx1012", 32, 64, false, true, kOld, kClang, ""},
    {"gfx1013", 32, 64, false, true, kOld, kClang, ""},
    {"gfx1030", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1031", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1032", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1033", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1034", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1035", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1036", 32, 64, false, false, kOld, kClang, ""},
    {"gfx1100", 32, 64, false, false, kNew, kClang, ""},
    {"gfx1101", 32, 64, false, false, kNew, kClang, ""},
    {"gfx1102", 32, 64, false, false, kNew, kClang, ""},
    {"gfx1103", 32, 64, false, false, kNew, kClang, ""},
    {"gfx1150", 32, 64, false, false, kLast, kClang, ""},
    {"gfx1151", 32, 64, false, false, kLast, kClang, ""},
    {"gfx1200", 32, 64, false, false, kRecent, kClang, ""},
    {"gfx1201", 32, 64, false, false, kRecent, kClang, ""},
    {"gfx9-4-generic", 64, 64, true, true, kLast, 20, "gfx94 gfx95"},
    {"gfx11-generic", 32, 64, false, false, kLast, kClang, "gfx11"},
    {"gfx12-generic", 32, 64, false, false, kLast, kClang, "gfx12"},
};

bool generic_covers(std::string_view generic, std::string_view name) {
  const Architecture* a = find_architecture(generic);
  if (a == nullptr || a->like.empty()) return false;
  std::string_view rest = a->like;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (name.starts_with(rest.substr(0, end)) && !name.ends_with("generic")) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// "sramecc+"
void read_feature(std::string_view text, std::string_view whole, Target& out) {
  const char sign = text.empty() ? ' ' : text.back();
  const std::string_view name = text.substr(0, text.empty() ? 0 : text.size() - 1);
  std::optional<bool>* feature = name == "sramecc" ? &out.sramecc
                                 : name == "xnack" ? &out.xnack
                                                   : nullptr;
  const Architecture* a = find_architecture(out.architecture);
  const bool has = a == nullptr || (name == "sramecc" ? a->sramecc : a->xnack);
  const bool order = name == "sramecc" ? !out.xnack && !out.sramecc : !out.xnack;
  if (feature == nullptr || (sign != '+' && sign != '-') || !has || !order)
    fail(OST_INVALID_ARGUMENT, "target '", whole, "': wanted ", out.architecture,
         a == nullptr || a->sramecc ? "[:sramecc+|-]" : "",
         a == nullptr || a->xnack ? "[:xnack+|-]" : "");
  *feature = sign == '+';
}

}  // namespace

std::span<const Architecture> architectures() { return kAll; }

const Architecture* find_architecture(std::string_view name) {
  const auto it = std::ranges::find(kAll, name, &Architecture::name);
  return it == std::end(kAll) ? nullptr : it;
}

Target parse_target(std::string_view text) {
  Target out;
  const size_t end = std::min(text.find(':'), text.size());
  out.architecture = text.substr(0, end);
  if (out.architecture.size() < 4 || !out.architecture.starts_with("gfx"))
    fail(OST_INVALID_ARGUMENT, "target '", text, "': wanted gfxN or gfxN:FEATURE+");
  std::string_view rest = text.substr(end);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t stop = std::min(rest.find(':'), rest.size());
    read_feature(rest.substr(0, stop), text, out);
    rest.remove_prefix(stop);
  }
  return out;
}

bool runs_on(const Target& image, const Target& device) {
  const auto fits = [](std::optional<bool> made, std::optional<bool> has) {
    return !made || made == has;
  };
  return (image.architecture == device.architecture ||
          generic_covers(image.architecture, device.architecture)) &&
         fits(image.sramecc, device.sramecc) && fits(image.xnack, device.xnack);
}

}  // namespace hip
