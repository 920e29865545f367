#include "core/manifest/diff.hpp"

#include <algorithm>
#include <map>

#include "core/manifest/describe.hpp"

namespace ost::manifest {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;  // name, description; in order

// Items with one name are the same item. Order matters for what is bound by position.
void compare_named(std::string_view section, const Named& a, const Named& b,
                   std::vector<Difference>& out) {
  const std::map<std::string, std::string> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  const auto find = [](const auto& map, const std::string& name) -> std::optional<std::string> {
    const auto it = map.find(name);
    return it == map.end() ? std::nullopt : std::optional(it->second);
  };
  for (const auto& [name, text] : a)
    if (const auto other = find(in_b, name); other != text)
      out.push_back({std::string(section), name, text, other, {}});
  for (const auto& [name, text] : b)
    if (!in_a.contains(name)) out.push_back({std::string(section), name, std::nullopt, text, {}});
}

// Longest common subsequence, after the common ends are cut off; beyond the limit everything
// between counts as replaced.
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
  const auto at = [&](std::size_t i, std::size_t j) -> uint32_t& {
    return length[i * (m + 1) + j];
  };
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = m; j-- > 0;)
      at(i, j) = a[start + i] == b[start + j] ? at(i + 1, j + 1) + 1
                                              : std::max(at(i + 1, j), at(i, j + 1));
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[start + i] == b[start + j])
      ++i, ++j;
    else if (j == m || (i < n && at(i + 1, j) >= at(i, j + 1)))
      out.push_back({true, start + i++});
    else
      out.push_back({false, start + j++});
  }
  return out;
}

template <typename T>
Named signature(const std::vector<T>& list) {
  Named out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.emplace_back(
        list[i].name,
        fmt::format("{}, position {}", describe(list[i].dtype, list[i].shape, list[i].device), i));
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
      list[i].second += p.states[i].initial ? ", starts as " + describe(*p.states[i].initial)
                                            : ", starts as zeros";
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
  return fmt::format("{} instructions, id {}; {}", p.kernels[k].kir.insts.size(),
                     short_hash(kir::hash_of(p.kernels[k].kir)), kernel_label(p, k));
}

// For each kernel of b its partner in a, or kNoIndex: equal hashes are equal kernels, then equal
// names are versions of one kernel, and what is left is paired in order if there is as much of it
// on both sides.
std::vector<uint32_t> partners(const Program& a, const Program& b) {
  std::vector<uint32_t> of_b(b.kernels.size(), kNoIndex);
  std::vector<char> taken(a.kernels.size(), 0);
  const auto pair_by = [&](auto&& key) {
    std::map<std::string, uint32_t> in_a;
    for (uint32_t i = 0; i < a.kernels.size(); ++i)
      if (!taken[i]) in_a.emplace(key(a.kernels[i]), i);
    for (uint32_t i = 0; i < b.kernels.size(); ++i) {
      const auto it = of_b[i] == kNoIndex ? in_a.find(key(b.kernels[i])) : in_a.end();
      if (it == in_a.end() || taken[it->second]) continue;
      of_b[i] = it->second;
      taken[it->second] = 1;
    }
  };
  pair_by([](const KernelDesc& k) { return kir::hash_of(k.kir); });
  pair_by([](const KernelDesc& k) { return k.name; });
  std::vector<uint32_t> left_a, left_b;
  for (uint32_t i = 0; i < a.kernels.size(); ++i)
    if (!taken[i]) left_a.push_back(i);
  for (uint32_t i = 0; i < b.kernels.size(); ++i)
    if (of_b[i] == kNoIndex) left_b.push_back(i);
  if (left_a.size() == left_b.size())
    for (std::size_t i = 0; i < left_b.size(); ++i) of_b[left_b[i]] = left_a[i];
  return of_b;
}

void compare_kernels(const Program& a, const Program& b, const std::vector<uint32_t>& of_b,
                     std::vector<Difference>& out) {
  for (uint32_t i = 0; i < a.kernels.size(); ++i)
    if (std::ranges::find(of_b, i) == of_b.end())
      out.push_back({"kernel", a.kernels[i].name, kernel_text(a, i), std::nullopt, {}});
  for (uint32_t i = 0; i < b.kernels.size(); ++i) {
    const std::string& name = b.kernels[i].name;
    if (of_b[i] == kNoIndex) {
      out.push_back({"kernel", name, std::nullopt, kernel_text(b, i), {}});
      continue;
    }
    const KernelDesc& old = a.kernels[of_b[i]];
    const std::string renamed = old.name == name ? "" : fmt::format("named {}; ", name);
    if (old.kir == b.kernels[i].kir) {
      if (!renamed.empty())
        out.push_back(
            {"kernel", old.name, kernel_text(a, of_b[i]), renamed + "otherwise equal", {}});
      continue;
    }
    const auto old_lines = kir::to_lines(old.kir), new_lines = kir::to_lines(b.kernels[i].kir);
    std::vector<std::string> lines;
    for (const Edit& e : edits(old_lines, new_lines))
      lines.push_back(e.removed ? "- " + old_lines[e.index] : "+ " + new_lines[e.index]);
    out.push_back({"kernel", old.name, kernel_text(a, of_b[i]), renamed + kernel_text(b, i),
                   std::move(lines)});
  }
}

// A step is what it does, to what, where and after what; a kernel that has a partner goes by its
// partner's name.
std::vector<std::string> step_lines(const Program& p, const std::vector<std::string>& kernels) {
  std::vector<std::string> lines;
  for (uint32_t s = 0; s < p.steps.size(); ++s) {
    std::vector<std::string> after;
    for (const uint32_t e : p.steps[s].after) after.push_back(step_label(p, e, kernels));
    lines.push_back(fmt::format("{} on device {}", step_label(p, s, kernels), p.steps[s].device));
    if (!after.empty()) lines.back() += fmt::format(", after {}", fmt::join(after, " and "));
  }
  return lines;
}

void compare_steps(const Program& a, const Program& b, const std::vector<uint32_t>& of_b,
                   std::vector<Difference>& out) {
  std::vector<std::string> names_a, names_b;
  for (const KernelDesc& k : a.kernels) names_a.push_back(k.name);
  for (std::size_t i = 0; i < b.kernels.size(); ++i)
    names_b.push_back(of_b[i] == kNoIndex ? b.kernels[i].name : names_a[of_b[i]]);
  const auto old_steps = step_lines(a, names_a), new_steps = step_lines(b, names_b);
  for (const Edit& e : edits(old_steps, new_steps)) {
    const std::string name = fmt::format("{}", e.index);
    if (e.removed)
      out.push_back({"step", name, old_steps[e.index], std::nullopt, {}});
    else
      out.push_back({"step", name, std::nullopt, new_steps[e.index], {}});
  }
}

}  // namespace

std::vector<Difference> diff(const Program& a, const Program& b) {
  std::vector<Difference> out;
  const auto mode = [](const Program& p) -> std::string {
    return p.numerics == kir::Numerics::strict ? "strict" : "fast";
  };
  if (a.numerics != b.numerics) out.push_back({"numerics", "mode", mode(a), mode(b), {}});
  if (a.device_count != b.device_count)
    out.push_back(
        {"devices", "count", std::to_string(a.device_count), std::to_string(b.device_count), {}});
  compare_signature(a, b, out);
  const auto arenas = [](const Program& p) {
    Named list;
    for (std::size_t i = 0; i < p.arenas.size(); ++i)
      list.emplace_back(std::to_string(i), fmt::format("{} bytes on device {}", p.arenas[i].bytes,
                                                       p.arenas[i].device));
    return list;
  };
  compare_named("arena", arenas(a), arenas(b), out);
  const auto of_b = partners(a, b);
  compare_kernels(a, b, of_b, out);
  compare_steps(a, b, of_b, out);
  const auto guards = [](const Program& p) {
    Named list;
    for (const Guard& g : p.guards)
      list.emplace_back(fmt::format("{} <= {}", g.low.str(), g.high.str()), g.why);
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
