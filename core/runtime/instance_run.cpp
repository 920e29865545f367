// Running an instance: checks, binding, submission, times. Allocates nothing.
#include <algorithm>
#include <chrono>

#include "core/runtime/instance_state.hpp"

namespace ost::runtime {
namespace {

uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

Result<> check_vars(const Program& p, std::span<const int64_t> vars) {
  if (vars.size() != p.vars.size()) {
    return fail(OST_INVALID_ARGUMENT, "{} variables were given, the program has {}", vars.size(),
                p.vars.size());
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    if (vars[i] >= p.vars[i].min && vars[i] <= p.vars[i].max) continue;
    return fail(OST_INVALID_ARGUMENT, "variable {} is {}, wanted {} to {}", p.vars[i].name, vars[i],
                p.vars[i].min, p.vars[i].max);
  }
  return {};
}

Result<> check_guards(const InstanceState& s, std::span<const int64_t> vars) {
  for (size_t i = 0; i < s.guards.size(); ++i) {
    const auto low = s.guards[i].low.eval(vars);
    const auto high = s.guards[i].high.eval(vars);
    if (low && high && *low <= *high) continue;
    const Guard& g = s.program->guards[i];
    return fail(OST_INVALID_ARGUMENT,
                "the program needs {} <= {} ({}), which does not hold for these variables",
                g.low.str(), g.high.str(), g.why);
  }
  return {};
}

// The shape for an error message; the slow path.
std::string shape_text(const ShapeExpr& shape, std::span<const int64_t> vars) {
  std::string out = "[";
  for (size_t i = 0; i < shape.dims.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", shape.dims[i].eval(vars).value_or(-1));
  return out + "]";
}

struct Argument {
  const char* what;  // "input", "output"
  size_t index;
  const std::string& name;
  const ShapeExpr& shape;
};

// The part of `given` that the program will use. An argument without elements needs no buffer.
Result<BufferRef> fit(const Argument& a, const BufferRef& given, const DeviceState& device,
                      std::span<const int64_t> vars) {
  OST_TRY_ASSIGN(const uint64_t bytes,
                 checked_bytes(a.shape.elements, a.shape.element_bytes, vars));
  if (bytes == 0 && !given.buffer) return BufferRef{device.empty, 0, 0};
  if (!given.buffer)
    return fail(OST_INVALID_ARGUMENT, "{} {} ({}) has no buffer", a.what, a.index, a.name);
  if (given.buffer->device() != device.device) {
    return fail(OST_INVALID_ARGUMENT, "{} {} ({}) is on {}, wanted on {}", a.what, a.index, a.name,
                given.buffer->device()->id(), device.device->id());
  }
  if (given.bytes < bytes) {
    return fail(OST_INVALID_ARGUMENT, "{} {} ({}) has {} bytes, wanted {} for shape {}", a.what,
                a.index, a.name, given.bytes, bytes, shape_text(a.shape, vars));
  }
  if (given.offset > given.buffer->bytes() || bytes > given.buffer->bytes() - given.offset) {
    return fail(OST_INVALID_ARGUMENT, "{} {} ({}) ends beyond its buffer of {} bytes", a.what,
                a.index, a.name, given.buffer->bytes());
  }
  if (given.offset % device.device->info().min_align != 0) {
    return fail(OST_INVALID_ARGUMENT, "{} {} ({}) starts at byte {}, wanted a multiple of {}",
                a.what, a.index, a.name, given.offset, device.device->info().min_align);
  }
  return BufferRef{given.buffer, given.offset, bytes};
}

bool overlap(const BufferRef& a, const BufferRef& b) {
  return a.buffer == b.buffer && a.bytes != 0 && b.bytes != 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

// What a run writes may have no second name: the memory plan and the order of steps know only the
// first.
Result<> check_aliasing(const InstanceState& s) {
  const Program& p = *s.program;
  const auto is_written = [&](size_t i) {
    return p.buffers[i].kind == BufferKind::output ||
           (p.buffers[i].kind == BufferKind::input && p.inputs[p.buffers[i].slot].written);
  };
  const auto same_argument = [&](size_t i, size_t k) {
    return p.buffers[i].kind == p.buffers[k].kind && p.buffers[i].slot == p.buffers[k].slot;
  };
  const auto describe = [&](size_t i) {
    return fmt::format("{} {}", p.buffers[i].kind == BufferKind::input ? "input" : "output",
                       p.buffers[i].slot);
  };
  for (const uint32_t i : s.arguments) {
    if (!is_written(i)) continue;
    for (const uint32_t k : s.arguments) {
      if (same_argument(i, k) || !overlap(s.bound[i], s.bound[k])) continue;
      return fail(OST_INVALID_ARGUMENT, "{} and {} share memory, and the program writes {}",
                  describe(i), describe(k), describe(i));
    }
  }
  return {};
}

Result<> bind(InstanceState& s, std::span<const BufferRef> inputs,
              std::span<const BufferRef> outputs, std::span<const int64_t> vars) {
  const Program& p = *s.program;
  if (inputs.size() != p.inputs.size() || outputs.size() != p.outputs.size()) {
    return fail(OST_INVALID_ARGUMENT,
                "{} inputs and {} outputs were given, the program has {} and {}", inputs.size(),
                outputs.size(), p.inputs.size(), p.outputs.size());
  }
  for (const uint32_t i : s.symbolic) {
    OST_TRY_ASSIGN(s.bound[i].bytes,
                   checked_bytes(s.elements[i], size_of(p.buffers[i].dtype), vars));
  }
  for (const uint32_t i : s.arguments) {
    const BufferDesc& b = p.buffers[i];
    if (b.kind == BufferKind::input) {
      OST_TRY_ASSIGN(s.bound[i], fit({"input", b.slot, p.inputs[b.slot].name, s.inputs[b.slot]},
                                     inputs[b.slot], s.devices[b.device], vars));
    } else {
      OST_TRY_ASSIGN(s.bound[i], fit({"output", b.slot, p.outputs[b.slot].name, s.outputs[b.slot]},
                                     outputs[b.slot], s.devices[b.device], vars));
    }
  }
  return check_aliasing(s);
}

void eval_grids(InstanceState& s) {
  for (SymbolicGrid& g : s.grids) {
    const std::vector<uint32_t>& vars = s.program->steps[g.step].vars;
    for (size_t i = 0; i < vars.size(); ++i) g.slots[i] = s.vars[vars[i]];
    const auto groups = g.launch.grid.eval(g.slots);
    for (size_t d = 0; d < 3; ++d)
      s.vars[g.first + d] = static_cast<int64_t>(groups[d] * (d == 0 ? g.launch.lanes : 1));
  }
}

void bind_segment(InstanceState& s, PreparedSegment& segment) {
  for (size_t i = 0; i < segment.slots.size(); ++i) {
    const BufferRef& ref = s.bound[segment.slot_buffers[i]];
    segment.slots[i] = {ref.buffer->handle(), ref.offset, ref.bytes, 0, 0};
  }
  if (segment.list) {
    segment.call.vars = s.vars.data();
    return;
  }
  for (const auto& patch : segment.patches)
    segment.refs[patch.command][patch.ref] = segment.slots[patch.slot];
  for (const auto& patch : segment.grid_patches) {
    for (size_t d = 0; d < 3; ++d)
      segment.commands[patch.command].grid[d] = static_cast<uint64_t>(s.vars[patch.var + d]);
  }
  for (size_t i = 0; i < segment.vars.size(); ++i) {
    for (size_t k = 0; k < segment.vars[i].size(); ++k)
      segment.vars[i][k] = s.vars[segment.var_maps[i][k]];
  }
}

Result<> submit(InstanceState& s, PreparedSegment& segment) {
  bind_segment(s, segment);
  DeviceState& d = s.devices[segment.device];
  const ost_point_t done{d.timeline->handle(), ++d.value};
  const std::span<const ost_command_t> commands =
      segment.list ? std::span(&segment.call, 1) : std::span<const ost_command_t>(segment.commands);
  for (const uint32_t step : segment.steps) {
    const Step& what = s.program->steps[step];
    s.last.launches += what.kind == StepKind::launch;
    if (what.kind != StepKind::copy) continue;
    ++s.last.copies;
    s.last.copied_bytes += s.bound[what.args[0]].bytes;
  }
  auto accepted = d.queue->submit({}, commands, {&done, 1});
  if (!accepted) --d.value;  // nobody will signal it
  return accepted;
}

Result<> transfer(InstanceState& s, const Step& step) {
  const BufferRef& to = s.bound[step.args[0]];
  const BufferRef& from = s.bound[step.args[1]];
  ++s.last.copies;
  s.last.copied_bytes += to.bytes;
  return Buffer::copy(*to.buffer, to.offset, *from.buffer, from.offset, to.bytes, s.staging);
}

// The times since the last drain, which belong to the segment that was submitted last.
Result<> collect_times(InstanceState& s, const PreparedSegment& segment) {
  DeviceState& d = s.devices[segment.device];
  OST_TRY(d.timeline->wait(d.value));
  s.records.clear();
  OST_TRY(d.queue->drain_profile(s.records));
  for (const ost_profile_record_t& r : s.records) {
    if (r.command >= segment.steps.size()) continue;
    const uint32_t step = segment.steps[r.command];
    s.times.push_back({step, s.program->steps[step].kernel, r.end_ns - r.start_ns});
  }
  return {};
}

Result<> execute(InstanceState& s) {
  for (const Action& action : s.actions) {
    if (action.kind == Action::Kind::transfer) {
      OST_TRY(transfer(s, s.program->steps[action.index]));
      continue;
    }
    PreparedSegment& segment = s.segments[action.index];
    OST_TRY(submit(s, segment));
    if (s.profiling && s.devices[segment.device].device->driver().features().has_profiling)
      OST_TRY(collect_times(s, segment));
  }
  for (DeviceState& d : s.devices) {
    if (d.value > 0) OST_TRY(d.timeline->wait(d.value));
  }
  return {};
}

// A failed timeline stays failed; the next run needs one that works. Waits for what other devices
// still do.
void recover(InstanceState& s) {
  for (DeviceState& d : s.devices) {
    (void)d.timeline->wait(d.value);
    auto fresh = Timeline::create(d.device);
    if (!fresh) continue;  // lost: the next run says so
    d.timeline = std::move(*fresh);
    d.value = 0;
  }
}

// Nothing of the caller's stays alive because of a run.
void unbind(InstanceState& s) {
  for (const uint32_t i : s.arguments) s.bound[i].buffer.reset();
}

// After free_intermediates.
Result<> restore(InstanceState& s) {
  OST_TRY(make_arenas(s));
  auto built = build_segments(s);
  if (built) return {};
  s.segments.clear();
  s.actions.clear();
  s.arenas.clear();  // the next run tries again
  return built;
}

uint64_t allocations_of(const InstanceState& s) {
  uint64_t sum = 0;
  for (const DeviceState& d : s.devices)
    sum += d.device->counters().allocations.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace

Result<uint64_t> checked_bytes(const VarExpr& elements, uint32_t element_bytes,
                               std::span<const int64_t> vars) {
  const auto count = elements.eval(vars);
  uint64_t bytes = 0;
  if (!count || *count < 0 ||
      __builtin_mul_overflow(static_cast<uint64_t>(*count), uint64_t{element_bytes}, &bytes)) {
    return fail(OST_INVALID_ARGUMENT, "a size is negative or overflows for these variables");
  }
  return bytes;
}

Result<> Instance::run(std::span<const BufferRef> inputs, std::span<const BufferRef> outputs,
                       std::span<const int64_t> vars) {
  InstanceState& s = *state_;
  OST_TRY(check_vars(*s.program, vars));
  OST_TRY(check_guards(s, vars));
  const uint64_t allocations = allocations_of(s);
  if (s.arenas.empty() && !s.program->arenas.empty()) OST_TRY(restore(s));
  if (auto fits = bind(s, inputs, outputs, vars); !fits) {
    unbind(s);
    return fits;
  }
  std::ranges::copy(vars, s.vars.begin());
  eval_grids(s);
  s.times.clear();
  s.last = {};
  const uint64_t start = now_ns();
  auto done = execute(s);
  s.last.wall_ns = now_ns() - start;
  s.last.allocations = allocations_of(s) - allocations;
  if (!done) recover(s);
  unbind(s);
  std::ranges::sort(s.times, {}, &KernelTime::step);
  return done;
}

Result<> Instance::profile(bool on) {
  InstanceState& s = *state_;
  bool any = false;
  for (DeviceState& d : s.devices) {
    if (!d.device->driver().features().has_profiling) continue;
    OST_TRY(d.queue->profile(on));
    any = true;
  }
  s.profiling = on && any;
  if (!any) return fail(OST_UNIMPLEMENTED, "no device of this program records times");
  return {};
}

static Result<std::vector<int64_t>> shape_at(const ShapeExpr& shape,
                                             std::span<const int64_t> vars) {
  std::vector<int64_t> out;
  for (const VarExpr& dim : shape.dims) {
    const auto value = dim.eval(vars);
    if (!value || *value < 0)
      return fail(OST_INVALID_ARGUMENT, "a dimension is negative or overflows for these variables");
    out.push_back(*value);
  }
  return out;
}

Result<std::vector<int64_t>> Instance::output_shape(uint32_t output,
                                                    std::span<const int64_t> vars) const {
  OST_TRY(check_vars(*state_->program, vars));
  return shape_at(state_->outputs[output], vars);
}
Result<std::vector<int64_t>> Instance::input_shape(uint32_t input,
                                                   std::span<const int64_t> vars) const {
  OST_TRY(check_vars(*state_->program, vars));
  return shape_at(state_->inputs[input], vars);
}
Result<uint64_t> Instance::output_bytes(uint32_t output, std::span<const int64_t> vars) const {
  OST_TRY(check_vars(*state_->program, vars));
  return checked_bytes(state_->outputs[output].elements, state_->outputs[output].element_bytes,
                       vars);
}
Result<uint64_t> Instance::input_bytes(uint32_t input, std::span<const int64_t> vars) const {
  OST_TRY(check_vars(*state_->program, vars));
  return checked_bytes(state_->inputs[input].elements, state_->inputs[input].element_bytes, vars);
}

}  // namespace ost::runtime
