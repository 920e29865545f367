// Making an instance: expressions, kernels, memory.
#include "core/runtime/instance.hpp"

#include <algorithm>
#include <map>

#include "core/runtime/instance_state.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {
namespace {

Result<ShapeExpr> shape_expr(const Shape& shape, DType dtype, std::span<const Var> vars) {
  ShapeExpr out;
  for (const Sym& dim : shape) {
    OST_TRY_ASSIGN(VarExpr expr, VarExpr::compile(dim, vars));
    out.dims.push_back(std::move(expr));
  }
  OST_TRY_ASSIGN(out.elements, VarExpr::compile(numel(shape), vars));
  out.element_bytes = size_of(dtype);
  return out;
}

Result<> compile_expressions(InstanceState& s) {
  const Program& p = *s.program;
  for (const InputDesc& d : p.inputs) {
    OST_TRY_ASSIGN(ShapeExpr e, shape_expr(d.shape, d.dtype, p.vars));
    s.inputs.push_back(std::move(e));
  }
  for (const OutputDesc& d : p.outputs) {
    OST_TRY_ASSIGN(ShapeExpr e, shape_expr(d.shape, d.dtype, p.vars));
    s.outputs.push_back(std::move(e));
  }
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    OST_TRY_ASSIGN(VarExpr e, VarExpr::compile(p.buffers[i].elements, p.vars));
    const bool argument =
        p.buffers[i].kind == BufferKind::input || p.buffers[i].kind == BufferKind::output;
    if (argument) s.arguments.push_back(i);
    if (!argument && !e.is_const()) s.symbolic.push_back(i);
    s.elements.push_back(std::move(e));
  }
  for (const Guard& g : p.guards) {
    OST_TRY_ASSIGN(VarExpr low, VarExpr::compile(g.low, p.vars));
    OST_TRY_ASSIGN(VarExpr high, VarExpr::compile(g.high, p.vars));
    s.guards.push_back({std::move(low), std::move(high)});
  }
  return {};
}

Result<> open_devices(InstanceState& s, std::vector<DevicePtr> devices,
                      const InstanceOptions& options) {
  const Program& p = *s.program;
  if (devices.size() < p.device_count) {
    return fail(OST_INVALID_ARGUMENT, "the program has {} logical devices, {} were given",
                p.device_count, devices.size());
  }
  devices.resize(p.device_count);
  s.device_ptrs = devices;
  for (DevicePtr& device : devices) {
    const SelfTestResult& test = device->self_test();
    if (p.numerics == kir::Numerics::strict && test.ran && !test.exact) {
      if (options.require_exact)
        return fail(OST_UNAVAILABLE, "{} is inexact: {}", device->id(), test.reason);
      log(LogLevel::warning, "a strict program runs on {}, which is inexact: {}", device->id(),
          test.reason);
    }
    DeviceState d;
    OST_TRY_ASSIGN(d.queue, Queue::create(device));
    OST_TRY_ASSIGN(d.timeline, Timeline::create(device));
    OST_TRY_ASSIGN(d.empty, Buffer::allocate(device, 0));
    d.device = std::move(device);
    s.devices.push_back(std::move(d));
  }
  return {};
}

Result<> load_kernels(InstanceState& s, Compiler& compiler, const InstanceOptions& options) {
  const Program& p = *s.program;
  s.kernel_of.assign(p.kernels.size(), std::vector<uint32_t>(p.device_count, kNoIndex));
  std::vector<Compiler::Job> jobs;
  for (const Step& step : p.steps) {
    if (step.kind != StepKind::launch) continue;
    uint32_t& place = s.kernel_of[step.kernel][step.device];
    if (place != kNoIndex) continue;
    place = static_cast<uint32_t>(jobs.size());
    jobs.push_back({&p.kernels[step.kernel], s.device_ptrs[step.device]});
  }
  OST_TRY_ASSIGN(s.kernels, compiler.get_all(jobs, options.trust_images, options.compile_threads));
  for (const CompiledKernel& k : s.kernels) {
    s.build.compiles += k.origin == "compiled";
    s.build.cache_hits += k.origin == "cache";
    s.build.images_used += k.origin == "image";
  }
  return {};
}

Result<uint64_t> largest_bytes(const Sym& elements, DType dtype) {
  const int64_t most = std::max<int64_t>(elements.upper(), 0);
  uint64_t bytes = 0;
  if (most == INT64_MAX ||
      __builtin_mul_overflow(static_cast<uint64_t>(most), uint64_t{size_of(dtype)}, &bytes)) {
    return fail(OST_INVALID_ARGUMENT, "a size of {} elements has no bound", elements.str());
  }
  return bytes;
}

Result<BufferRef> upload(const DevicePtr& device, uint64_t bytes, const Literal* data) {
  OST_TRY_ASSIGN(BufferPtr buffer, Buffer::allocate(device, bytes));
  if (data != nullptr) {
    if (data->bytes.size() > bytes)
      return fail(OST_INVALID_ARGUMENT, "{} bytes of data for a buffer of {}", data->bytes.size(),
                  bytes);
    OST_TRY(buffer->write(0, data->bytes));
  } else {
    OST_TRY(buffer->write(0, std::vector<uint8_t>(bytes)));
  }
  return BufferRef{std::move(buffer), 0, bytes};
}

Result<> make_states(InstanceState& s, const InstanceOptions& options) {
  const Program& p = *s.program;
  if (!options.states.empty() && options.states.size() != p.states.size()) {
    return fail(OST_INVALID_ARGUMENT, "the program has {} states, storage for {} was given",
                p.states.size(), options.states.size());
  }
  for (size_t i = 0; i < p.states.size(); ++i) {
    const StateDesc& d = p.states[i];
    OST_TRY_ASSIGN(const uint64_t bytes, largest_bytes(numel(d.shape), d.dtype));
    const BufferRef given = i < options.states.size() ? options.states[i] : BufferRef{};
    if (!given.buffer) {
      OST_TRY_ASSIGN(BufferRef made, upload(s.device_ptrs[d.device], bytes, d.initial.get()));
      s.build.state_bytes += bytes;
      s.states.push_back(std::move(made));
    } else if (given.buffer->device() != s.device_ptrs[d.device] || given.bytes < bytes) {
      return fail(OST_INVALID_ARGUMENT, "state {} ({}) is {} bytes on {}, wanted {} bytes on {}", i,
                  d.name, given.bytes, given.buffer->device()->id(), bytes,
                  s.device_ptrs[d.device]->id());
    } else {
      s.states.push_back(given);
    }
  }
  return {};
}

Result<> make_memory(InstanceState& s, const InstanceOptions& options) {
  const Program& p = *s.program;
  for (const Arena& a : p.arenas) s.build.arena_bytes += a.bytes;
  OST_TRY(make_states(s, options));
  std::map<std::pair<uint32_t, uint32_t>, BufferRef> constants;  // by slot and device
  s.fixed.resize(p.buffers.size());
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const BufferDesc& b = p.buffers[i];
    OST_TRY_ASSIGN(const uint64_t bytes, largest_bytes(b.elements, b.dtype));
    if (b.kind == BufferKind::state) s.fixed[i] = s.states[b.slot];
    if (b.kind == BufferKind::constant) {
      BufferRef& ref = constants[{b.slot, b.device}];
      if (!ref.buffer) {
        OST_TRY_ASSIGN(ref, upload(s.device_ptrs[b.device], bytes, p.constants[b.slot].data.get()));
        s.build.constant_bytes += bytes;
      }
      s.fixed[i] = ref;
    }
  }
  s.bound = s.fixed;
  return make_arenas(s);
}

}  // namespace

Result<> make_arenas(InstanceState& s) {
  const Program& p = *s.program;
  std::vector<BufferPtr> arenas;
  for (const Arena& a : p.arenas) {
    OST_TRY_ASSIGN(BufferPtr buffer, Buffer::allocate(s.device_ptrs[a.device], a.bytes));
    arenas.push_back(std::move(buffer));
  }
  s.arenas = std::move(arenas);
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const BufferDesc& b = p.buffers[i];
    if (b.kind != BufferKind::temp) continue;
    OST_TRY_ASSIGN(const uint64_t bytes, largest_bytes(b.elements, b.dtype));
    s.bound[i] = s.fixed[i] = {s.arenas[b.arena], b.offset, bytes};
  }
  return {};
}

uint64_t Instance::free_intermediates() {
  InstanceState& s = *state_;
  uint64_t freed = 0;
  for (const BufferPtr& a : s.arenas) freed += a->bytes();
  if (s.arenas.empty()) return 0;
  s.segments.clear();  // their commands point into the arenas
  s.actions.clear();
  for (size_t i = 0; i < s.program->buffers.size(); ++i) {
    if (s.program->buffers[i].kind == BufferKind::temp) s.bound[i] = s.fixed[i] = {};
  }
  s.arenas.clear();
  return freed;
}

Instance::Instance(std::unique_ptr<InstanceState> state) : state_(std::move(state)) {}
Instance::~Instance() = default;

Result<std::unique_ptr<Instance>> Instance::create(std::shared_ptr<const Program> program,
                                                   std::vector<DevicePtr> devices,
                                                   Compiler& compiler,
                                                   const InstanceOptions& options) {
  auto state = std::make_unique<InstanceState>();
  state->program = std::move(program);
  OST_TRY(compile_expressions(*state));
  OST_TRY(open_devices(*state, std::move(devices), options));
  OST_TRY(load_kernels(*state, compiler, options));
  OST_TRY(make_memory(*state, options));
  OST_TRY(build_segments(*state));
  return std::unique_ptr<Instance>(new Instance(std::move(state)));
}

const Program& Instance::program() const { return *state_->program; }
std::span<const DevicePtr> Instance::devices() const { return state_->device_ptrs; }
const BuildStats& Instance::build_stats() const { return state_->build; }
const RunStats& Instance::last_run() const { return state_->last; }
std::span<const KernelTime> Instance::last_times() const { return state_->times; }
BufferRef Instance::state(uint32_t index) const { return state_->states[index]; }

bool Instance::output_is_written(uint32_t output) const {
  const Program& p = *state_->program;
  return p.buffers[p.outputs[output].buffer].kind == BufferKind::output;
}

BufferRef Instance::output_alias(uint32_t output, std::span<const BufferRef> inputs) const {
  const Program& p = *state_->program;
  const uint32_t index = p.outputs[output].buffer;
  const BufferDesc& b = p.buffers[index];
  if (b.kind == BufferKind::input) return b.slot < inputs.size() ? inputs[b.slot] : BufferRef{};
  return state_->fixed[index];
}

}  // namespace ost::runtime
