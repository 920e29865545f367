// Data for the inputs of a call, and the devices that it runs on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "subject.hpp"
#include "suggest.hpp"

namespace {

// SplitMix64: the same numbers on every machine, for a seed and a name.
class Numbers {
 public:
  Numbers(std::uint64_t seed, const std::string& name) : state_(seed) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [-1, 1), a multiple of 2^-10, so that every float type holds it.
  double unit() {
    return static_cast<double>(static_cast<std::int64_t>(next() >> 53) - 1024) / 1024;
  }

 private:
  std::uint64_t state_;
};

// A multiple of 2^-10 in [-1, 1) as the bits of a 16-bit float; bf16 drops what it cannot hold.
std::uint16_t half_bits(double value, ost_dtype_t dtype) {
  const float f = static_cast<float>(value);
  std::uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  if (dtype == OST_DTYPE_BF16) return static_cast<std::uint16_t>(u >> 16);
  if (value == 0) return 0;
  return static_cast<std::uint16_t>(((u >> 16) & 0x8000u) | ((((u >> 23) & 0xffu) - 112u) << 10) |
                                    ((u >> 13) & 0x3ffu));
}

void put(unsigned char* to, ost_dtype_t dtype, Numbers& numbers) {
  const auto store = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case OST_DTYPE_F32:
      return store(static_cast<float>(numbers.unit()));
    case OST_DTYPE_F64:
      return store(numbers.unit());
    case OST_DTYPE_F16:
    case OST_DTYPE_BF16:
      return store(half_bits(numbers.unit(), dtype));
    case OST_DTYPE_BOOL:
      return store(static_cast<std::uint8_t>(numbers.next() >> 63));
    default:
      break;
  }
  const bool is_signed = dtype >= OST_DTYPE_I8 && dtype <= OST_DTYPE_I64;
  const std::int64_t value = static_cast<std::int64_t>(numbers.next() >> 60) - (is_signed ? 8 : 0);
  std::memcpy(to, &value, ost_dtype_bytes(dtype));  // little endian, like the files
}

ostinato::Array pseudo_random(const std::string& name, ost_dtype_t dtype,
                              std::vector<std::int64_t> shape, std::uint64_t seed) {
  ostinato::Array a(dtype, std::move(shape));
  Numbers numbers(seed, name);
  const std::size_t size = ost_dtype_bytes(dtype);
  for (std::size_t at = 0; at < a.bytes.size(); at += size)
    put(a.bytes.data() + at, dtype, numbers);
  return a;
}

bool has(const ostinato::VarValues& vars, const std::string& name) {
  return std::ranges::find(vars, name, &ostinato::VarValue::name) != vars.end();
}

// What the shapes of the given inputs say about variables: a dimension that is just the variable.
ostinato::VarValues vars_of_shapes(const ostinato::Program& program, const CallData& data) {
  const auto types = program.inputs();
  ostinato::VarValues found;
  for (const ostinato::Binding& b : data.inputs) {
    const auto type = std::ranges::find(types, b.name, &ostinato::Type::name);
    if (type == types.end()) continue;
    for (std::size_t d = 0; d < type->dims.size() && d < b.array.rank; ++d) {
      if (!type->dims[d].is_number() && !has(found, type->dims[d].expr))
        found.push_back({type->dims[d].expr, b.array.shape[d]});
    }
  }
  return found;
}

// The largest value for a variable that nothing decides, which is said.
void complete_vars(const Options& options, const ostinato::Program& program,
                   const ostinato::VarValues& from_shapes, CallData& data) {
  for (const ost_var_t& var : program.vars()) {
    if (has(data.vars, var.name) || has(from_shapes, var.name)) continue;
    note(options, fmt::format("variable '{}' is not given: {} of {}..{} taken", var.name, var.max,
                              var.min, var.max));
    data.vars.push_back({var.name, var.max});
  }
}

// Before anything is said about inputs that are made up: a misspelt name would look like one more.
void refuse_unknown_inputs(const std::vector<ostinato::Type>& types, const CallData& data) {
  std::vector<std::string> names;
  for (const ostinato::Type& t : types) names.push_back(t.name);
  for (const ostinato::Binding& b : data.inputs) {
    if (std::ranges::find(names, b.name) == names.end())
      throw Failure(kBadInput, fmt::format("the program has no input '{}'; it has: {}{}", b.name,
                                           fmt::join(names, ", "), did_you_mean(b.name, names)));
  }
}

}  // namespace

ost_array_t InputFiles::read(const std::string& text) {
  for (const char* ending : {".npz:", ".safetensors:", ".npy:"}) {
    const auto at = text.rfind(ending);
    if (at == std::string::npos) continue;
    const std::size_t colon = at + std::strlen(ending) - 1;
    return open(text.substr(0, colon)).array(text.substr(colon + 1));
  }
  return open(text).array();
}

const ostinato::Archive& InputFiles::open(const std::string& path) {
  auto& archive = archives_[path];
  if (!archive) archive = std::make_unique<ostinato::Archive>(path);
  return *archive;
}

CallData call_data(const Options& options, const ostinato::Program& program, InputFiles& files) {
  CallData data;
  for (const NamedText& v : options.vars)
    data.vars.push_back({v.name, parse_integer(v.value, "--var " + v.name)});
  for (const NamedText& in : options.inputs) data.inputs.push_back({in.name, files.read(in.value)});
  const auto types = program.inputs();
  refuse_unknown_inputs(types, data);
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    if (std::ranges::find(data.inputs, types[i].name, &ostinato::Binding::name) ==
        data.inputs.end())
      missing.push_back(i);
  }
  if (missing.empty() && !types.empty()) return data;  // the shapes and --var have to be enough
  const ostinato::VarValues from_shapes = vars_of_shapes(program, data);
  complete_vars(options, program, from_shapes, data);
  ostinato::VarValues all = data.vars;
  for (const ostinato::VarValue& v : from_shapes) {
    if (!has(all, v.name)) all.push_back(v);
  }
  for (const std::uint32_t i : missing) {
    const ostinato::Type& type = types[i];
    data.made.push_back(
        pseudo_random(type.name, type.dtype, program.input_shape(i, all), options.seed));
    note(options, fmt::format("input '{}' is not given: pseudo-random {}[{}], seed {}", type.name,
                              ost_dtype_text(type.dtype), fmt::join(data.made.back().shape, ", "),
                              options.seed));
    data.inputs.push_back({type.name, data.made.back().view()});
  }
  return data;
}

std::string open_device(const ostinato::Context& context, const std::string& device) {
  try {
    return context.open(device).id;
  } catch (const ostinato::Error& e) {
    throw Failure(e.status() == OST_INTERNAL ? kInternal : kUnavailable, e.what());
  }
}

std::vector<std::string> open_devices(const ostinato::Context& context, const Options& options,
                                      const ostinato::Program& program) {
  const std::uint32_t count = program.describe().devices;
  std::vector<std::string> devices(count, options.device.empty() ? "auto" : options.device);
  for (const std::string& part : split_list(options.map)) {
    const auto at = part.find('=');
    const std::int64_t index =
        at == std::string::npos ? -1 : parse_integer(part.substr(0, at), "--map");
    if (index < 0 || index >= count) {
      throw Failure(kUsage, fmt::format("--map: '{}' found, I=DEVICE with I from 0 to {} wanted",
                                        part, count - 1));
    }
    devices[static_cast<std::size_t>(index)] = part.substr(at + 1);
  }
  for (std::string& d : devices) d = open_device(context, d);
  return devices;
}

std::int64_t parse_integer(const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Failure(kUsage, fmt::format("{}: '{}' found, an integer wanted", what, text));
  }
  return value;
}

void note(const Options& options, const std::string& message) {
  if (!options.quiet) fmt::print(stderr, "ost: {}\n", message);
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}
