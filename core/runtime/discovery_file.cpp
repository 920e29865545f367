#include "core/runtime/discovery_file.hpp"

#include <ostinato/plugin/negotiate.hpp>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr uint32_t kRule = 13;
constexpr uintmax_t kMaxBytes = 64 * 1024;

template <typename... Args>
std::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(
      Error{OST_INCOMPATIBLE, fmt::format(format, std::forward<Args>(args)...), 0, kRule, 0});
}

Result<std::string> read_text(const std::string& path) {
  std::error_code ec;
  const uintmax_t size = fs::file_size(path, ec);
  if (ec) return bad("cannot be read: {}", ec.message());
  if (size > kMaxBytes) return bad("has {} bytes, wanted at most {}", size, kMaxBytes);
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return bad("cannot be read");
  return text;
}

Result<std::string> text_member(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  if (v == nullptr) return bad("member \"{}\" is missing", key);
  if (!v->is_string()) return bad("member \"{}\" is not a string", key);
  return std::string(v->get_string());
}

Result<std::string> text_or(const json::object& o, std::string_view key,
                            std::string_view otherwise) {
  if (!o.contains(key)) return std::string(otherwise);
  return text_member(o, key);
}

std::optional<uint32_t> parse_abi(const json::value& v) {
  if (!v.is_string()) return std::nullopt;
  const std::string_view text = v.get_string();
  uint16_t major = 0;
  uint16_t minor = 0;
  const char* end = text.data() + text.size();
  const auto a = std::from_chars(text.data(), end, major);
  if (a.ec != std::errc() || a.ptr == end || *a.ptr != '.') return std::nullopt;
  const auto b = std::from_chars(a.ptr + 1, end, minor);
  if (b.ec != std::errc() || b.ptr != end) return std::nullopt;
  return uint32_t{major} << 16 | minor;
}

Result<> read_abi(const json::object& o, DiscoveryFile& out) {
  const json::value* v = o.if_contains("abi");
  if (v == nullptr || !v->is_array() || v->get_array().size() != 2) {
    return bad("member \"abi\" is not a pair of versions like [\"1.0\", \"1.0\"]");
  }
  const auto low = parse_abi(v->get_array()[0]);
  const auto high = parse_abi(v->get_array()[1]);
  if (!low || !high || *low > *high)
    return bad("member \"abi\" is not a range of versions like [\"1.0\", \"1.0\"]");
  out.abi_min = *low;
  out.abi_max = *high;
  return {};
}

Result<> read_format(const json::object& o) {
  OST_TRY_ASSIGN(const std::string format, text_member(o, "format"));
  if (format != "ostinato-plugin")
    return bad("format is \"{}\", wanted \"ostinato-plugin\"", format);
  const json::value* v = o.if_contains("format_version");
  if (v == nullptr || !v->is_int64())
    return bad("member \"format_version\" is missing or not a number");
  if (v->get_int64() != 1) return bad("format_version is {}, this host reads 1", v->get_int64());
  return {};
}

Result<> read_sanitizer(const json::object& o, DiscoveryFile& out) {
  OST_TRY_ASSIGN(const std::string text, text_or(o, "sanitizer", "none"));
  for (const uint32_t s : {OST_SANITIZER_NONE, OST_SANITIZER_ADDRESS, OST_SANITIZER_THREAD}) {
    if (text != sanitizer_name(s)) continue;
    out.sanitizer = s;
    return {};
  }
  return bad("sanitizer is \"{}\", wanted none, address or thread", text);
}

Result<DiscoveryFile> read_object(const json::object& o, const fs::path& path) {
  DiscoveryFile out;
  OST_TRY(read_format(o));
  OST_TRY_ASSIGN(const std::string library, text_member(o, "library"));
  if (library.empty() || fs::path(library).is_absolute() ||
      library.find('\0') != std::string::npos) {
    return bad("library is \"{}\", wanted a path relative to this file", library);
  }
  out.library = (path.parent_path() / library).lexically_normal().string();
  const std::string file = path.filename().string();
  OST_TRY_ASSIGN(
      out.name,
      text_or(o, "name", std::string_view(file).substr(0, file.size() - kDiscoverySuffix.size())));
  OST_TRY(read_abi(o, out));
  OST_TRY_ASSIGN(out.arch, text_member(o, "arch"));
  OST_TRY(read_sanitizer(o, out));
  return out;
}

}  // namespace

Result<DiscoveryFile> read_discovery_file(const std::string& path) {
  OST_TRY_ASSIGN(const std::string text, read_text(path));
  json::error_code ec;
  const json::value v = json::parse(text, ec);
  if (ec) return bad("is not JSON: {}", ec.message());
  if (!v.is_object()) return bad("is not a JSON object");
  return read_object(v.get_object(), path);
}

std::string_view host_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv)
  return "riscv64";
#elif defined(__powerpc64__)
  return "ppc64le";
#else
  return "unknown";
#endif
}

uint32_t host_sanitizer() { return plugin::sanitizer_of_build(); }

std::string_view sanitizer_name(uint32_t sanitizer) {
  switch (sanitizer) {
    case OST_SANITIZER_NONE:
      return "none";
    case OST_SANITIZER_ADDRESS:
      return "address";
    case OST_SANITIZER_THREAD:
      return "thread";
    default:
      return "unknown";
  }
}

std::string abi_name(uint32_t abi) { return fmt::format("{}.{}", abi >> 16, abi & 0xffffu); }

bool is_driver_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto rest = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && lower(name[0]) && std::ranges::all_of(name, rest);
}

}  // namespace ost::runtime
