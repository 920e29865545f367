#include "core/schedule/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ost {

namespace {

// The kernel in the program's list, which may have it already.
uint32_t kernel_in(Program& p, const kir::Kernel& kernel, const std::string& base,
                   std::map<std::string, uint32_t>& known) {
  std::string hash = kir::hash_of(kernel);
  if (const auto it = known.find(hash); it != known.end()) return it->second;
  std::string name = base + "_part";
  for (int n = 2; std::any_of(p.kernels.begin(), p.kernels.end(),
                              [&](const KernelDesc& k) { return k.name == name; });
       ++n)
    name = fmt::format("{}_part{}", base, n);
  p.kernels.push_back({std::move(name), kernel, {}});
  return known[std::move(hash)] = static_cast<uint32_t>(p.kernels.size() - 1);
}

void add_buffers(const Draft& d, Program& p) {
  for (size_t b = p.buffers.size(); b < d.origin_of_buffer.size(); ++b) {
    BufferDesc desc = p.buffers[d.origin_of_buffer[b]];
    if (d.parts_of_buffer[b] > 1)
      desc.elements = Sym(*desc.elements.constant() / static_cast<int64_t>(d.parts_of_buffer[b]));
    p.buffers.push_back(std::move(desc));
  }
}

// Temps that no step uses any more, and kernels that none launches.
void drop_unused(Program& p) {
  std::vector<bool> used(p.buffers.size(), false), launched(p.kernels.size(), false);
  for (const Step& s : p.steps) {
    for (const uint32_t b : s.args) used[b] = true;
    if (s.kind == StepKind::launch) launched[s.kernel] = true;
  }
  std::vector<uint32_t> buffer_at(p.buffers.size(), kNoIndex);
  std::vector<uint32_t> kernel_at(p.kernels.size(), kNoIndex);
  std::vector<BufferDesc> buffers;
  std::vector<KernelDesc> kernels;
  for (uint32_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].kind == BufferKind::temp && !used[b]) continue;
    buffer_at[b] = static_cast<uint32_t>(buffers.size());
    buffers.push_back(p.buffers[b]);
  }
  for (uint32_t k = 0; k < p.kernels.size(); ++k) {
    if (!launched[k]) continue;
    kernel_at[k] = static_cast<uint32_t>(kernels.size());
    kernels.push_back(std::move(p.kernels[k]));
  }
  for (Step& s : p.steps) {
    for (uint32_t& b : s.args) b = buffer_at[b];
    if (s.kind == StepKind::launch) s.kernel = kernel_at[s.kernel];
  }
  for (Group& g : p.groups)
    if (g.kernel != kNoIndex) g.kernel = kernel_at[g.kernel];
  for (OutputDesc& o : p.outputs) o.buffer = buffer_at[o.buffer];
  p.buffers = std::move(buffers);
  p.kernels = std::move(kernels);
}

}  // namespace

void apply(const Draft& d, const std::vector<kir::Kernel>& made, Program& p,
           std::vector<std::vector<uint32_t>>& access) {
  add_buffers(d, p);
  std::vector<Step> steps;
  std::vector<std::vector<uint32_t>> new_access;
  std::vector<Group> groups;
  std::set<uint32_t> seen;
  std::map<uint32_t, const Group*> group_of_step;
  std::map<std::string, uint32_t> known;
  for (const Group& g : p.groups) group_of_step.emplace(g.step, &g);
  for (const Draft::Item& item : d.items) {
    Step step = p.steps[item.origin];
    step.args = item.args;
    step.after.clear();
    if (item.kernel != kNoIndex) {
      const std::string base = p.kernels[step.kernel].name;
      step.kernel = kernel_in(p, made[item.kernel], base, known);
    }
    if (const auto it = group_of_step.find(item.origin); it != group_of_step.end()) {
      Group group = *it->second;
      group.step = static_cast<uint32_t>(steps.size());
      group.kernel = step.kernel;
      if (!seen.insert(item.origin).second) {
        group.why = item.kernel == kNoIndex ? "computed again, so that the arena fits its limit"
                                            : "another part, so that the arena fits its limit";
        group.bytes_saved = 0;
      }
      groups.push_back(std::move(group));
    }
    steps.push_back(std::move(step));
    new_access.push_back(access[item.origin]);
  }
  p.steps = std::move(steps);
  p.groups = std::move(groups);
  access = std::move(new_access);
  drop_unused(p);
}

}  // namespace ost
