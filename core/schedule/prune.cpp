#include "core/schedule/prune.hpp"

#include <algorithm>
#include <map>

#include "core/schedule/assemble.hpp"

namespace ost {
namespace {

std::vector<uint32_t> access_of(const Program& p, const Step& step) {
  if (step.kind == StepKind::copy) return {OST_KIR_WRITE, OST_KIR_READ};
  std::vector<uint32_t> access(step.args.size(), 0);
  for (const auto& inst : p.kernels[step.kernel].kir.insts) {
    if (inst.op == OST_KIR_OP_PARAM) access[inst.imm] = inst.aux;
  }
  return access;
}

// Removes steps until the rest is closed: each reads only what is fixed or written by the others.
std::vector<bool> unchanging_steps(const Program& p, const std::vector<bool>& frozen) {
  std::vector<bool> is_output(p.buffers.size(), false);
  for (const OutputDesc& o : p.outputs) is_output[o.buffer] = true;
  std::vector<bool> pruned(p.steps.size(), true);
  std::vector<bool> fixed(p.buffers.size(), false);  // buffers that such steps may touch
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferDesc& desc = p.buffers[b];
    fixed[b] = desc.elements.is_const() && !is_output[b] &&
               (desc.kind == BufferKind::constant || desc.kind == BufferKind::temp ||
                (desc.kind == BufferKind::state && frozen[desc.slot]));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = 0; s < p.steps.size(); ++s) {
      const Step& step = p.steps[s];
      const bool stays = !step.vars.empty() ||
                         std::ranges::any_of(step.args, [&](uint32_t b) { return !fixed[b]; });
      if (!stays || !pruned[s]) continue;
      pruned[s] = false;
      changed = true;
      const auto access = access_of(p, step);
      for (size_t i = 0; i < step.args.size(); ++i) {
        if (access[i] & OST_KIR_WRITE) fixed[step.args[i]] = false;
      }
    }
  }
  return pruned;
}

// A program of some of the steps; buffers, constants, states and kernels that they do not need go.
class Part {
 public:
  Part(const Program& whole, const std::vector<bool>& steps) : from_(whole), steps_(steps) {
    buffer_.assign(whole.buffers.size(), kNoIndex);
  }

  // Has its place in the new program, with this kind and slot.
  uint32_t add_buffer(uint32_t old, BufferKind kind, uint32_t slot) {
    BufferDesc desc = from_.buffers[old];
    desc.kind = kind;
    desc.slot = slot;
    desc.arena = kNoIndex;
    desc.offset = 0;
    to_.buffers.push_back(std::move(desc));
    return buffer_[old] = static_cast<uint32_t>(to_.buffers.size() - 1);
  }

  uint32_t keep(uint32_t old) {
    if (buffer_[old] != kNoIndex) return buffer_[old];
    const BufferDesc& desc = from_.buffers[old];
    uint32_t slot = desc.slot;
    if (desc.kind == BufferKind::constant)
      slot = move(constants_, slot, from_.constants, to_.constants);
    if (desc.kind == BufferKind::state) slot = move(states_, slot, from_.states, to_.states);
    return add_buffer(old, desc.kind, slot);
  }

  Result<Program> finish(const ScheduleOptions& options) {
    std::vector<std::vector<uint32_t>> access;
    std::map<uint32_t, uint32_t> step_of;
    for (uint32_t s = 0; s < from_.steps.size(); ++s) {
      if (!steps_[s]) continue;
      Step step = from_.steps[s];
      access.push_back(access_of(from_, step));
      if (step.kind == StepKind::launch)
        step.kernel = move(kernels_, step.kernel, from_.kernels, to_.kernels);
      for (uint32_t& b : step.args) b = keep(b);
      step.after.clear();
      step_of[s] = static_cast<uint32_t>(to_.steps.size());
      to_.steps.push_back(std::move(step));
    }
    for (Group group : from_.groups) {
      if (!step_of.contains(group.step)) continue;
      group.step = step_of[group.step];
      group.kernel = kernels_.at(group.kernel);
      to_.groups.push_back(std::move(group));
    }
    to_.numerics = from_.numerics;
    to_.device_count = from_.device_count;
    connect_steps(to_, access);
    place_temps(to_, options);
    return std::move(to_);
  }

  Program& program() { return to_; }

 private:
  template <typename T>
  static uint32_t move(std::map<uint32_t, uint32_t>& seen, uint32_t old, const std::vector<T>& from,
                       std::vector<T>& to) {
    const auto [it, added] = seen.emplace(old, static_cast<uint32_t>(to.size()));
    if (added) to.push_back(from[old]);
    return it->second;
  }

  const Program& from_;
  const std::vector<bool>& steps_;
  Program to_;
  std::vector<uint32_t> buffer_;
  std::map<uint32_t, uint32_t> constants_, states_, kernels_;
};

// Intermediates that pruned steps write and others read.
std::vector<uint32_t> crossing(const Program& p, const std::vector<bool>& pruned) {
  std::vector<bool> written(p.buffers.size(), false), read(p.buffers.size(), false);
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const auto access = access_of(p, p.steps[s]);
    for (size_t i = 0; i < access.size(); ++i) {
      const uint32_t b = p.steps[s].args[i];
      if (pruned[s] && (access[i] & OST_KIR_WRITE)) written[b] = true;
      if (!pruned[s]) read[b] = true;
    }
  }
  std::vector<uint32_t> out;
  for (uint32_t b = 0; b < p.buffers.size(); ++b) {
    if (written[b] && read[b]) out.push_back(b);
  }
  return out;
}

}  // namespace

Result<PruneSplit> split_unchanging(const Program& p, const std::vector<bool>& frozen,
                                    const ScheduleOptions& options) {
  PruneSplit split;
  const std::vector<bool> pruned = unchanging_steps(p, frozen);
  const std::vector<uint32_t> needed = crossing(p, pruned);
  if (needed.empty()) return split;
  std::vector<bool> others = pruned;
  others.flip();
  Part once(p, pruned), rest(p, others);
  for (const uint32_t b : needed) {
    const BufferDesc& desc = p.buffers[b];
    const auto output = static_cast<uint32_t>(once.program().outputs.size());
    const uint32_t buffer = once.add_buffer(b, BufferKind::output, output);
    once.program().outputs.push_back(
        {fmt::format("pruned{}", output), desc.dtype, {desc.elements}, desc.device, buffer});
  }
  rest.program().vars = p.vars;
  rest.program().guards = p.guards;
  rest.program().inputs = p.inputs;
  for (uint32_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].kind == BufferKind::input) rest.keep(b);
  }
  for (OutputDesc o : p.outputs) {
    o.buffer = rest.keep(o.buffer);
    rest.program().outputs.push_back(std::move(o));
  }
  for (const uint32_t b : needed) {
    auto& constants = rest.program().constants;
    const auto slot = static_cast<uint32_t>(constants.size());
    split.results.push_back(slot);
    constants.push_back({fmt::format("pruned{}", slot), nullptr, {}, {}});
    rest.add_buffer(b, BufferKind::constant, slot);
  }
  OST_TRY_ASSIGN(split.once, once.finish(options));
  OST_TRY_ASSIGN(split.rest, rest.finish(options));
  return split;
}

}  // namespace ost
