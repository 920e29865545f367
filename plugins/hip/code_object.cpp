#include "code_object.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <ostinato/plugin/error.hpp>

namespace hip {
namespace {

using ost::plugin::fail;

constexpr uint16_t kMachine = 224;  // EM_AMDGPU
constexpr uint32_t kMetadata = 32;  // NT_AMDGPU_METADATA
constexpr uint32_t kFeatures = 0xf00;

[[noreturn]] void damaged(std::string_view what) {
  fail(OST_DATA_LOSS, "the code object is damaged: ", what);
}

std::string_view part(std::string_view bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) damaged("something lies behind its end");
  return bytes.substr(at, size);
}

template <class T>
T read(std::string_view bytes, uint64_t at) {
  T out;
  std::memcpy(&out, part(bytes, at, sizeof out).data(), sizeof out);
  return out;
}

// --- MessagePack, as much as is needed to walk over values

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // A map gives the number of its pairs.
  uint64_t map() {
    const uint8_t kind = byte();
    if ((kind & 0xf0) == 0x80) return kind & 0x0f;
    if (kind == 0xde || kind == 0xdf) return big(kind == 0xde ? 2 : 4);
    damaged("its metadata is no map");
  }
  std::string_view text() {
    const uint8_t kind = byte();
    if ((kind & 0xe0) == 0xa0) return take(kind & 0x1f);
    if (kind >= 0xd9 && kind <= 0xdb) return take(big(1u << (kind - 0xd9)));
    damaged("its metadata has no text where one is wanted");
  }
  void skip(int depth = 0) {
    if (depth > 32) damaged("its metadata is too deep");
    const auto kind = static_cast<uint8_t>(rest_.empty() ? 0 : rest_[0]);
    if ((kind & 0xf0) == 0x80 || kind == 0xde || kind == 0xdf) return skip_all(2 * map(), depth);
    byte();
    if ((kind & 0xe0) == 0xa0) return void(take(kind & 0x1f));
    if ((kind & 0xf0) == 0x90) return skip_all(kind & 0x0f, depth);
    if (kind == 0xdc || kind == 0xdd) return skip_all(big(kind == 0xdc ? 2 : 4), depth);
    if (kind >= 0xd9 && kind <= 0xdb) return void(take(big(1u << (kind - 0xd9))));
    if (kind >= 0xc4 && kind <= 0xc6) return void(take(big(1u << (kind - 0xc4))));
    if (kind == 0xca || kind == 0xcb) return void(take(kind == 0xca ? 4 : 8));
    if (kind >= 0xcc && kind <= 0xcf) return void(take(1u << (kind - 0xcc)));
    if (kind >= 0xd0 && kind <= 0xd3) return void(take(1u << (kind - 0xd0)));
    if (kind < 0x80 || kind >= 0xe0 || kind == 0xc0 || kind == 0xc2 || kind == 0xc3) return;
    damaged("its metadata has a value of an unknown kind");
  }

 private:
  void skip_all(uint64_t count, int depth) {
    for (uint64_t i = 0; i < count; ++i) skip(depth + 1);
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t big(unsigned bytes) {
    uint64_t out = 0;
    for (const char c : take(bytes)) out = out << 8 | static_cast<uint8_t>(c);
    return out;
  }
  std::string_view take(uint64_t size) {
    const std::string_view out = part(rest_, 0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_;
};

std::string target_of(std::string_view metadata) {
  Reader reader(metadata);
  for (uint64_t pairs = reader.map(); pairs > 0; --pairs) {
    if (reader.text() != "amdhsa.target") {
      reader.skip();
      continue;
    }
    const std::string_view isa = reader.text();
    const size_t at = isa.rfind("--");
    if (at == std::string_view::npos) damaged("its target has no architecture");
    return std::string(isa.substr(at + 2));
  }
  damaged("its metadata has no target");
}

uint64_t padded(uint64_t size) { return (size + 3) / 4 * 4; }

// The metadata among the notes of a segment; empty if it is not there.
std::string_view metadata_in(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    const auto head = read<Elf64_Nhdr>(notes, 0);
    const uint64_t name_at = sizeof head, body_at = name_at + padded(head.n_namesz);
    const std::string_view name = part(notes, name_at, head.n_namesz);
    const std::string_view body = part(notes, body_at, head.n_descsz);
    if (head.n_type == kMetadata && name.starts_with("AMDGPU")) return body;
    notes.remove_prefix(std::min<uint64_t>(body_at + padded(head.n_descsz), notes.size()));
  }
  return {};
}

}  // namespace

std::optional<CodeObject> read_code_object(std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  const auto head = read<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != kMachine)
    return std::nullopt;
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    damaged("its head is of another kind");
  CodeObject out;
  out.features = head.e_flags & kFeatures;
  part(bytes, head.e_shoff, uint64_t{head.e_shnum} * head.e_shentsize);  // at the end of the file
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(bytes, head.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NOTE) continue;
    const std::string_view metadata = metadata_in(part(bytes, segment.p_offset, segment.p_filesz));
    if (metadata.empty()) continue;
    out.target = target_of(metadata);
    return out;
  }
  damaged("it has no metadata");
}

}  // namespace hip
