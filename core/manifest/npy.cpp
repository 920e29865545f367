#include "core/manifest/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/manifest/folder.hpp"
#include "core/manifest/safetensors.hpp"

namespace ost::manifest {
namespace {

constexpr std::array<uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t kMaxHeader = 65536;
constexpr uint64_t kMaxFile = uint64_t{1} << 40;

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

// The header is a Python dictionary literal of three known keys; nothing else is understood, and
// nothing is evaluated.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    unsigned seen = 0;
    OST_TRY(expect('{'));
    while (!accept('}')) {
      OST_TRY_ASSIGN(const std::string key, string());
      OST_TRY(expect(':'));
      const unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
      if (bit == 0) return wrong(fmt::format("unknown key '{}'", key));
      if (seen & bit) return wrong(fmt::format("key '{}' occurs twice", key));
      seen |= bit;
      if (bit == 1)
        OST_TRY(descr(header));
      else if (bit == 2)
        OST_TRY(boolean(header));
      else
        OST_TRY(shape(header));
      if (!accept(',') && peek() != '}') return wrong("want ',' or '}'");
    }
    if (seen != 7) return wrong("want the keys 'descr', 'fortran_order' and 'shape'");
    if (peek() != 0) return wrong("something follows the dictionary");
    return header;
  }

 private:
  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(OST_DATA_LOSS, "the .npy header is malformed at character {}: {}", at_, what);
  }
  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Result<> expect(char c) {
    if (accept(c)) return {};
    return wrong(fmt::format("want '{}'", c));
  }
  Result<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return wrong("want a quoted string");
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) return wrong("the string does not end");
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }
  Result<> descr(Header& header) {
    if (peek() == '[' || peek() == '(')
      return fail(
          OST_UNIMPLEMENTED,
          "the array has a structured element type, which is not supported; save each field alone");
    OST_TRY_ASSIGN(header.descr, string());
    return {};
  }
  Result<> boolean(Header& header) {
    peek();
    const std::string_view rest = text_.substr(at_);
    header.fortran = rest.starts_with("True");
    if (!header.fortran && !rest.starts_with("False")) return wrong("want True or False");
    at_ += header.fortran ? 4 : 5;
    return {};
  }
  Result<> shape(Header& header) {
    OST_TRY(expect('('));
    while (!accept(')')) {
      peek();
      int64_t dim = 0;
      const char* const start = text_.data() + at_;
      const auto [end, code] = std::from_chars(start, text_.data() + text_.size(), dim);
      if (code != std::errc() || dim < 0) return wrong("want a dimension");
      at_ += static_cast<std::size_t>(end - start);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      header.shape.push_back(dim);
      if (header.shape.size() > 64) return wrong("more than 64 dimensions");
      if (!accept(',') && peek() != ')') return wrong("want ',' or ')'");
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct TypeName {
  DType type;
  std::string_view name;
};
constexpr std::array<TypeName, 12> kTypes = {{{DType::boolean, "b1"},
                                              {DType::i8, "i1"},
                                              {DType::i16, "i2"},
                                              {DType::i32, "i4"},
                                              {DType::i64, "i8"},
                                              {DType::u8, "u1"},
                                              {DType::u16, "u2"},
                                              {DType::u32, "u4"},
                                              {DType::u64, "u8"},
                                              {DType::f16, "f2"},
                                              {DType::f32, "f4"},
                                              {DType::f64, "f8"}}};

Result<DType> dtype_of(const std::string& descr, bool& big_endian) {
  const std::string_view order = descr.empty() ? "" : std::string_view(descr).substr(0, 1);
  const std::string_view name = descr.empty() ? "" : std::string_view(descr).substr(1);
  const auto* it = std::ranges::find(kTypes, name, &TypeName::name);
  if (it != kTypes.end() &&
      (order == "<" || order == ">" || order == "=" || (order == "|" && size_of(it->type) == 1))) {
    big_endian = order == ">";
    return it->type;
  }
  std::string_view hint = "known are bool, signed and unsigned integers, f2, f4 and f8";
  if (name.starts_with('O')) hint = "Python objects are never loaded";
  if (name.starts_with('V'))
    hint = "raw bytes have no meaning here; keep bf16 in a .safetensors file";
  if (name.starts_with('c'))
    hint = "complex numbers are not supported; save the real and the imaginary part";
  return fail(OST_UNIMPLEMENTED, "the array has element type '{}': {}", descr.substr(0, 40), hint);
}

void swap_bytes(std::vector<uint8_t>& bytes, uint32_t size) {
  for (std::size_t i = 0; i + size <= bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
}

// Column-major to row-major: walks the result in order and keeps the position in the source.
std::vector<uint8_t> to_row_major(const std::vector<uint8_t>& in, const std::vector<int64_t>& shape,
                                  uint32_t size) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> stride(rank), index(rank, 0);
  std::size_t step = size;
  for (std::size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= static_cast<std::size_t>(shape[d]);
  }
  std::vector<uint8_t> out(in.size());
  std::size_t source = 0;
  for (std::size_t at = 0; at < out.size(); at += size) {
    std::memcpy(out.data() + at, in.data() + source, size);
    for (std::size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < static_cast<std::size_t>(shape[d])) break;
      source -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  return out;
}

Result<std::pair<Header, std::size_t>> read_header(std::span<const uint8_t> bytes) {
  if (bytes.size() < 10 || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
    return fail(OST_DATA_LOSS, "not a .npy file: it does not start with \\x93NUMPY");
  const unsigned major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0)
    return fail(OST_INCOMPATIBLE, ".npy format {}.{}, 1.0 to 3.0 are known", major, minor);
  const std::size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start)
    return fail(OST_DATA_LOSS, "the .npy file ends within its header, at byte {}", bytes.size());
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | bytes[i];
  if (length > kMaxHeader)
    return fail(OST_DATA_LOSS, "the .npy header claims {} bytes, at most {} are read", length,
                kMaxHeader);
  if (length > bytes.size() - start)
    return fail(OST_DATA_LOSS,
                "the .npy header claims {} bytes, the file has {} more: it is truncated", length,
                bytes.size() - start);
  OST_TRY_ASSIGN(
      Header header,
      HeaderParser({reinterpret_cast<const char*>(bytes.data()) + start, length}).parse());
  return std::pair(std::move(header), start + length);
}

}  // namespace

Result<Literal> parse_npy(std::span<const uint8_t> bytes) {
  OST_TRY_ASSIGN(const auto header_and_start, read_header(bytes));
  const auto& [header, start] = header_and_start;
  bool big_endian = false;
  Literal out;
  OST_TRY_ASSIGN(out.dtype, dtype_of(header.descr, big_endian));
  out.shape = header.shape;
  OST_TRY_ASSIGN(const uint64_t wanted, literal_bytes(out.dtype, out.shape));
  if (wanted != bytes.size() - start)
    return fail(OST_DATA_LOSS, "shape [{}] of '{}' needs {} bytes after the header, found {}{}",
                fmt::join(out.shape, ", "), header.descr, wanted, bytes.size() - start,
                wanted > bytes.size() - start ? ": the file is truncated" : "");
  try {
    out.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end());
    if (big_endian) swap_bytes(out.bytes, size_of(out.dtype));
    if (header.fortran && out.shape.size() > 1)
      out.bytes = to_row_major(out.bytes, out.shape, size_of(out.dtype));
  } catch (const std::bad_alloc&) {
    return fail(OST_OUT_OF_MEMORY, "no memory for an array of {} bytes", wanted);
  }
  OST_TRY(check_literal(out));
  return out;
}

Result<std::vector<uint8_t>> npy_header(const Literal& literal) {
  OST_TRY(check_literal(literal));
  const auto* type = std::ranges::find(kTypes, literal.dtype, &TypeName::type);
  if (type == kTypes.end())
    return fail(OST_UNIMPLEMENTED,
                ".npy has no type for {}; write a .safetensors file or cast to f32",
                name_of(literal.dtype));
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  size_of(literal.dtype) == 1 ? '|' : '<', type->name,
                  fmt::join(literal.shape, ", "), literal.shape.size() == 1 ? "," : "");
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::vector<uint8_t> out;
  out.reserve(kMagic.size() + 4 + text.size());
  out.assign(kMagic.begin(), kMagic.end());
  for (const size_t byte : {size_t{1}, size_t{0}, text.size() & 0xff, text.size() >> 8})
    out.push_back(static_cast<uint8_t>(byte));
  out.insert(out.end(), text.begin(), text.end());
  return out;
}

Result<Literal> read_npy(const std::string& path) {
  OST_TRY_ASSIGN(const File file, File::open(path));
  auto bytes = file.read_all(kMaxFile);
  if (!bytes) return std::unexpected(bytes.error().in(path));
  auto literal = parse_npy(*bytes);
  if (!literal) return std::unexpected(literal.error().in(path));
  return literal;
}

Result<> write_npy(const std::string& path, const Literal& literal) {
  const auto header = npy_header(literal);
  if (!header) return std::unexpected(header.error().in(path));
  const auto [folder_path, name] = split_path(path);
  OST_TRY_ASSIGN(const Folder folder, Folder::open(folder_path));
  const std::span<const uint8_t> pieces[] = {*header, literal.bytes};
  return folder.write_file(name, pieces);
}

}  // namespace ost::manifest
