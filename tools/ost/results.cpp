#include "results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "interrupt.hpp"
#include "suggest.hpp"

namespace {

constexpr std::size_t kPrintedElements = 64;

std::string sha256(const ostinato::Array& a) {
  char hex[65];
  ost_sha256(a.bytes.data(), a.bytes.size(), hex);
  return hex;
}

double half_value(std::uint16_t h, ost_dtype_t dtype) {
  if (dtype == OST_DTYPE_BF16) {
    const std::uint32_t u = static_cast<std::uint32_t>(h) << 16;
    float f;
    std::memcpy(&f, &u, sizeof f);
    return f;
  }
  const int exponent = (h >> 10) & 31;
  const double mantissa = h & 1023;
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

template <typename T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Shortest text that reads back to the same number.
std::string element_text(const unsigned char* at, ost_dtype_t dtype) {
  switch (dtype) {
    case OST_DTYPE_BOOL:
      return *at != 0 ? "true" : "false";
    case OST_DTYPE_I8:
      return std::to_string(load<std::int8_t>(at));
    case OST_DTYPE_I16:
      return std::to_string(load<std::int16_t>(at));
    case OST_DTYPE_I32:
      return std::to_string(load<std::int32_t>(at));
    case OST_DTYPE_I64:
      return std::to_string(load<std::int64_t>(at));
    case OST_DTYPE_U8:
      return std::to_string(load<std::uint8_t>(at));
    case OST_DTYPE_U16:
      return std::to_string(load<std::uint16_t>(at));
    case OST_DTYPE_U32:
      return std::to_string(load<std::uint32_t>(at));
    case OST_DTYPE_U64:
      return std::to_string(load<std::uint64_t>(at));
    case OST_DTYPE_F32:
      return fmt::format("{}", load<float>(at));
    case OST_DTYPE_F64:
      return fmt::format("{}", load<double>(at));
    default:
      return fmt::format("{}", static_cast<float>(half_value(load<std::uint16_t>(at), dtype)));
  }
}

std::string values_text(const ostinato::Array& a, std::size_t axis, std::size_t& at,
                        std::size_t indent) {
  if (axis == a.shape.size()) {
    const std::string text = element_text(a.bytes.data() + at, a.dtype);
    at += ost_dtype_bytes(a.dtype);
    return text;
  }
  std::string out = "[";
  const bool is_last = axis + 1 == a.shape.size();
  for (std::int64_t i = 0; i < a.shape[axis]; ++i) {
    if (i > 0) out += is_last ? ", " : ",\n" + std::string(indent + 1, ' ');
    out += values_text(a, axis + 1, at, indent + 1);
  }
  return out + "]";
}

std::string type_text(const ostinato::Array& a) {
  return fmt::format("{}[{}]", ost_dtype_text(a.dtype), fmt::join(a.shape, ", "));
}

std::vector<std::string> names_of(const std::vector<Result>& results) {
  std::vector<std::string> names;
  for (const Result& r : results) names.push_back(r.name);
  return names;
}

}  // namespace

std::vector<Result> read_results(const ostinato::Instance& instance) {
  std::vector<Result> results;
  for (const ostinato::Type& type : instance.program().outputs()) {
    results.push_back({type.name, instance.output(static_cast<std::uint32_t>(results.size()))});
  }
  return results;
}

Json results_json(const std::vector<Result>& results) {
  Json list = Json::array();
  for (const Result& r : results) {
    Json shape = Json::array();
    for (const std::int64_t d : r.array.shape) shape.add(d);
    list.add(Json::object()
                 .add("name", r.name)
                 .add("dtype", ost_dtype_text(r.array.dtype))
                 .add("shape", shape)
                 .add("sha256", sha256(r.array)));
  }
  return list;
}

void print_results(const std::vector<Result>& results) {
  for (const Result& r : results) {
    fmt::print("{} {} sha256 {}\n", r.name, type_text(r.array), sha256(r.array));
    if (r.array.count() == 0 || r.array.count() > kPrintedElements) continue;
    std::size_t at = 0;
    fmt::print("{}\n", values_text(r.array, 0, at, 0));
  }
}

void write_results(const std::vector<Result>& results, const std::vector<std::string>& outputs) {
  for (const std::string& text : outputs) {
    check_interrupt();
    ostinato::Archive archive;
    std::string path = text;
    const std::string name = text.substr(0, text.find('='));
    const auto named = std::ranges::find(results, name, &Result::name);
    if (name.size() < text.size() && named != results.end()) {
      path = text.substr(name.size() + 1);
      archive.add(named->name, named->array.view());
    } else if (name.size() < text.size() && name.find_first_of("/.") == std::string::npos) {
      throw Failure(kUsage, fmt::format("--output {}: the program has no output '{}'; it has: {}",
                                        text, name, fmt::join(names_of(results), ", ")));
    } else {
      for (const Result& r : results) archive.add(r.name, r.array.view());
    }
    if (path.ends_with(".npy") && archive.size() > 1) {
      throw Failure(kUsage, fmt::format("--output {}: a .npy file holds one array, the program has "
                                        "{} outputs ({}); use .npz or NAME=FILE",
                                        path, results.size(), fmt::join(names_of(results), ", ")));
    }
    archive.save(path);
  }
}
