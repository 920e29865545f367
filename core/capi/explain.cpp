#include "core/capi/explain.hpp"

#include <fmt/ranges.h>

#include <array>

#include "core/manifest/describe.hpp"

namespace ost::capi {

namespace json = manifest::json;

namespace {

std::string plural(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::vector<const Step*> copies_of(const Program& p) {
  std::vector<const Step*> out;
  for (const Step& s : p.steps) {
    if (s.kind == StepKind::copy) out.push_back(&s);
  }
  return out;
}

int64_t bytes_at_most(const Program& p, const Step& copy) {
  const BufferDesc& from = p.buffers[copy.args[1]];
  return (from.elements * Sym(size_of(from.dtype))).upper();
}

}  // namespace

std::string summary(const Program& p) {
  size_t ops = 0;
  Sym saved = 0;
  for (const Group& g : p.groups) {
    ops += g.ops.size();
    saved = saved + g.bytes_saved;
  }
  std::string text = fmt::format("{} in {}", plural(ops, "operation", "operations"),
                                 plural(p.groups.size(), "launch", "launches"));
  const size_t copies = copies_of(p).size();
  if (copies > 0) text += ", " + plural(copies, "copy", "copies");
  if (saved != Sym(0))
    text += fmt::format(", at most {} bytes of intermediates never stored", saved.upper());
  return text;
}

json::object counts(const Program& p) {
  std::array<uint64_t, kGroupKinds> kinds{};
  uint64_t ops = 0;
  Sym saved = 0;
  for (const Group& g : p.groups) {
    ++kinds[static_cast<size_t>(g.kind)];
    ops += g.ops.size();
    saved = saved + g.bytes_saved;
  }
  const auto of = [&](GroupKind k) { return kinds[static_cast<size_t>(k)]; };
  uint64_t arenas = 0;
  for (const Arena& a : p.arenas) arenas += a.bytes;
  return {{"gemm", of(GroupKind::gemm)},
          {"gemm_epilogue", of(GroupKind::gemm_epilogue)},
          {"conv", of(GroupKind::conv)},
          {"conv_epilogue", of(GroupKind::conv_epilogue)},
          {"attention", of(GroupKind::attention)},
          {"row_groups", of(GroupKind::row)},
          {"pointwise_groups", of(GroupKind::pointwise)},
          {"movement_groups", of(GroupKind::movement)},
          {"scatter_groups", of(GroupKind::scatter)},
          {"groups", p.groups.size()},
          {"kernels", p.kernels.size()},
          {"copies", copies_of(p).size()},
          {"ops", ops},
          {"bytes_saved", saved.upper()},
          {"arena_bytes", arenas},
          {"text", summary(p)}};
}

json::object explain_json(const Program& p) {
  json::array groups;
  for (const Group& g : p.groups) {
    json::array ops;
    for (const std::string& op : g.ops) ops.emplace_back(op);
    json::array tiles;
    for (const std::string& tile : g.tiles) tiles.emplace_back(tile);
    groups.push_back(
        {{"kind", name_of(g.kind)},
         {"ops", std::move(ops)},
         {"kernel", g.kernel == kNoIndex ? json::value() : json::value(p.kernels[g.kernel].name)},
         {"why", g.why},
         {"ended", g.ended},
         {"tiles", std::move(tiles)},
         {"bytes_saved", g.bytes_saved.upper()},
         {"bytes_saved_for", g.bytes_saved.str()}});
  }
  json::array copies;
  for (const Step* s : copies_of(p)) {
    copies.push_back({{"what", manifest::buffer_label(p, s->args[1])},
                      {"from", p.buffers[s->args[1]].device},
                      {"to", p.buffers[s->args[0]].device},
                      {"bytes", bytes_at_most(p, *s)}});
  }
  return {{"schema_version", 1},
          {"groups", std::move(groups)},
          {"copies", std::move(copies)},
          {"summary", counts(p)}};
}

std::string explain_text(const Program& p) {
  std::string out = summary(p) + "\n";
  for (const Group& g : p.groups) {
    out += fmt::format("\n{}: {}\n  kind   {}\n  why    {}\n  ended  {}\n",
                       g.kernel == kNoIndex ? "(no kernel)" : p.kernels[g.kernel].name,
                       fmt::join(g.ops, " "), name_of(g.kind), g.why, g.ended);
    for (const std::string& tile : g.tiles) out += fmt::format("  tiles  {}\n", tile);
    if (g.bytes_saved != Sym(0))
      out += fmt::format("  saved  {} bytes, at most {}\n", g.bytes_saved.str(),
                         g.bytes_saved.upper());
  }
  for (const Step* s : copies_of(p)) {
    out += fmt::format("\ncopy of {} from device {} to {}: at most {} bytes\n",
                       manifest::buffer_label(p, s->args[1]), p.buffers[s->args[1]].device,
                       p.buffers[s->args[0]].device, bytes_at_most(p, *s));
  }
  return out;
}

}  // namespace ost::capi
