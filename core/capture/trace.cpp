// The second call: the function runs on stand-ins for its inputs, and what it did becomes a
// program.
#include <algorithm>

#include "core/capture/jit.hpp"
#include "core/schedule/prune.hpp"

namespace ost::capture {

Result<std::unique_ptr<Captured>> Jit::capture(const Arguments& call) {
  // What the function closes over has storage, as the contract wants.
  OST_TRY(session_.realize(session_.live_lazy()));
  session_.start_graph();
  session_.capture_ = std::make_unique<Session::CaptureState>();
  session_.capture_->first_id = session_.next_id_;
  std::vector<TensorPtr> stand_ins;
  auto made = trace(call, stand_ins);
  for (const TensorPtr& t : stand_ins)
    t->dead_because_ =
        "stood for an argument of a captured function; it has no value outside of it";
  const std::vector<TensorPtr> rest = session_.live_lazy(session_.capture_->first_id);
  for (const TensorPtr& t : rest) {
    if (!made) {
      t->dead_because_ =
          "was made while a function was captured, and the capture failed; it has no value";
    }
  }
  session_.capture_.reset();
  session_.start_graph();
  return made;
}

Result<std::unique_ptr<Captured>> Jit::trace(const Arguments& call,
                                             std::vector<TensorPtr>& stand_ins) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    // A stand-in, so that arguments are told apart by position even if a closure holds the same
    // tensor.
    const Tensor& t = *call.inputs[i];
    TensorPtr stand_in = session_.make(t.dtype(), t.shape(), t.device());
    stand_in->is_traced_ = true;
    stand_in->graph_id_ = session_.graph_id_;
    OST_TRY_ASSIGN(stand_in->node_,
                   session_.input_for(stand_in, ir::InputKind::argument, fmt::format("arg{}", i)));
    stand_ins.push_back(std::move(stand_in));
  }
  OST_TRY_ASSIGN(auto outputs, body_(stand_ins, call.scalars));
  Traced traced;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) return fail(OST_JIT_ERROR, "output {} of the function is null", i);
    OST_TRY_ASSIGN(traced.returned.emplace_back(), session_.node_of(outputs[i]));
  }
  for (TensorPtr& t : session_.live_lazy(session_.capture_->first_id)) {
    // Handles beside this loop's and the returned list's: such a tensor outlives the call.
    const auto returned_times = std::count(outputs.begin(), outputs.end(), t);
    if (t.use_count() > 1 + returned_times) traced.kept.push_back(std::move(t));
  }
  return compile(call, std::move(traced));
}

Result<Program> Jit::build_program(const Arguments& call, Traced& traced) {
  for (const auto& [device, drawn] : std::map(session_.capture_->drawn))
    OST_TRY(session_.advance_counters(device, drawn));
  std::vector<ir::NodeId> roots = traced.returned;
  for (const TensorPtr& t : traced.kept) {
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
  for (const Var& v : program.vars) {
    const bool given =
        std::ranges::any_of(call.vars, [&](const JitVar& j) { return j.var.name == v.name; });
    if (!given)
      return fail(OST_JIT_ERROR,
                  "the captured function uses variable '{}', which the call does not give a value; "
                  "add it to the call's variables",
                  v.name);
  }
  return options_.prune ? prune(std::move(program)) : std::move(program);
}

// Runs what depends on nothing that can change, and puts the results into the program.
Result<Program> Jit::prune(Program program) {
  std::vector<bool> frozen;
  for (const StateDesc& s : program.states)
    frozen.push_back(session_.capture_->closed_over[std::stoul(s.name.substr(5))]->is_frozen());
  OST_TRY_ASSIGN(PruneSplit split, split_unchanging(program, frozen, session_.options()));
  if (split.results.empty()) return program;
  runtime::InstanceOptions options;
  for (const StateDesc& s : split.once.states)
    options.states.push_back(
        session_.capture_->closed_over[std::stoul(s.name.substr(5))]->storage());
  const auto once = std::make_shared<const Program>(std::move(split.once));
  std::vector<runtime::DevicePtr> devices(session_.devices_.begin(),
                                          session_.devices_.begin() + once->device_count);
  OST_TRY_ASSIGN(auto instance,
                 runtime::Instance::create(once, devices, session_.compiler(), options));
  std::vector<runtime::BufferRef> out;
  for (uint32_t o = 0; o < once->outputs.size(); ++o) {
    OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, {}));
    OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(devices[once->outputs[o].device], bytes));
    out.push_back({std::move(buffer), 0, bytes});
  }
  OST_TRY(instance->run({}, out, {}));
  for (size_t o = 0; o < out.size(); ++o) {
    const OutputDesc& desc = once->outputs[o];
    auto data = std::make_shared<Literal>(Literal{desc.dtype, {}, {}});
    for (const Sym& s : desc.shape) data->shape.push_back(s.constant().value_or(0));
    data->bytes.resize(out[o].bytes);
    if (!data->bytes.empty()) OST_TRY(out[o].buffer->read(0, data->bytes));
    split.rest.constants[split.results[o]].data = std::move(data);
  }
  return std::move(split.rest);
}

Result<std::unique_ptr<Captured>> Jit::compile(const Arguments& call, Traced traced) {
  Captured::Parts parts;
  parts.signature = Signature::of(call);
  parts.returned = traced.returned.size();
  OST_TRY_ASSIGN(Program program, build_program(call, traced));
  runtime::InstanceOptions options;
  for (StateDesc& s : program.states) {
    const size_t index = std::stoul(s.name.substr(5));  // "stateN"
    parts.states.push_back(session_.capture_->closed_over[index]);
    options.states.push_back(parts.states.back()->storage());
  }
  parts.kept = std::move(traced.kept);
  std::vector<runtime::DevicePtr> devices(
      session_.devices_.begin(),
      session_.devices_.begin() + std::min<size_t>(session_.devices_.size(), program.device_count));
  parts.program = std::make_shared<const Program>(std::move(program));
  OST_TRY_ASSIGN(parts.instance, runtime::Instance::create(parts.program, std::move(devices),
                                                           session_.compiler(), options));
  return std::make_unique<Captured>(session_, std::move(parts), options_.outputs, options_.donated);
}

}  // namespace ost::capture
