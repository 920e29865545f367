#include "image.hpp"

#include <cstring>
#include <ostinato/plugin/error.hpp>

namespace levelzero {
namespace {

using ost::plugin::fail;

constexpr std::string_view kMagic = "OSTLZE1\n";
constexpr uint32_t kSpirvMagic = 0x07230203;

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

void check_code(const Image& image) {
  if (image.code.empty()) fail(OST_DATA_LOSS, "the image has no code");
  if (image.kind != ImageKind::spirv) return;
  uint32_t magic = 0;
  if (image.code.size() % 4 == 0) std::memcpy(&magic, image.code.data(), sizeof magic);
  if (magic != kSpirvMagic) fail(OST_DATA_LOSS, "the code of the image is no SPIR-V");
}

}  // namespace

std::string print_image(const ImageHead& head, std::string_view code) {
  std::string out(kMagic);
  put_number(out, static_cast<uint32_t>(head.kind));
  put_text(out, head.target);
  put_text(out, head.entry);
  for (const uint32_t number : {head.params, head.vars, head.lanes, head.local_bytes})
    put_number(out, number);
  put_text(out, code);
  return out;
}

Image parse_image(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!rest.starts_with(kMagic)) fail(OST_INCOMPATIBLE, "not an image of the levelzero driver");
  rest.remove_prefix(kMagic.size());
  Image image;
  const uint32_t kind = take_number(rest);
  if (kind != static_cast<uint32_t>(ImageKind::spirv) &&
      kind != static_cast<uint32_t>(ImageKind::native))
    fail(OST_INCOMPATIBLE, "the image is of kind ", kind, ", wanted 1 (SPIR-V) or 2 (native)");
  image.kind = static_cast<ImageKind>(kind);
  image.target = take_text(rest);
  image.entry = take_text(rest);
  for (uint32_t* number : {&image.params, &image.vars, &image.lanes, &image.local_bytes})
    *number = take_number(rest);
  image.code = take_text(rest);
  if (!rest.empty()) fail(OST_DATA_LOSS, rest.size(), " bytes behind the end of the image");
  check_code(image);
  return image;
}

}  // namespace levelzero
