// The code of a manifest: arenas, buffers, kernels and steps.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/manifest/loader.hpp"

namespace ost::manifest {
namespace {

constexpr uint64_t kMaxList = 1u << 20;
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

constexpr std::array<std::pair<std::string_view, BufferKind>, 5> kKinds = {
    {{"input", BufferKind::input},
     {"output", BufferKind::output},
     {"constant", BufferKind::constant},
     {"state", BufferKind::state},
     {"temp", BufferKind::temp}}};

// kir::from_text counts lines from 1 and says "kir text, line 8: ..."; a pointer counts them from
// 0. Without a line the error is about the header.
std::optional<std::pair<uint64_t, std::string>> line_of(const std::string& message) {
  constexpr std::string_view kHeader = "kir text: ";
  if (message.starts_with(kHeader)) return std::pair(uint64_t{0}, message.substr(kHeader.size()));
  constexpr std::string_view kPrefix = "kir text, line ";
  if (!message.starts_with(kPrefix)) return std::nullopt;
  uint64_t line = 0;
  const char* const end = message.data() + message.size();
  const auto [at, error] = std::from_chars(message.data() + kPrefix.size(), end, line);
  if (error != std::errc() || line == 0 || end - at < 2 || at[0] != ':') return std::nullopt;
  return std::pair(line - 1, std::string(at + 2, end));
}

}  // namespace

Result<std::vector<uint32_t>> Loader::index_list(const Cursor& at, uint64_t count,
                                                 std::string_view what) const {
  OST_TRY_ASSIGN(const auto items, at.elements(kMaxList));
  std::vector<uint32_t> out;
  out.reserve(items.size());
  for (const Cursor& item : items) {
    OST_TRY_ASSIGN(const uint32_t i, item.index(count, what));
    out.push_back(i);
  }
  return out;
}

Result<> Loader::arenas() {
  static constexpr std::string_view kFields[] = {"device", "bytes"};
  OST_TRY_ASSIGN(const auto items, list("arenas", kFields));
  for (const Cursor& at : items) {
    Arena arena;
    OST_TRY_ASSIGN(arena.device, device(at));
    OST_TRY_ASSIGN(const Cursor bytes, at.at("bytes"));
    OST_TRY_ASSIGN(arena.bytes, bytes.unsigned_integer(kMaxBytes));
    document_.program.arenas.push_back(arena);
  }
  return {};
}

Result<> Loader::buffers() {
  static constexpr std::string_view kFields[] = {"kind", "device", "dtype", "elements",
                                                 "slot", "arena",  "offset"};
  OST_TRY_ASSIGN(const auto items, list("buffers", kFields));
  for (const Cursor& at : items) {
    BufferDesc buffer;
    OST_TRY_ASSIGN(const Cursor kind_at, at.at("kind"));
    OST_TRY_ASSIGN(const std::string kind, kind_at.string(kMaxName));
    const auto* known =
        std::ranges::find(kKinds, kind, &std::pair<std::string_view, BufferKind>::first);
    if (known == kKinds.end())
      return kind_at.bad("found {}, want input, output, constant, state or temp", kind_at.found());
    buffer.kind = known->second;
    OST_TRY_ASSIGN(buffer.device, device(at));
    OST_TRY_ASSIGN(const Cursor dtype, at.at("dtype"));
    OST_TRY_ASSIGN(buffer.dtype, dtype.dtype());
    OST_TRY_ASSIGN(const Cursor elements, at.at("elements"));
    OST_TRY_ASSIGN(buffer.elements, elements.sym(document_.program.vars));
    if (buffer.kind == BufferKind::temp) {
      OST_TRY_ASSIGN(const Cursor arena, at.at("arena"));
      OST_TRY_ASSIGN(buffer.arena, arena.index(document_.program.arenas.size(), "arena"));
      OST_TRY_ASSIGN(const Cursor offset, at.at("offset"));
      OST_TRY_ASSIGN(buffer.offset, offset.unsigned_integer(kMaxBytes));
    } else {
      OST_TRY_ASSIGN(const Cursor slot, at.at("slot"));
      OST_TRY_ASSIGN(buffer.slot, slot.index(kMaxList, "slot"));
    }
    document_.program.buffers.push_back(std::move(buffer));
  }
  return {};
}

Result<> Loader::kernels() {
  static constexpr std::string_view kFields[] = {"name", "id", "kir", "variants"};
  OST_TRY_ASSIGN(const auto items, list("kernels", kFields));
  for (const Cursor& at : items) {
    KernelDesc kernel;
    OST_TRY_ASSIGN(kernel.name, name(at));
    OST_TRY_ASSIGN(const Cursor kir_at, at.at("kir"));
    OST_TRY_ASSIGN(const auto lines, kir_at.elements(kMaxList));
    std::string text;
    for (const Cursor& line : lines) {
      OST_TRY_ASSIGN(const std::string instruction, line.string(kMaxText));
      if (instruction.find('\n') != std::string::npos)
        return line.bad("a line break within an instruction");
      text += instruction + '\n';
    }
    auto kir = kir::from_text(text);
    if (!kir) {
      Error error = kir.error();
      if (const auto place = line_of(error.message); place && place->first < lines.size()) {
        error.message = fmt::format("{}: {}", lines[place->first].pointer(), place->second);
        return std::unexpected(std::move(error));
      }
      return std::unexpected(error.in(kir_at.pointer()));
    }
    kernel.kir = std::move(*kir);
    OST_TRY_ASSIGN(const Cursor id_at, at.at("id"));
    OST_TRY_ASSIGN(const std::string recorded, id_at.sha256());
    if (const std::string actual = kir::hash_of(kernel.kir); actual != recorded)
      return fail(OST_DATA_LOSS,
                  "{}: {} was recorded, the instructions give {}: the kernel was edited",
                  id_at.pointer(), recorded, actual);
    OST_TRY(kernel_variants(at, kernel));
    document_.program.kernels.push_back(std::move(kernel));
  }
  return {};
}

// Variants are listed always; their images are read only for a caller that trusts the manifest's
// author.
Result<> Loader::kernel_variants(const Cursor& at, KernelDesc& kernel) {
  static constexpr std::string_view kFields[] = {"driver", "target", "compiler_key",
                                                 "sha256", "bytes",  "file"};
  OST_TRY_ASSIGN(const auto section, at.find("variants"));
  if (!section) return {};
  OST_TRY_ASSIGN(const auto items, section->elements(kMaxName));
  for (const Cursor& item : items) {
    OST_TRY(only(item, kFields));
    KernelVariant variant;
    OST_TRY_ASSIGN(variant.driver, name(item, "driver"));
    OST_TRY_ASSIGN(const Cursor target, item.at("target"));
    OST_TRY_ASSIGN(variant.target, target.string(kMaxText));
    OST_TRY_ASSIGN(const Cursor key, item.at("compiler_key"));
    OST_TRY_ASSIGN(variant.compiler_key, key.string(kMaxText));
    OST_TRY_ASSIGN(const Cursor hash, item.at("sha256"));
    OST_TRY_ASSIGN(variant.image_sha256, hash.sha256());
    OST_TRY_ASSIGN(const Cursor size_at, item.at("bytes"));
    OST_TRY_ASSIGN(const uint64_t size, size_at.unsigned_integer(kMaxBytes));
    OST_TRY_ASSIGN(const Cursor file, item.at("file"));
    if (options_.images) {
      OST_TRY_ASSIGN(variant.image, data_.image(file, size, variant.image_sha256));
    } else {
      OST_TRY_ASSIGN(const std::string path, file.string(kMaxText));
      if (auto ok = check_relative_path(path); !ok) return file.bad("{}", ok.error().message);
    }
    kernel.variants.push_back(std::move(variant));
  }
  return {};
}

Result<uint32_t> Loader::kernel_named(const Cursor& at) const {
  OST_TRY_ASSIGN(const std::string wanted, name(at, "kernel"));
  const auto& kernels = document_.program.kernels;
  const auto it = std::ranges::find(kernels, wanted, &KernelDesc::name);
  if (it == kernels.end()) {
    OST_TRY_ASSIGN(const Cursor field, at.at("kernel"));
    return field.bad("there is no kernel {}", field.found());
  }
  return static_cast<uint32_t>(it - kernels.begin());
}

Result<> Loader::steps() {
  static constexpr std::string_view kFields[] = {"op", "device", "kernel", "args", "vars", "after"};
  Program& program = document_.program;
  OST_TRY_ASSIGN(const auto items, list("steps", kFields));
  for (const Cursor& at : items) {
    Step step;
    OST_TRY_ASSIGN(const Cursor op_at, at.at("op"));
    OST_TRY_ASSIGN(const std::string op, op_at.string(kMaxName));
    if (op != "launch" && op != "copy")
      return op_at.bad("found {}, want 'launch' or 'copy'", op_at.found());
    step.kind = op == "launch" ? StepKind::launch : StepKind::copy;
    OST_TRY_ASSIGN(step.device, device(at));
    OST_TRY_ASSIGN(const Cursor args, at.at("args"));
    OST_TRY_ASSIGN(step.args, index_list(args, program.buffers.size(), "buffer"));
    OST_TRY_ASSIGN(const Cursor after, at.at("after"));
    OST_TRY_ASSIGN(step.after, index_list(after, program.steps.size(), "earlier step"));
    for (const uint32_t before : step.after)
      step.level = std::max(step.level, program.steps[before].level + 1);
    if (step.kind == StepKind::launch) {
      OST_TRY_ASSIGN(step.kernel, kernel_named(at));
    }
    OST_TRY_ASSIGN(const auto vars, at.find("vars"));
    if (vars) {
      OST_TRY_ASSIGN(const auto names, vars->elements(kMaxName));
      for (const Cursor& n : names) {
        OST_TRY_ASSIGN(const std::string var, n.string(kMaxName));
        const auto it = std::ranges::find(program.vars, var, &Var::name);
        if (it == program.vars.end()) return n.bad("there is no variable {}", n.found());
        step.vars.push_back(static_cast<uint32_t>(it - program.vars.begin()));
      }
    }
    program.steps.push_back(std::move(step));
  }
  return {};
}

Result<> Loader::groups() {
  static constexpr std::string_view kFields[] = {"kind", "ops",   "kernel",      "step",
                                                 "why",  "ended", "bytes_saved", "tiles"};
  OST_TRY_ASSIGN(const auto items, list("groups", kFields));
  for (const Cursor& at : items) {
    Group group;
    OST_TRY_ASSIGN(const auto kind_at, at.find("kind"));
    if (kind_at) {
      OST_TRY_ASSIGN(const std::string kind, kind_at->string(kMaxName));
      const auto known = group_kind_from_name(kind);
      if (!known) return kind_at->bad("found the string '{}', want a kind of group, as gemm_epilogue", kind);
      group.kind = *known;
    }
    OST_TRY_ASSIGN(const Cursor ops_at, at.at("ops"));
    OST_TRY_ASSIGN(const auto ops, ops_at.elements(kMaxList));
    for (const Cursor& op : ops) {
      OST_TRY_ASSIGN(std::string text, op.string(kMaxName));
      group.ops.push_back(std::move(text));
    }
    OST_TRY_ASSIGN(const auto kernel, at.find("kernel"));
    if (kernel) {
      OST_TRY_ASSIGN(group.kernel, kernel_named(at));
    }
    OST_TRY_ASSIGN(const auto step, at.find("step"));
    if (step) {
      OST_TRY_ASSIGN(group.step, step->index(document_.program.steps.size(), "step"));
    }
    OST_TRY_ASSIGN(const Cursor why, at.at("why"));
    OST_TRY_ASSIGN(group.why, why.string(kMaxText));
    OST_TRY_ASSIGN(const Cursor ended, at.at("ended"));
    OST_TRY_ASSIGN(group.ended, ended.string(kMaxText));
    OST_TRY_ASSIGN(const Cursor saved, at.at("bytes_saved"));
    OST_TRY_ASSIGN(group.bytes_saved, saved.sym(document_.program.vars));
    OST_TRY_ASSIGN(const auto tiles_at, at.find("tiles"));
    if (tiles_at) {
      OST_TRY_ASSIGN(const auto tiles, tiles_at->elements(kMaxList));
      for (const Cursor& tile : tiles) {
        OST_TRY_ASSIGN(group.tiles.emplace_back(), tile.string(kMaxText));
      }
    }
    document_.program.groups.push_back(std::move(group));
  }
  return {};
}

}  // namespace ost::manifest
