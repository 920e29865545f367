// verify(Program): what a program must be before anything runs it, whoever made it.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "core/schedule/verify_parts.hpp"

namespace ost {

Result<> verify(const Program& program) {
  using namespace verify_parts;
  OST_TRY(check_declarations(program));
  OST_TRY(check_buffers(program));
  OST_TRY(check_outputs(program));
  OST_TRY(check_kernels(program));
  std::vector<Access> accesses;
  OST_TRY(check_steps(program, accesses));
  return check_order(program, accesses);
}

namespace verify_parts {
namespace {

constexpr uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxName = 256;
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;
constexpr std::array<std::string_view, 5> kFunctions = {"floordiv", "mod", "min", "max", "ceildiv"};

bool is_identifier(std::string_view s) {
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !s.empty() && s.size() <= kMaxName && letter(s[0]) &&
         std::ranges::all_of(s, [&](char c) { return letter(c) || digit(c); });
}

// Names of inputs and outputs are shown to people and become file names: no control characters.
bool is_printable(std::string_view s) {
  return !s.empty() && s.size() <= kMaxName && std::ranges::all_of(s, [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
  });
}

template <typename T>
Result<> check_names(const std::vector<T>& list, std::string_view section) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = fmt::format("/{}/{}/name", section, i);
    if (!is_printable(list[i].name)) return bad(pointer, "want 1 to {} printable bytes", kMaxName);
    const auto [it, fresh] = seen.emplace(list[i].name, i);
    if (!fresh)
      return bad(pointer, "'{}' is the name of /{}/{} already", list[i].name, section, it->second);
  }
  return {};
}

Result<> check_device(const Program& p, uint32_t device, const std::string& pointer) {
  if (device >= p.device_count)
    return bad(pointer + "/device", "device {}, there are {}", device, p.device_count);
  return {};
}

Result<> check_shape(const Program& p, const Shape& shape, DType dtype,
                     const std::string& pointer) {
  if (!is_valid(dtype))
    return bad(pointer + "/dtype", "element type {} does not exist", static_cast<int>(dtype));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::string at = fmt::format("{}/shape/{}", pointer, d);
    OST_TRY(check_sym(p, shape[d], at));
    if (!provably_le(0, shape[d]))
      return bad(at, "the dimension {} may be negative", shape[d].str());
  }
  const Sym n = numel(shape);
  if (!n.is_valid() || static_cast<uint64_t>(n.upper()) > kMaxBytes / size_of(dtype))
    return bad(pointer + "/shape", "{} may have more than 2^62 bytes", to_string(shape));
  return {};
}

template <typename T>
Result<> check_signature(const Program& p, const std::vector<T>& list, std::string_view section) {
  OST_TRY(check_names(list, section));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = fmt::format("/{}/{}", section, i);
    OST_TRY(check_shape(p, list[i].shape, list[i].dtype, pointer));
    OST_TRY(check_device(p, list[i].device, pointer));
  }
  return {};
}

Result<> check_vars(const Program& p) {
  for (std::size_t i = 0; i < p.vars.size(); ++i) {
    const Var& v = p.vars[i];
    const std::string pointer = fmt::format("/vars/{}", i);
    if (!is_identifier(v.name))
      return bad(pointer + "/name", "want a letter or _, then letters, digits and _");
    if (std::ranges::find(kFunctions, v.name) != kFunctions.end())
      return bad(pointer + "/name", "'{}' is the name of a function in expressions", v.name);
    if (i > 0 && p.vars[i - 1].name >= v.name)
      return bad(pointer + "/name", "'{}' does not come after '{}': names are sorted and unique",
                 v.name, p.vars[i - 1].name);
    if (v.min < 0 || v.max < v.min)
      return bad(pointer, "bounds [{}, {}], want 0 <= min <= max", v.min, v.max);
  }
  return {};
}

// A literal's own consistency, and that it has the type and the (constant) shape that its owner
// declares.
Result<> check_data(const Literal& data, const std::string& pointer) {
  if (!is_valid(data.dtype))
    return bad(pointer + "/dtype", "element type {} does not exist", static_cast<int>(data.dtype));
  uint64_t bytes = size_of(data.dtype);
  for (const int64_t d : data.shape)
    if (d < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      return bad(pointer + "/shape", "[{}] is no shape", fmt::join(data.shape, ", "));
  if (bytes != data.bytes.size())
    return bad(pointer, "{} bytes of data, shape and type need {}", data.bytes.size(), bytes);
  return {};
}

Result<> check_constants(const Program& p) {
  OST_TRY(check_names(p.constants, "constants"));
  for (std::size_t i = 0; i < p.constants.size(); ++i) {
    const std::string pointer = fmt::format("/constants/{}", i);
    if (!p.constants[i].data) return bad(pointer, "'{}' has no data", p.constants[i].name);
    OST_TRY(check_data(*p.constants[i].data, pointer));
  }
  for (std::size_t i = 0; i < p.states.size(); ++i) {
    const StateDesc& state = p.states[i];
    if (!state.initial) continue;
    const std::string pointer = fmt::format("/states/{}/initial", i);
    OST_TRY(check_data(*state.initial, pointer));
    const Shape shape(state.initial->shape.begin(), state.initial->shape.end());
    if (state.initial->dtype != state.dtype || shape != state.shape)
      return bad(pointer, "{} {}, the state is {} {}", ost::name_of(state.initial->dtype),
                 to_string(shape), ost::name_of(state.dtype), to_string(state.shape));
  }
  return {};
}

Result<> check_groups(const Program& p) {
  for (std::size_t i = 0; i < p.groups.size(); ++i) {
    const Group& g = p.groups[i];
    const std::string pointer = fmt::format("/groups/{}", i);
    if (g.kernel != kNoIndex && g.kernel >= p.kernels.size())
      return bad(pointer + "/kernel", "kernel {}, there are {}", g.kernel, p.kernels.size());
    if (g.step != kNoIndex && g.step >= p.steps.size())
      return bad(pointer + "/step", "step {}, there are {}", g.step, p.steps.size());
    if (g.kernel != kNoIndex && g.step != kNoIndex && p.steps[g.step].kernel != g.kernel)
      return bad(pointer + "/step", "step {} does not launch kernel {}", g.step, g.kernel);
    OST_TRY(check_sym(p, g.bytes_saved, pointer + "/bytes_saved"));
  }
  return {};
}

// Errors about a record become pointers to its line in the text form, whose line 0 is the header.
Error in_kernel(const Error& error, const std::string& pointer) {
  constexpr std::string_view kPrefix = "kir record ";
  uint64_t record = 0;
  const char* const end = error.message.data() + error.message.size();
  if (error.message.starts_with(kPrefix)) {
    const auto [at, code] = std::from_chars(error.message.data() + kPrefix.size(), end, record);
    if (code == std::errc() && end - at > 2 && at[0] == ':') {
      Error e = error;
      e.message = fmt::format("{}/kir/{}: {}", pointer, record + 1, std::string_view(at + 2, end));
      return e;
    }
  }
  return error.in(pointer + "/kir");
}

}  // namespace

Result<> check_sym(const Program& p, const Sym& sym, const std::string& pointer) {
  if (!sym.is_valid())
    return bad(pointer, "an invalid expression: it overflows 64 bits or divides by 0");
  std::map<std::string, Var, std::less<>> used;
  sym.collect_vars(used);
  for (const auto& [name, var] : used) {
    const auto it = std::ranges::lower_bound(p.vars, name, {}, &Var::name);
    if (it == p.vars.end() || it->name != name)
      return bad(pointer, "variable '{}' is not one of the program's", name);
    if (*it != var)
      return bad(pointer, "variable '{}' has bounds [{}, {}] here, [{}, {}] in the program", name,
                 var.min, var.max, it->min, it->max);
  }
  return {};
}

Result<> check_declarations(const Program& p) {
  if (p.device_count == 0 || p.device_count > kMaxDevices)
    return bad("/devices", "{} devices, want 1 to {}", p.device_count, kMaxDevices);
  if (p.numerics != kir::Numerics::strict && p.numerics != kir::Numerics::fast)
    return bad("/numerics", "mode {} does not exist", static_cast<uint32_t>(p.numerics));
  OST_TRY(check_vars(p));
  OST_TRY(check_signature(p, p.inputs, "inputs"));
  OST_TRY(check_signature(p, p.outputs, "outputs"));
  OST_TRY(check_signature(p, p.states, "states"));
  OST_TRY(check_constants(p));
  for (std::size_t i = 0; i < p.arenas.size(); ++i) {
    const std::string pointer = fmt::format("/arenas/{}", i);
    OST_TRY(check_device(p, p.arenas[i].device, pointer));
    if (p.arenas[i].bytes > kMaxBytes)
      return bad(pointer + "/bytes", "{} bytes, at most 2^62", p.arenas[i].bytes);
  }
  for (std::size_t i = 0; i < p.guards.size(); ++i) {
    OST_TRY(check_sym(p, p.guards[i].low, fmt::format("/guards/{}/low", i)));
    OST_TRY(check_sym(p, p.guards[i].high, fmt::format("/guards/{}/high", i)));
  }
  return check_groups(p);
}

Result<> check_kernels(const Program& p) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    const KernelDesc& k = p.kernels[i];
    const std::string pointer = fmt::format("/kernels/{}", i);
    if (!is_identifier(k.name))
      return bad(pointer + "/name", "want a letter or _, then letters, digits and _");
    const auto [it, fresh] = seen.emplace(k.name, i);
    if (!fresh)
      return bad(pointer + "/name", "'{}' is the name of /kernels/{} already", k.name, it->second);
    if (k.kir.numerics != p.numerics && p.numerics == kir::Numerics::strict)
      return bad(pointer + "/kir", "the kernel is not strict, the program is");
    if (const auto ok = kir::verify(k.kir); !ok)
      return std::unexpected(in_kernel(ok.error(), pointer));
    if (const auto ok = kir::prove_bounds(k.kir); !ok)
      return std::unexpected(in_kernel(ok.error(), pointer));
  }
  return {};
}

}  // namespace verify_parts
}  // namespace ost
