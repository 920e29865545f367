#include "core/manifest/diff.hpp"

#include <algorithm>
#include <map>

#include "core/manifest/describe.hpp"

namespace ost::manifest {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;  // name, description; in order

// Items with one name are the same item. Order matters for what is bound by position.
void compare_named(std::string_view section, const Named& a, const Named& b, std::vector<Difference>& out) {
  const std::map<std::string, std::string> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  const auto find = [](const auto& map, const std::string& name) -> std::optional<std::string> {
    const auto it = map.find(name);
    return it == map.end() ? std::nullopt : std::optional(it->second);
  };
  for (const auto& [name, text] : a)
    if (const auto other = find(in_b, name); other != text) out.push_back({std::string(section), name, text, other, {}});
  for (const auto& [name, text] : b)
    if (!in_a.contains(name)) out.push_back({std::string(section), name, std::nullopt, text, {}});
}

// Longest common subsequence, after the common ends are cut off; beyond the limit everything between counts as replaced.
struct Edit {
  bool removed;
  std::size_t index;  // in a or b
};
std::vector<Edit> edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t start = 0, end_a = a.size(), end_b = b.size();
  while (start < end_a && start < end_b && a[start] == b[start]) ++start;
  while (end_a > start && end_b > start && a[end_a - 1] == b[end_b - 1]) --end_a, --end_b;
  const std::size_t n = end_a - start, m = end_b - start;
  std::vector<Edit> out;
  if (n * m > (std::size_t{1} << 24)) {
    for (std::size_t i = start; i < end_a; ++i) out.push_back({true, i});
    for (std::size_t j = start; j < end_b; ++j) out.push_back({false, j});
    return out;
  }
  std::vector<uint32_t> length((n + 1) * (m + 1), 0);  // of the common subsequence of the rests
  const auto at = [&](std::size_t i, std::size_t j) -> uint32_t& { return length[i * (m + 1) + j]; };
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = m; j-- > 0;)
      at(i, j) = a[start + i] == b[start + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[start + i] == b[start + j]) ++i, ++j;
    else if (j == m || (i < n && at(i + 1, j) >= at(i, j + 1))) out.push_back({true, start + i++});
    else out.push_back({false, start + j++});
  }
  return out;
}

template <typename T>
Named signature(const std::vector<T>& list) {
  Named out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.emplace_back(list[i].name, fmt::format("{}, position {}", describe(list[i].dtype, list[i].shape, list[i].device), i));
  return out;
}

void compare_signature(const Program& a, const Program& b, std::vector<Difference>& out) {
  const auto vars = [](const Program& p) {
    Named list;
    for (const Var& v : p.vars) list.emplace_back(v.name, fmt::format("{} .. {}", v.min, v.max));
    return list;
  };
  const auto inputs = [](const Program& p) {
    Named list = signature(p.inputs);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (p.inputs[i].written) list[i].second += ", written";
    return list;
  };
  const auto states = [](const Program& p) {
    Named list = signature(p.states);
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i].second += p.states[i].initial ? ", starts as " + describe(*p.states[i].initial) : ", starts as zeros";
    return list;
  };
  const auto constants = [](const Program& p) {
    Named list;
    for (const ConstantDesc& c : p.constants) list.emplace_back(c.name, describe(*c.data));
    return list;
  };
  compare_named("variable", vars(a), vars(b), out);
  compare_named("input", inputs(a), inputs(b), out);
  compare_named("output", signature(a.outputs), signature(b.outputs), out);
  compare_named("state", states(a), states(b), out);
  compare_named("constant", constants(a), constants(b), out);
}

std::string kernel_text(const Program& p, uint32_t k) {
  return fmt::format("{} instructions, id {}; {}", p.kernels[k].kir.insts.size(), short_hash(kir::hash_of(p.kernels[k].kir)), kernel_label(p, k));
}

// Equal hashes are equal kernels, whatever their names; the others are paired by name.
void compare_kernels(const Program& a, const Program& b, std::vector<Difference>& out) {
  std::map<std::string, uint32_t> hash_a, hash_b, name_b;
  for (uint32_t i = 0; i < a.kernels.size(); ++i) hash_a.emplace(kir::hash_of(a.kernels[i].kir), i);
  for (uint32_t i = 0; i < b.kernels.size(); ++i) {
    hash_b.emplace(kir::hash_of(b.kernels[i].kir), i);
    name_b.emplace(b.kernels[i].name, i);
  }
  std::vector<char> paired(b.kernels.size(), 0);
  for (uint32_t i = 0; i < a.kernels.size(); ++i) {
    if (hash_b.contains(kir::hash_of(a.kernels[i].kir))) continue;
    const auto it = name_b.find(a.kernels[i].name);
    if (it == name_b.end() || hash_a.contains(kir::hash_of(b.kernels[it->second].kir))) {
      out.push_back({"kernel", a.kernels[i].name, kernel_text(a, i), std::nullopt, {}});
      continue;
    }
    paired[it->second] = 1;
    const auto old_lines = kir::to_lines(a.kernels[i].kir), new_lines = kir::to_lines(b.kernels[it->second].kir);
    std::vector<std::string> lines;
    for (const Edit& e : edits(old_lines, new_lines))
      lines.push_back(e.removed ? "- " + old_lines[e.index] : "+ " + new_lines[e.index]);
    out.push_back({"kernel", a.kernels[i].name, kernel_text(a, i), kernel_text(b, it->second), std::move(lines)});
  }
  for (uint32_t i = 0; i < b.kernels.size(); ++i)
    if (!paired[i] && !hash_a.contains(kir::hash_of(b.kernels[i].kir)))
      out.push_back({"kernel", b.kernels[i].name, std::nullopt, kernel_text(b, i), {}});
}

void compare_steps(const Program& a, const Program& b, std::vector<Difference>& out) {
  const auto labels = [](const Program& p) {
    std::vector<std::string> list;
    for (uint32_t s = 0; s < p.steps.size(); ++s) {
      std::vector<std::string> after;
      for (const uint32_t e : p.steps[s].after) after.push_back(step_label(p, e));
      list.push_back(fmt::format("{} on device {}", step_label(p, s), p.steps[s].device));
      if (!after.empty()) list.back() += fmt::format(", after {}", fmt::join(after, " and "));
    }
    return list;
  };
  const auto old_steps = labels(a), new_steps = labels(b);
  for (const Edit& e : edits(old_steps, new_steps)) {
    const std::string name = fmt::format("{}", e.index);
    if (e.removed) out.push_back({"step", name, old_steps[e.index], std::nullopt, {}});
    else out.push_back({"step", name, std::nullopt, new_steps[e.index], {}});
  }
}

}  // namespace

std::vector<Difference> diff(const Program& a, const Program& b) {
  std::vector<Difference> out;
  const auto mode = [](const Program& p) -> std::string { return p.numerics == kir::Numerics::strict ? "strict" : "fast"; };
  if (a.numerics != b.numerics) out.push_back({"numerics", "mode", mode(a), mode(b), {}});
  if (a.device_count != b.device_count)
    out.push_back({"devices", "count", std::to_string(a.device_count), std::to_string(b.device_count), {}});
  compare_signature(a, b, out);
  const auto arenas = [](const Program& p) {
    Named list;
    for (std::size_t i = 0; i < p.arenas.size(); ++i)
      list.emplace_back(std::to_string(i), fmt::format("{} bytes on device {}", p.arenas[i].bytes, p.arenas[i].device));
    return list;
  };
  compare_named("arena", arenas(a), arenas(b), out);
  compare_kernels(a, b, out);
  compare_steps(a, b, out);
  const auto guards = [](const Program& p) {
    Named list;
    for (const Guard& g : p.guards) list.emplace_back(fmt::format("{} <= {}", g.low.str(), g.high.str()), g.why);
    return list;
  };
  compare_named("guard", guards(a), guards(b), out);
  return out;
}

std::string diff_text(const std::vector<Difference>& differences) {
  std::string out;
  for (const Difference& d : differences) {
    if (d.before) out += fmt::format("- {} {}: {}\n", d.section, d.name, *d.before);
    if (d.after) out += fmt::format("+ {} {}: {}\n", d.section, d.name, *d.after);
    for (const std::string& line : d.lines) out += "    " + line + "\n";
  }
  return out;
}

json::array diff_json(const std::vector<Difference>& differences) {
  json::array out;
  for (const Difference& d : differences) {
    json::object o;
    o["section"] = d.section;
    o["name"] = d.name;
    o["change"] = !d.before ? "added" : !d.after ? "removed" : "changed";
    o["before"] = d.before ? json::value(*d.before) : json::value(nullptr);
    o["after"] = d.after ? json::value(*d.after) : json::value(nullptr);
    if (!d.lines.empty()) {
      json::array lines;
      for (const std::string& line : d.lines) lines.emplace_back(line);
      o["lines"] = std::move(lines);
    }
    out.push_back(std::move(o));
  }
  return out;
}

}  // namespace ost::manifest
