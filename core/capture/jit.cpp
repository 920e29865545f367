#include "core/capture/jit.hpp"

#include <algorithm>

namespace ost::capture {

Jit::Jit(Session& session, JitFunction function, JitOptions options)
    : session_(session), function_(std::move(function)), options_(options) {}

Jit::~Jit() = default;

void Jit::reset() {
  calls_ = 0;
  instance_.reset();
  program_.reset();
  signature_.clear();
  signature_vars_.clear();
  states_.clear();
  state_written_.clear();
  kept_.clear();
  sets_.clear();
}

Result<std::vector<TensorPtr>> Jit::call(std::span<const TensorPtr> inputs,
                                         std::span<const JitVar> vars) {
  if (session_.capturing())
    return function_(inputs);  // a jit inside a captured function becomes a part of it
  OST_TRY(bind_vars(vars));
  OST_TRY(prepare_inputs(inputs));
  if (instance_) return replay(inputs, vars);
  if (calls_ == 0 || !options_.enabled) {
    OST_TRY_ASSIGN(auto outputs, run_eagerly(inputs));
    ++calls_;
    return outputs;
  }
  if (auto done = capture(inputs, vars); !done) {
    instance_.reset();
    program_.reset();
    kept_.clear();
    sets_.clear();
    return std::unexpected(std::move(done).error());
  }
  return replay(inputs, vars);
}

Result<> Jit::bind_vars(std::span<const JitVar> vars) {
  for (size_t i = 0; i < vars.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (vars[k].var.name == vars[i].var.name) {
        return fail(OST_JIT_ERROR, "variable '{}' is given twice, with values {} and {}",
                    vars[i].var.name, vars[k].value, vars[i].value);
      }
    }
    OST_TRY(session_.bind(vars[i].var, vars[i].value));
  }
  return {};
}

// Lazy inputs are realized first; each then has storage of its own or shares what the caller
// shared.
Result<> Jit::prepare_inputs(std::span<const TensorPtr> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) return fail(OST_JIT_ERROR, "input {} is null", i);
    OST_TRY(inputs[i]->check_fresh());
  }
  return session_.realize(inputs);
}

Result<std::vector<TensorPtr>> Jit::run_eagerly(std::span<const TensorPtr> inputs) {
  OST_TRY_ASSIGN(auto outputs, function_(inputs));
  OST_TRY(session_.realize(outputs));
  return outputs;
}

namespace {

std::vector<bool> written_states(const Program& p) {
  std::vector<bool> written(p.states.size(), false);
  for (const Step& s : p.steps) {
    if (s.kind != StepKind::launch) continue;
    for (const auto& inst : p.kernels[s.kernel].kir.insts) {
      if (inst.op != OST_KIR_OP_PARAM || !(inst.aux & OST_KIR_WRITE)) continue;
      const BufferDesc& b = p.buffers[s.args[inst.imm]];
      if (b.kind == BufferKind::state) written[b.slot] = true;
    }
  }
  return written;
}

bool overlap(const runtime::BufferRef& a, const runtime::BufferRef& b) {
  if (a.buffer != b.buffer || a.bytes == 0 || b.bytes == 0) return false;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

Result<> Jit::capture(std::span<const TensorPtr> inputs, std::span<const JitVar> vars) {
  const std::vector<TensorPtr> pending = session_.live_lazy();
  OST_TRY(session_.realize(
      pending));  // what the function closes over has storage, as the contract wants
  session_.start_graph();
  signature_.clear();
  signature_vars_.clear();
  for (const TensorPtr& t : inputs) signature_.push_back({t->dtype(), t->shape(), t->device()});
  for (const JitVar& v : vars) signature_vars_.push_back(v.var);
  session_.capture_ = std::make_unique<Session::CaptureState>();
  session_.capture_->first_id = session_.next_id_;
  std::vector<TensorPtr> arguments;
  Result<> done = trace(inputs, arguments);
  for (const TensorPtr& t : arguments)
    t->dead_because_ =
        "stood for an argument of a captured function; it has no value outside of it";
  if (!done) {
    for (const TensorPtr& t : session_.live_lazy(session_.capture_->first_id)) {
      t->dead_because_ =
          "was made while a function was captured, and the capture failed; it has no value";
    }
  }
  session_.capture_.reset();
  session_.start_graph();
  return done;
}

Result<> Jit::trace(std::span<const TensorPtr> inputs, std::vector<TensorPtr>& arguments) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    // A stand-in, so that arguments are told apart by position even if a closure holds the same
    // tensor.
    TensorPtr stand_in = session_.make(inputs[i]->dtype(), inputs[i]->shape(), inputs[i]->device());
    stand_in->is_traced_ = true;
    OST_TRY_ASSIGN(stand_in->node_,
                   session_.input_for(stand_in, ir::InputKind::argument, fmt::format("arg{}", i)));
    arguments.push_back(std::move(stand_in));
  }
  OST_TRY_ASSIGN(auto outputs, function_(arguments));
  std::vector<ir::NodeId> returned;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) return fail(OST_JIT_ERROR, "output {} of the captured function is null", i);
    OST_TRY_ASSIGN(returned.emplace_back(), session_.node_of(outputs[i]));
  }
  std::vector<TensorPtr> kept;
  for (TensorPtr& t : session_.live_lazy(session_.capture_->first_id)) {
    // Handles beside this loop's and the returned list's: such a tensor outlives the call.
    const auto returned_times = std::count(outputs.begin(), outputs.end(), t);
    if (t.use_count() > 1 + returned_times) kept.push_back(std::move(t));
  }
  returned_ = returned.size();
  return compile(returned, std::move(kept));
}

Result<> Jit::compile(std::span<const ir::NodeId> returned, std::vector<TensorPtr> kept) {
  std::vector<ir::NodeId> roots(returned.begin(), returned.end());
  for (const TensorPtr& t : kept) {
    // It keeps one storage of its own, also where the same value is returned.
    OST_TRY_ASSIGN(ir::NodeId node, session_.own_value(t->node_));
    while (std::find(roots.begin(), roots.end(), node) != roots.end()) {
      OST_TRY_ASSIGN(node, session_.copy_of(node, t->device()));
    }
    roots.push_back(node);
  }
  ir::Graph graph = session_.graph_;
  for (size_t i = 0; i < roots.size(); ++i) graph.add_output(fmt::format("out{}", i), roots[i]);
  size_t effects = 0;
  for (const auto& [id, node] : session_.capture_->version)
    graph.add_output(fmt::format("assigned{}", effects++), node);
  ++session_.stats_.schedules;
  OST_TRY_ASSIGN(Program program, schedule(graph, session_.options()));
  program.outputs.resize(roots.size());  // effects need no output of their own
  if (program.steps.empty())
    return fail(OST_JIT_ERROR, "the captured function computes nothing: no kernel was recorded");

  runtime::InstanceOptions options;
  states_.clear();
  for (const StateDesc& s : program.states) {
    const auto index = static_cast<size_t>(std::stoul(s.name.substr(5)));  // "stateN"
    states_.push_back(session_.capture_->closed_over[index]);
    options.states.push_back(states_.back()->storage());
  }
  state_written_ = written_states(program);
  std::vector<runtime::DevicePtr> devices(
      session_.devices_.begin(),
      session_.devices_.begin() + std::min<size_t>(session_.devices_.size(), program.device_count));
  program_ = std::make_shared<const Program>(std::move(program));
  OST_TRY_ASSIGN(instance_, runtime::Instance::create(program_, std::move(devices),
                                                      session_.compiler(), options));
  kept_ = std::move(kept);
  return {};
}

Result<> Jit::check_signature(std::span<const TensorPtr> inputs,
                              std::span<const JitVar> vars) const {
  if (inputs.size() != signature_.size()) {
    return fail(OST_JIT_ERROR,
                "{} inputs were given, the capture has {}; call reset() to capture again",
                inputs.size(), signature_.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SignatureInput& want = signature_[i];
    const Tensor& got = *inputs[i];
    if (got.dtype() == want.dtype && got.shape() == want.shape && got.device() == want.device)
      continue;
    return fail(OST_JIT_ERROR,
                "input {} is {}{} on {}, the capture has {}{} on {}; call reset() to capture again",
                i, name_of(got.dtype()), to_string(got.shape()),
                session_.device_at(got.device())->id(), name_of(want.dtype), to_string(want.shape),
                session_.device_at(want.device)->id());
  }
  if (vars.size() != signature_vars_.size()) {
    return fail(OST_JIT_ERROR, "{} variables were given, the capture has {}", vars.size(),
                signature_vars_.size());
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    if (vars[i].var != signature_vars_[i]) {
      return fail(OST_JIT_ERROR,
                  "variable {} is '{}' in [{}, {}], the capture has '{}' in [{}, {}]", i,
                  vars[i].var.name, vars[i].var.min, vars[i].var.max, signature_vars_[i].name,
                  signature_vars_[i].min, signature_vars_[i].max);
    }
  }
  return {};
}

// Memory that one of two names writes may have one name only, by byte range.
Result<> Jit::check_aliasing(std::span<const TensorPtr> inputs) const {
  const Program& p = instance_->program();
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if ((p.inputs[i].written || p.inputs[k].written) &&
          overlap(inputs[i]->storage(), inputs[k]->storage())) {
        return fail(
            OST_JIT_ERROR,
            "inputs {} and {} share memory, and the program writes input {}; give it a copy", k, i,
            p.inputs[i].written ? i : k);
      }
    }
    for (size_t s = 0; s < states_.size(); ++s) {
      if ((p.inputs[i].written || state_written_[s]) &&
          overlap(inputs[i]->storage(), states_[s]->storage())) {
        return fail(OST_JIT_ERROR,
                    "input {} shares memory with tensor {}, which the function closes over, and "
                    "the program writes {}; give it a copy",
                    i, states_[s]->id(),
                    state_written_[s] ? "the closed-over tensor" : "the input");
      }
    }
  }
  return {};
}

Result<Jit::OutputSet> Jit::allocate(std::span<const int64_t> vars, bool at_maximum) const {
  const Program& p = instance_->program();
  OutputSet set;
  set.storage.resize(p.outputs.size());
  for (uint32_t o = 0; o < p.outputs.size(); ++o) {
    if (!instance_->output_is_written(o)) continue;
    const uint32_t first = p.buffers[p.outputs[o].buffer].slot;
    if (first != o) {
      set.storage[o] = set.storage[first];
      continue;
    }
    uint64_t bytes = 0;
    if (at_maximum) {
      bytes = static_cast<uint64_t>(std::max<int64_t>(numel(p.outputs[o].shape).upper(), 0)) *
              size_of(p.outputs[o].dtype);
    } else {
      OST_TRY_ASSIGN(bytes, instance_->output_bytes(o, vars));
    }
    OST_TRY_ASSIGN(auto buffer,
                   runtime::Buffer::allocate(session_.device_at(p.outputs[o].device), bytes));
    set.storage[o] = {std::move(buffer), 0, bytes};
  }
  return set;
}

// Two sets are enough to feed any output back as an input: the call writes the set that no input
// lies in.
Result<Jit::OutputSet*> Jit::outputs_for(std::span<const TensorPtr> inputs,
                                         std::span<const int64_t> vars) {
  if (options_.outputs == OutputMode::fresh) {
    OST_TRY_ASSIGN(auto set, allocate(vars, false));
    sets_.clear();
    sets_.push_back(std::make_unique<OutputSet>(std::move(set)));
    return sets_[0].get();
  }
  for (const auto& set : sets_) {
    const bool in_use = std::any_of(inputs.begin(), inputs.end(), [&](const TensorPtr& t) {
      return std::any_of(set->storage.begin(), set->storage.end(),
                         [&](const auto& s) { return overlap(s, t->storage()); });
    });
    if (!in_use) return set.get();
  }
  OST_TRY_ASSIGN(auto set, allocate(vars, true));
  sets_.push_back(std::make_unique<OutputSet>(std::move(set)));
  return sets_.back().get();
}

Result<std::vector<TensorPtr>> Jit::replay(std::span<const TensorPtr> inputs,
                                           std::span<const JitVar> vars) {
  OST_TRY(check_signature(inputs, vars));
  OST_TRY(check_aliasing(inputs));
  const Program& p = instance_->program();
  std::vector<runtime::BufferRef> in;
  for (const TensorPtr& t : inputs) in.push_back(t->storage());
  std::vector<int64_t> values;
  for (const Var& v : p.vars) {
    auto it = session_.bindings().find(v.name);
    if (it == session_.bindings().end())
      return fail(OST_JIT_ERROR, "variable '{}' is not bound to a value", v.name);
    values.push_back(it->second);
  }
  OST_TRY_ASSIGN(OutputSet * set, outputs_for(inputs, values));
  std::vector<runtime::BufferRef> out = set->storage;
  for (size_t k = 0; k < kept_.size(); ++k) {  // tensors that outlived the capture keep one storage
    if (kept_[k]->is_realized() &&
        instance_->output_is_written(static_cast<uint32_t>(returned_ + k)))
      out[returned_ + k] = kept_[k]->storage();
  }
  ++set->generation->current;
  OST_TRY(instance_->run(in, out, values));
  ++calls_;

  for (size_t k = 0; k < kept_.size(); ++k) {
    const auto o = static_cast<uint32_t>(returned_ + k);
    if (kept_[k]->is_realized()) continue;
    kept_[k]->storage_ = instance_->output_is_written(o) ? out[o] : instance_->output_alias(o, in);
    set->storage[o] = {};  // it is the tensor's now
  }
  std::vector<TensorPtr> results;
  for (uint32_t o = 0; o < returned_; ++o) {
    TensorPtr t = session_.make(p.outputs[o].dtype, p.outputs[o].shape, p.outputs[o].device);
    const bool written = instance_->output_is_written(o);
    t->storage_ = written ? out[o] : instance_->output_alias(o, in);
    if (written && options_.outputs == OutputMode::reuse) {
      t->generation_ = set->generation;
      t->born_ = set->generation->current;
    }
    results.push_back(std::move(t));
  }
  return results;
}

}  // namespace ost::capture
