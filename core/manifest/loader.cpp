// The header of a manifest, its signature and its data. Kernels and steps are in loader_code.cpp.
#include "core/manifest/loader.hpp"

#include <algorithm>

#include "core/manifest/writer.hpp"

namespace ost::manifest {
namespace {

constexpr uint64_t kMaxList = 1u << 20;  // elements of any list; the JSON parser limits the sum
constexpr uint32_t kMaxDevices = 64;

constexpr std::string_view kTopFields[] = {
    "format",  "version", "requires", "numerics", "program_id", "provenance", "devices",
    "vars",    "guards",  "inputs",   "outputs",  "states",     "constants",  "arenas",
    "buffers", "kernels", "steps",    "groups",   "tests"};

}  // namespace

Result<Document> Loader::load() {
  OST_TRY(header());
  OST_TRY(known_fields());
  if (options_.check_id) OST_TRY(identity());
  OST_TRY(vars());
  OST_TRY(inputs());
  OST_TRY(outputs());
  OST_TRY(arenas());
  OST_TRY(buffers());
  OST_TRY(kernels());
  OST_TRY(steps());
  OST_TRY(groups());
  OST_TRY(guards());
  OST_TRY(devices());
  OST_TRY(constants());  // data comes last: most bad programs are refused before any of it is read
  OST_TRY(states());
  OST_TRY(tests());
  OST_TRY(provenance());
  OST_TRY(verify(document_.program));
  return std::move(document_);
}

// --- helpers

Result<> Loader::only(const Cursor& at, std::span<const std::string_view> known) const {
  if (newer_minor_) return {};
  return at.only(known);
}

Result<std::vector<Cursor>> Loader::list(std::string_view key,
                                         std::span<const std::string_view> known) const {
  OST_TRY_ASSIGN(const Cursor at, root_.at(key));
  OST_TRY_ASSIGN(auto items, at.elements(kMaxList));
  for (const Cursor& item : items) OST_TRY(only(item, known));
  return items;
}

Result<std::string> Loader::name(const Cursor& at, std::string_view key) const {
  OST_TRY_ASSIGN(const Cursor field, at.at(key));
  OST_TRY_ASSIGN(std::string text, field.string(kMaxName));
  if (text.empty()) return field.bad("an empty name");
  return text;
}

Result<uint32_t> Loader::device(const Cursor& at) const {
  OST_TRY_ASSIGN(const Cursor field, at.at("device"));
  return field.index(document_.program.device_count, "device");
}

template <typename T>
Result<> Loader::signature(const Cursor& at, T& out) const {
  OST_TRY_ASSIGN(out.name, name(at));
  OST_TRY_ASSIGN(const Cursor dtype, at.at("dtype"));
  OST_TRY_ASSIGN(out.dtype, dtype.dtype());
  OST_TRY_ASSIGN(const Cursor shape, at.at("shape"));
  OST_TRY_ASSIGN(out.shape, shape.shape(document_.program.vars));
  OST_TRY_ASSIGN(out.device, device(at));
  return {};
}

// --- header

Result<> Loader::header() {
  OST_TRY_ASSIGN(const Cursor format, root_.at("format"));
  OST_TRY_ASSIGN(const std::string format_name, format.string(kMaxName));
  if (format_name != "ostinato")
    return format.bad("found {}, want 'ostinato': not a manifest of this project", format.found());

  OST_TRY_ASSIGN(const Cursor version, root_.at("version"));
  OST_TRY_ASSIGN(const auto numbers, version.elements(2));
  if (numbers.size() != 2)
    return version.bad("found {} numbers, want [major, minor]", numbers.size());
  OST_TRY_ASSIGN(const int64_t major, numbers[0].integer(0, UINT32_MAX));
  OST_TRY_ASSIGN(const int64_t minor, numbers[1].integer(0, UINT32_MAX));
  if (major != kVersionMajor)
    return fail(
        OST_INCOMPATIBLE,
        "/version: the manifest has format {}.{}, this library reads {}.x; use the library that "
        "wrote it or a newer one",
        major, minor, kVersionMajor);
  newer_minor_ = minor > kVersionMinor;

  OST_TRY_ASSIGN(const Cursor requires_at, root_.at("requires"));
  OST_TRY_ASSIGN(const auto features, requires_at.elements(kMaxName));
  for (const Cursor& f : features) {
    OST_TRY_ASSIGN(const std::string feature, f.string(kMaxName));
    if (feature != "kir-1")
      return fail(OST_INCOMPATIBLE,
                  "{}: the manifest needs a reader that knows '{}', this one knows kir-1; use a "
                  "newer library",
                  f.pointer(), feature);
  }

  OST_TRY_ASSIGN(const Cursor numerics, root_.at("numerics"));
  OST_TRY_ASSIGN(const std::string mode, numerics.string(kMaxName));
  if (mode != "strict" && mode != "fast")
    return numerics.bad("found {}, want 'strict' or 'fast'", numerics.found());
  document_.program.numerics = mode == "strict" ? kir::Numerics::strict : kir::Numerics::fast;

  OST_TRY_ASSIGN(const Cursor devices_at, root_.at("devices"));
  OST_TRY_ASSIGN(const auto devices, devices_at.elements(kMaxDevices));
  if (devices.empty()) return devices_at.bad("no logical device, at least 1 is needed");
  document_.program.device_count = static_cast<uint32_t>(devices.size());
  return {};
}

Result<> Loader::known_fields() const { return only(root_, kTopFields); }

Result<> Loader::identity() const {
  OST_TRY_ASSIGN(const Cursor recorded_at, root_.at("program_id"));
  OST_TRY_ASSIGN(const std::string recorded, recorded_at.sha256());
  const std::string actual = id_of(root_.value().get_object());
  if (actual != recorded)
    return fail(OST_DATA_LOSS,
                "/program_id: {} was recorded, the content gives {}: the manifest was edited or "
                "damaged after "
                "it was saved",
                recorded, actual);
  return {};
}

// What each logical device needs follows from the program; a manifest that says otherwise is not
// what it seems.
Result<> Loader::devices() const {
  static constexpr std::string_view kFields[] = {"needs"};
  OST_TRY_ASSIGN(const auto items, list("devices", kFields));
  for (uint32_t d = 0; d < items.size(); ++d) {
    OST_TRY_ASSIGN(const Cursor needs, items[d].at("needs"));
    OST_TRY_ASSIGN(const auto names, needs.elements(kMaxName));
    std::vector<std::string> found;
    for (const Cursor& n : names) {
      OST_TRY_ASSIGN(std::string text, n.string(kMaxName));
      found.push_back(std::move(text));
    }
    const auto wanted = needs_of(document_.program, d);
    if (!newer_minor_ && !std::ranges::equal(found, wanted))
      return needs.bad("found [{}], the program needs [{}]", fmt::join(found, ", "),
                       fmt::join(wanted, ", "));
  }
  return {};
}

Result<> Loader::vars() {
  static constexpr std::string_view kFields[] = {"name", "min", "max"};
  OST_TRY_ASSIGN(const auto items, list("vars", kFields));
  for (const Cursor& at : items) {
    Var var;
    OST_TRY_ASSIGN(var.name, name(at));
    OST_TRY_ASSIGN(const Cursor low, at.at("min"));
    OST_TRY_ASSIGN(var.min, low.integer(0, INT64_MAX));
    OST_TRY_ASSIGN(const Cursor high, at.at("max"));
    OST_TRY_ASSIGN(var.max, high.integer(var.min, INT64_MAX));
    document_.program.vars.push_back(std::move(var));
  }
  return {};
}

Result<> Loader::guards() {
  static constexpr std::string_view kFields[] = {"low", "high", "why"};
  OST_TRY_ASSIGN(const auto items, list("guards", kFields));
  for (const Cursor& at : items) {
    Guard guard;
    OST_TRY_ASSIGN(const Cursor low, at.at("low"));
    OST_TRY_ASSIGN(guard.low, low.sym(document_.program.vars));
    OST_TRY_ASSIGN(const Cursor high, at.at("high"));
    OST_TRY_ASSIGN(guard.high, high.sym(document_.program.vars));
    OST_TRY_ASSIGN(const Cursor why, at.at("why"));
    OST_TRY_ASSIGN(guard.why, why.string(kMaxText));
    document_.program.guards.push_back(std::move(guard));
  }
  return {};
}

// --- signature

Result<> Loader::inputs() {
  static constexpr std::string_view kFields[] = {"name", "dtype", "shape", "device", "written"};
  OST_TRY_ASSIGN(const auto items, list("inputs", kFields));
  for (const Cursor& at : items) {
    InputDesc input;
    OST_TRY(signature(at, input));
    OST_TRY_ASSIGN(const auto written, at.find("written"));
    if (written) {
      OST_TRY_ASSIGN(input.written, written->boolean());
    }
    document_.program.inputs.push_back(std::move(input));
  }
  return {};
}

Result<> Loader::outputs() {
  static constexpr std::string_view kFields[] = {"name", "dtype", "shape", "device", "buffer"};
  OST_TRY_ASSIGN(const auto items, list("outputs", kFields));
  for (const Cursor& at : items) {
    OutputDesc output;
    OST_TRY(signature(at, output));
    OST_TRY_ASSIGN(const Cursor buffer, at.at("buffer"));
    OST_TRY_ASSIGN(output.buffer, buffer.index(kMaxList, "buffer"));
    document_.program.outputs.push_back(std::move(output));
  }
  return {};
}

Result<> Loader::states() {
  static constexpr std::string_view kFields[] = {"name", "dtype", "shape", "device", "initial"};
  OST_TRY_ASSIGN(const auto items, list("states", kFields));
  for (const Cursor& at : items) {
    StateDesc state;
    OST_TRY(signature(at, state));
    OST_TRY_ASSIGN(const auto initial, at.find("initial"));
    if (initial) {
      OST_TRY(only(*initial, kDataFields));
      OST_TRY_ASSIGN(state.initial, data_.literal(*initial, nullptr));
    }
    document_.program.states.push_back(std::move(state));
  }
  return {};
}

// --- entry points

namespace {

Result<Document> load_text(std::string_view text, const Folder* folder,
                           const LoadOptions& options) {
  OST_TRY_ASSIGN(const json::value value, parse_json(text, options.json));
  DataSource data(folder, options.max_data_bytes);
  try {
    return Loader(value, data, options).load();
  } catch (const std::exception& e) {
    return fail(OST_OUT_OF_MEMORY, "cannot be loaded: {}", e.what());
  }
}

Result<Document> load_file(const std::string& path, const LoadOptions& options) {
  const auto [folder_path, name] = split_path(path);
  OST_TRY_ASSIGN(const Folder folder, Folder::open(folder_path));
  OST_TRY_ASSIGN(const File file, File::open(path));
  OST_TRY_ASSIGN(const auto bytes, file.read_all(options.json.max_bytes));
  return load_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &folder, options);
}

}  // namespace

Result<Document> load(const std::string& path, const LoadOptions& options) {
  auto document = load_file(path, options);
  if (!document && !document.error().message.starts_with(path))
    return std::unexpected(document.error().in(path));
  return document;
}

Result<Document> from_text(std::string_view text, const LoadOptions& options) {
  return load_text(text, nullptr, options);
}

}  // namespace ost::manifest
