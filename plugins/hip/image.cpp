#include "image.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "code_object.hpp"
#include "target.hpp"

namespace hip {
namespace {

using ost::plugin::fail;

constexpr std::string_view kMagic = "OSTHIP1\n";

void put_number(std::string& out, uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_text(std::string& out, std::string_view text) {
  put_number(out, static_cast<uint32_t>(text.size()));
  out += text;
}
std::string_view take(std::string_view& rest, size_t size) {
  if (rest.size() < size) fail(OST_DATA_LOSS, "the image is cut off");
  const std::string_view text = rest.substr(0, size);
  rest.remove_prefix(size);
  return text;
}
uint32_t take_number(std::string_view& rest) {
  uint32_t number = 0;
  std::memcpy(&number, take(rest, sizeof number).data(), sizeof number);
  return number;
}
std::string take_text(std::string_view& rest) {
  const uint32_t size = take_number(rest);
  return std::string(take(rest, size));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The bits of e_flags that say the same as the target id: 0 is a feature that the architecture has
// not or, in generic code, that is not said; 1 either, 2 off, 3 on.
bool agrees(uint32_t bits, std::optional<bool> feature) {
  return feature ? bits == (*feature ? 3u : 2u) : bits <= 1;
}

void check_object(const Image& image) {
  const auto object = read_code_object(image.code);
  if (!object) return;
  const Target said = parse_target(image.target), found = parse_target(object->target);
  if (said.architecture != found.architecture || said.xnack != found.xnack ||
      said.sramecc != found.sramecc)
    fail(OST_DATA_LOSS, "the image is for ", image.target, ", its code object for ",
         object->target);
  if (!agrees(object->features >> 8 & 3, found.xnack) ||
      !agrees(object->features >> 10 & 3, found.sramecc))
    fail(OST_DATA_LOSS, "the code object for ", object->target, " has the flags ", object->features,
         ", which say something else");
}

}  // namespace

std::string image_bytes(const Image& image) {
  std::string out(kMagic);
  put_text(out, image.target);
  put_text(out, image.entry);
  put_number(out, image.params);
  put_number(out, image.vars);
  put_text(out, image.code);
  return out;
}

Image parse_image(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!rest.starts_with(kMagic)) fail(OST_INCOMPATIBLE, "not an image of the hip driver");
  rest.remove_prefix(kMagic.size());
  Image image;
  image.target = take_text(rest);
  image.entry = take_text(rest);
  image.params = take_number(rest);
  image.vars = take_number(rest);
  image.code = take_text(rest);
  if (!rest.empty()) fail(OST_DATA_LOSS, rest.size(), " bytes behind the end of the image");
  check_object(image);
  return image;
}

// The arguments of `... __global__ ... entry(u8* p0, ..., long long v0, ...)`: pointers, then
// integers.
void read_signature(std::string_view source, ImageHead& head) {
  for (size_t at = source.find("__global__"); at != std::string_view::npos;
       at = source.find("__global__", at + 1)) {
    const size_t name = source.find(head.entry + "(", at);
    if (name == std::string_view::npos) break;
    if (is_word(source[name - 1])) continue;
    const size_t open = name + head.entry.size();
    const size_t close = source.find(')', open);
    if (close == std::string_view::npos) break;
    const std::string_view list = source.substr(open + 1, close - open - 1);
    if (list.empty()) return;
    head.params = static_cast<uint32_t>(std::ranges::count(list, '*'));
    head.vars = static_cast<uint32_t>(std::ranges::count(list, ',')) + 1 - head.params;
    return;
  }
  fail(OST_COMPILE_FAILED, "the source has no kernel '", head.entry, "'");
}

}  // namespace hip
