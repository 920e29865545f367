// The commands of an instance's segments, recorded as command lists where the driver has them.
#include <algorithm>

#include "core/runtime/instance_state.hpp"
#include "core/runtime/recipe.hpp"

namespace ost::runtime {
namespace {

// Turns the steps of one segment into commands. Pointers into refs and var_maps stay valid: those
// are sized up front.
class SegmentBuilder {
 public:
  SegmentBuilder(InstanceState& s, const Segment& segment)
      : s_(s), p_(*s.program), device_(*s.devices[segment.device].device) {
    out_.device = segment.device;
    out_.steps = segment.steps;
    out_.refs.resize(segment.steps.size());
    out_.var_maps.resize(segment.steps.size());
    out_.vars.resize(segment.steps.size());
  }

  Result<PreparedSegment> build() {
    for (size_t i = 0; i < out_.steps.size(); ++i) {
      const Step& step = p_.steps[out_.steps[i]];
      if (step.kind == StepKind::launch) {
        add_launch(step, i);
        add_grid(out_.steps[i], i);
      } else {
        add_copy(step, i);
      }
    }
    out_.slots.resize(out_.slot_buffers.size());
    if (!device_.driver().features().has_command_lists) return std::move(out_);
    OST_TRY_ASSIGN(out_.list, CommandList::create(s_.device_ptrs[out_.device], out_.commands,
                                                  static_cast<uint32_t>(out_.slots.size()),
                                                  static_cast<uint32_t>(s_.vars.size())));
    out_.call.size = sizeof out_.call;
    out_.call.kind = OST_CMD_CMDLIST;
    out_.call.cmdlist = out_.list->handle();
    out_.call.refs = out_.slots.data();
    out_.call.ref_count = static_cast<uint32_t>(out_.slots.size());
    out_.call.var_count = static_cast<uint32_t>(s_.vars.size());
    return std::move(out_);
  }

 private:
  uint32_t slot_of(uint32_t buffer) {
    const auto found = std::ranges::find(out_.slot_buffers, buffer);
    if (found == out_.slot_buffers.end()) out_.slot_buffers.push_back(buffer);
    return static_cast<uint32_t>(std::ranges::find(out_.slot_buffers, buffer) -
                                 out_.slot_buffers.begin()) +
           1;
  }

  // `exact`: the command looks at the size, so a buffer whose size depends on variables is bound in
  // each run.
  void add_ref(uint32_t buffer, size_t command, bool exact) {
    const BufferKind kind = p_.buffers[buffer].kind;
    const bool bound = kind == BufferKind::input || kind == BufferKind::output ||
                       (exact && !s_.elements[buffer].is_const());
    ost_ref_t ref{};
    if (bound) {
      ref.slot = slot_of(buffer);  // size 0: all that is bound
      out_.patches.push_back({command, out_.refs[command].size(), ref.slot - 1});
    } else {
      const BufferRef& fixed = s_.fixed[buffer];
      ref = {fixed.buffer->handle(), fixed.offset, fixed.bytes, 0, 0};
    }
    out_.refs[command].push_back(ref);
  }

  ost_command_t& add_command(uint32_t kind, const Step& step, size_t index) {
    ost_command_t c{};
    c.size = sizeof c;
    c.kind = kind;
    c.level = step.level;
    c.refs = out_.refs[index].data();
    c.ref_count = static_cast<uint32_t>(out_.refs[index].size());
    return out_.commands.emplace_back(c);
  }

  void add_launch(const Step& step, size_t index) {
    for (const uint32_t buffer : step.args) add_ref(buffer, index, false);
    out_.var_maps[index] = step.vars;
    out_.vars[index].resize(step.vars.size());
    ost_command_t& c = add_command(OST_CMD_DISPATCH, step, index);
    const Executable& executable = *s_.kernels[s_.kernel_of[step.kernel][step.device]].executable;
    c.executable = executable.handle();
    c.entry = executable.entry();
    c.var_count = static_cast<uint32_t>(step.vars.size());
    if (device_.driver().features().has_command_lists) {
      c.var_map = out_.var_maps[index].data();
    } else {
      c.vars = out_.vars[index].data();
    }
  }

  // Grids that depend on variables were given their places before.
  void add_grid(uint32_t step, size_t index) {
    ost_command_t& c = out_.commands[index];
    CompiledKernel& kernel = s_.kernels[s_.kernel_of[p_.steps[step].kernel][p_.steps[step].device]];
    if (!kernel.launch) return;
    set_launch(*kernel.launch, {}, c);
    const auto symbolic = std::ranges::find(s_.grids, step, &SymbolicGrid::step);
    if (symbolic == s_.grids.end()) return;
    if (!device_.driver().features().has_command_lists)
      return out_.grid_patches.push_back({index, symbolic->first});
    for (uint32_t d = 0; d < 3; ++d) c.grid_var[d] = static_cast<uint32_t>(symbolic->first) + d + 1;
  }

  void add_copy(const Step& step, size_t index) {
    for (const uint32_t buffer : step.args) add_ref(buffer, index, true);
    add_command(OST_CMD_COPY, step, index);
  }

  InstanceState& s_;
  const Program& p_;
  const Device& device_;
  PreparedSegment out_;
};

// Room for transfers for which neither side can be mapped, so that a run allocates nothing.
uint64_t staging_bytes(const InstanceState& s) {
  uint64_t most = 0;
  for (const Action& a : s.actions) {
    if (a.kind != Action::Kind::transfer) continue;
    const Step& step = s.program->steps[a.index];
    const BufferDesc& to = s.program->buffers[step.args[0]];
    const BufferDesc& from = s.program->buffers[step.args[1]];
    if (s.device_ptrs[to.device]->host_visible() || s.device_ptrs[from.device]->host_visible())
      continue;
    most = std::max(
        most, static_cast<uint64_t>(std::max<int64_t>(to.elements.upper(), 0)) * size_of(to.dtype));
  }
  return std::min<uint64_t>(most, uint64_t{4} << 20);
}

}  // namespace

// A place in `vars` for each grid that depends on variables.
static void place_grids(InstanceState& s) {
  s.grids.clear();
  s.vars.resize(s.program->vars.size());
  for (uint32_t i = 0; i < s.program->steps.size(); ++i) {
    const Step& step = s.program->steps[i];
    if (step.kind != StepKind::launch) continue;
    const CompiledKernel& kernel = s.kernels[s.kernel_of[step.kernel][step.device]];
    if (!kernel.launch || kernel.launch->grid.is_const()) continue;
    s.grids.push_back({i, *kernel.launch, std::vector<int64_t>(step.vars.size()), s.vars.size()});
    s.vars.resize(s.vars.size() + 3);
  }
}

Result<> build_segments(InstanceState& s) {
  place_grids(s);
  RunPlan plan = plan_run(*s.program);
  for (const Segment& segment : plan.segments) {
    OST_TRY_ASSIGN(PreparedSegment prepared, SegmentBuilder(s, segment).build());
    s.segments.push_back(std::move(prepared));
  }
  for (PreparedSegment& segment : s.segments) segment.call.refs = segment.slots.data();
  s.actions = std::move(plan.actions);
  s.staging.resize(staging_bytes(s));
  return {};
}

}  // namespace ost::runtime
