#include "core/manifest/inspect.hpp"

#include <algorithm>

#include "core/manifest/describe.hpp"
#include "core/schedule/verify_parts.hpp"

namespace ost::manifest {
namespace {

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

std::string index_text(const std::vector<uint32_t>& values) {
  return values.empty() ? "-" : fmt::format("{}", fmt::join(values, " "));
}

std::string memory_text(const Program& p, const BufferDesc& b) {
  if (b.kind == BufferKind::temp) return fmt::format("arena {} at {}", b.arena, b.offset);
  return fmt::format("{} {}", verify_parts::name_of(b.kind),
                     buffer_label(p, static_cast<uint32_t>(&b - p.buffers.data())));
}

Table signature_table(const Program& p) {
  Table t{"signature", {"what", "name", "type"}, {}};
  for (const Var& v : p.vars)
    t.rows.push_back({"variable", v.name, fmt::format("{} .. {}", v.min, v.max)});
  for (const InputDesc& i : p.inputs)
    t.rows.push_back(
        {i.written ? "input, written" : "input", i.name, describe(i.dtype, i.shape, i.device)});
  for (const StateDesc& s : p.states)
    t.rows.push_back({"state", s.name, describe(s.dtype, s.shape, s.device)});
  for (const OutputDesc& o : p.outputs)
    t.rows.push_back({"output", o.name, describe(o.dtype, o.shape, o.device)});
  for (const ConstantDesc& c : p.constants)
    t.rows.push_back(
        {"constant", c.name,
         describe(*c.data) + (c.file.empty() ? "" : fmt::format(", {}: {}", c.file, c.tensor))});
  return t;
}

Table memory_table(const Program& p) {
  Table t{"memory", {"buffer", "where", "elements", "bytes at most"}, {}};
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const BufferDesc& b = p.buffers[i];
    t.rows.push_back({fmt::format("{}", i), memory_text(p, b),
                      fmt::format("{} {}", b.elements.str(), name_of(b.dtype)),
                      fmt::format("{}", verify_parts::max_bytes(b))});
  }
  for (std::size_t i = 0; i < p.arenas.size(); ++i)
    t.rows.push_back({fmt::format("arena {}", i), fmt::format("device {}", p.arenas[i].device), "",
                      fmt::format("{}", p.arenas[i].bytes)});
  return t;
}

Table kernel_table(const Program& p) {
  Table t{"kernels", {"kernel", "id", "launches", "what"}, {}};
  for (uint32_t k = 0; k < p.kernels.size(); ++k) {
    const auto launches = std::ranges::count_if(
        p.steps, [&](const Step& s) { return s.kind == StepKind::launch && s.kernel == k; });
    std::string what = kernel_label(p, k);
    for (const KernelVariant& v : p.kernels[k].variants)
      what += fmt::format("; compiled for {} {}", v.driver, v.target);
    t.rows.push_back({p.kernels[k].name, short_hash(kir::hash_of(p.kernels[k].kir)),
                      fmt::format("{}", launches), what});
  }
  return t;
}

Table step_table(const Program& p) {
  Table t{"steps", {"step", "level", "device", "after", "what"}, {}};
  for (uint32_t s = 0; s < p.steps.size(); ++s)
    t.rows.push_back({fmt::format("{}", s), fmt::format("{}", p.steps[s].level),
                      fmt::format("{}", p.steps[s].device), index_text(p.steps[s].after),
                      step_label(p, s)});
  return t;
}

Table group_table(const Program& p) {
  Table t{"groups", {"ops", "kernel", "why", "ended", "bytes saved"}, {}};
  for (const Group& g : p.groups)
    t.rows.push_back({fmt::format("{}", fmt::join(g.ops, " ")),
                      g.kernel == kNoIndex ? "-" : p.kernels[g.kernel].name, g.why, g.ended,
                      g.bytes_saved.str()});
  for (const Guard& g : p.guards)
    t.rows.push_back({"guard", "-", g.why, fmt::format("{} <= {}", g.low.str(), g.high.str()), ""});
  return t;
}

std::vector<Table> tables(const Program& p) {
  std::vector<Table> out = {signature_table(p), memory_table(p), kernel_table(p), step_table(p),
                            group_table(p)};
  std::erase_if(out, [](const Table& t) { return t.rows.empty(); });
  return out;
}

uint64_t arena_bytes(const Program& p) {
  uint64_t sum = 0;
  for (const Arena& a : p.arenas) sum += a.bytes;
  return sum;
}

std::string headline(const Document& d) {
  const Program& p = d.program;
  return fmt::format("program {}: {}, {} device{}, {} kernel{}, {} step{}, {} bytes of arenas",
                     program_id(p).value_or("?"),
                     p.numerics == kir::Numerics::strict ? "strict" : "fast", p.device_count,
                     p.device_count == 1 ? "" : "s", p.kernels.size(),
                     p.kernels.size() == 1 ? "" : "s", p.steps.size(),
                     p.steps.size() == 1 ? "" : "s", arena_bytes(p));
}

void print_table(const Table& t, std::string& out) {
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    width.push_back(t.columns[c].size());
    for (const auto& row : t.rows) width[c] = std::max(width[c], row[c].size());
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c)
      text += fmt::format("  {:<{}}", row[c], c + 1 < row.size() ? width[c] : 0);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  out += "\n" + t.title + "\n";
  line(t.columns);
  for (const auto& row : t.rows) line(row);
}

std::string escape(std::string_view s, std::string_view special, auto&& replace) {
  std::string out;
  for (const char c : s) {
    if (special.find(c) == std::string_view::npos)
      out += c;
    else
      out += replace(c);
  }
  return out;
}

std::string html(std::string_view s) {
  return escape(s, "<>&\"", [](char c) {
    return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : "&quot;";
  });
}

std::string quoted(std::string_view s) {
  return '"' + escape(s, "\"\\", [](char c) { return std::string("\\") + c; }) + '"';
}

}  // namespace

std::string inspect_text(const Document& document, bool kir) {
  std::string out = headline(document) + "\n";
  for (const auto& [key, value] : document.provenance) out += fmt::format("{}: {}\n", key, value);
  for (const Table& t : tables(document.program)) print_table(t, out);
  if (kir)
    for (const KernelDesc& k : document.program.kernels)
      out += fmt::format("\nkernel {}\n  {}\n", k.name, fmt::join(kir::to_lines(k.kir), "\n  "));
  return out;
}

std::string inspect_dot(const Program& p) {
  std::string out =
      "digraph program {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n";
  const auto terminal = [&](std::string_view kind, std::size_t i, const std::string& name) {
    out += fmt::format("  {}{} [label={}, shape=ellipse];\n", kind, i, quoted(name));
  };
  for (std::size_t i = 0; i < p.inputs.size(); ++i) terminal("input", i, p.inputs[i].name);
  for (std::size_t i = 0; i < p.outputs.size(); ++i) terminal("output", i, p.outputs[i].name);
  for (uint32_t s = 0; s < p.steps.size(); ++s) {
    out += fmt::format("  step{} [label={}];\n", s,
                       quoted(fmt::format("{}: {}", s, step_label(p, s))));
    for (const uint32_t a : p.steps[s].after) out += fmt::format("  step{} -> step{};\n", a, s);
    for (const uint32_t b : p.steps[s].args) {
      const BufferDesc& desc = p.buffers[b];
      if (desc.kind == BufferKind::input)
        out += fmt::format("  input{} -> step{} [style=dashed];\n", desc.slot, s);
      for (std::size_t o = 0; o < p.outputs.size(); ++o)
        if (p.outputs[o].buffer == b)
          out += fmt::format("  step{} -> output{} [style=dashed];\n", s, o);
    }
  }
  return out + "}\n";
}

std::string inspect_html(const Document& document) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ostinato "
      "program</title>\n<style>"
      "body{font:14px/1.4 sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px "
      "solid #ccc;padding:2px 8px;"
      "text-align:left;font-family:monospace}pre{background:#f4f4f4;padding:1em}</style></"
      "head><body>\n";
  out += fmt::format("<p>{}</p>\n", html(headline(document)));
  for (const Table& t : tables(document.program)) {
    out += fmt::format("<h2>{}</h2>\n<table>\n", html(t.title));
    const auto row = [&](const std::vector<std::string>& cells, std::string_view tag) {
      out += "<tr>";
      for (const std::string& c : cells) out += fmt::format("<{0}>{1}</{0}>", tag, html(c));
      out += "</tr>\n";
    };
    row(t.columns, "th");
    for (const auto& r : t.rows) row(r, "td");
    out += "</table>\n";
  }
  for (const KernelDesc& k : document.program.kernels)
    out += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", html(k.name),
                       html(kir::to_text(k.kir)));
  return out + "</body></html>\n";
}

json::object inspect_json(const Document& document) {
  const Program& p = document.program;
  json::object out;
  out["program_id"] = program_id(p).value_or("");
  out["numerics"] = p.numerics == kir::Numerics::strict ? "strict" : "fast";
  out["devices"] = p.device_count;
  out["arena_bytes"] = json_uint(arena_bytes(p));
  for (const Table& t : tables(p)) {
    json::array rows;
    for (const auto& row : t.rows) {
      json::object o;
      for (std::size_t c = 0; c < row.size(); ++c) o[t.columns[c]] = row[c];
      rows.push_back(std::move(o));
    }
    out[t.title] = std::move(rows);
  }
  return out;
}

}  // namespace ost::manifest
