#include "core/capture/session.hpp"

#include <algorithm>

namespace ost::capture {

namespace {

constexpr size_t kCachedInstances = 64;
constexpr size_t kCompactAbove = 4096;  // nodes

}  // namespace

Result<> Tensor::check_fresh() const {
  if (dead_because_) return fail(OST_JIT_ERROR, "tensor {} {}", id_, dead_because_);
  if (!generation_ || generation_->current == born_) return {};
  return fail(OST_JIT_ERROR,
              "tensor {} is an output of a captured program whose storage a later call has "
              "overwritten; copy it before the "
              "next call, or create the jit with fresh outputs",
              id_);
}

bool overlap(const runtime::BufferRef& a, const runtime::BufferRef& b) {
  if (a.buffer != b.buffer || a.bytes == 0 || b.bytes == 0) return false;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

Session::Session(std::shared_ptr<runtime::DeviceRegistry> registry,
                 std::shared_ptr<runtime::Compiler> compiler, ScheduleOptions options)
    : registry_(std::move(registry)), compiler_(std::move(compiler)), options_(options) {}

Session::~Session() = default;

Result<uint32_t> Session::device(std::string_view id) {
  if (auto it = device_index_.find(id); it != device_index_.end()) return it->second;
  OST_TRY_ASSIGN(auto device, registry_->get(id));
  auto [it, added] = device_index_.emplace(device->id(), static_cast<uint32_t>(devices_.size()));
  if (added) devices_.push_back(device);
  device_index_.emplace(std::string(id), it->second);
  return it->second;
}

Result<Sym> Session::bind(const Var& var, int64_t value) {
  if (var.name.empty()) return fail(OST_JIT_ERROR, "a variable has no name");
  if (var.min < 0 || var.min > var.max) {
    return fail(OST_JIT_ERROR,
                "variable '{}': bounds [{}, {}] are malformed; wanted 0 <= min <= max", var.name,
                var.min, var.max);
  }
  if (value < var.min || value > var.max) {
    return fail(OST_JIT_ERROR, "variable '{}': value {} is outside its bounds [{}, {}]", var.name,
                value, var.min, var.max);
  }
  auto [it, added] = vars_.emplace(var.name, var);
  if (!added && it->second != var) {
    return fail(OST_JIT_ERROR, "variable '{}' was declared with bounds [{}, {}], now with [{}, {}]",
                var.name, it->second.min, it->second.max, var.min, var.max);
  }
  const auto bound = bindings_.find(var.name);
  if (bound != bindings_.end() && bound->second == value) return Sym::var(var);
  if (capture_) {
    return fail(OST_JIT_ERROR,
                "variable '{}' cannot become {} while a function is captured; give it to the call",
                var.name, value);
  }
  if (bound != bindings_.end()) OST_TRY(realize(live_lazy()));
  bindings_[var.name] = value;
  return Sym::var(var);
}

TensorPtr Session::make(DType dtype, Shape shape, uint32_t device) {
  auto t = std::make_shared<Tensor>();
  t->id_ = next_id_++;
  t->dtype_ = dtype;
  t->shape_ = std::move(shape);
  t->device_ = device;
  return t;
}

TensorPtr Session::make_lazy(ir::NodeId node, uint32_t device) {
  const ir::Node& n = graph_.node(node);
  TensorPtr t = make(n.dtype, n.shape, device);
  t->node_ = node;
  t->graph_id_ = graph_id_;
  tensors_.emplace(t->id_, t);
  return t;
}

Result<std::vector<int64_t>> Session::shape_of(const Tensor& tensor) const {
  if (tensor.is_realized()) return tensor.dims();
  std::vector<int64_t> out;
  for (const Sym& s : tensor.shape()) {
    OST_TRY_ASSIGN(out.emplace_back(), s.eval(bindings_));
  }
  return out;
}

Result<> Session::store(const TensorPtr& tensor, runtime::BufferRef storage) {
  OST_TRY_ASSIGN(tensor->dims_, shape_of(*tensor));
  storage.bytes = size_of(tensor->dtype());
  for (const int64_t d : tensor->dims_) storage.bytes *= static_cast<uint64_t>(d);
  tensor->storage_ = std::move(storage);
  return {};
}

Result<uint64_t> Session::bytes_of(const Tensor& tensor) const {
  if (tensor.is_realized()) return tensor.storage().bytes;
  OST_TRY_ASSIGN(const int64_t count, numel(tensor.shape()).eval(bindings_));
  return static_cast<uint64_t>(count) * size_of(tensor.dtype());
}

Result<TensorPtr> Session::from_data(DType dtype, Shape shape, uint32_t device,
                                     std::span<const uint8_t> data) {
  if (capture_) return constant_of(dtype, std::move(shape), device, data);
  return upload(dtype, std::move(shape), device, data);
}

Result<TensorPtr> Session::upload(DType dtype, Shape shape, uint32_t device,
                                  std::span<const uint8_t> data) {
  TensorPtr t = make(dtype, std::move(shape), device);
  OST_TRY_ASSIGN(const uint64_t bytes, bytes_of(*t));
  if (bytes != data.size()) {
    return fail(OST_INVALID_ARGUMENT, "{}{} needs {} bytes, found {}", name_of(dtype),
                to_string(t->shape()), bytes, data.size());
  }
  OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(devices_[device], bytes));
  if (bytes > 0) OST_TRY(buffer->write(0, data));
  OST_TRY(store(t, {std::move(buffer), 0, bytes}));
  return t;
}

// Data that a captured function brings along is the same in every replay, whatever is assigned to
// it in between.
Result<TensorPtr> Session::constant_of(DType dtype, Shape shape, uint32_t device,
                                       std::span<const uint8_t> data) {
  auto literal = std::make_shared<Literal>();
  literal->dtype = dtype;
  for (const Sym& s : shape) {
    const auto size = s.constant();
    if (!size) {
      return fail(OST_JIT_ERROR,
                  "data of shape {} inside a captured function would stay as large as it is in "
                  "this call; make it an input",
                  to_string(shape));
    }
    literal->shape.push_back(*size);
  }
  literal->bytes.assign(data.begin(), data.end());
  const auto bytes = static_cast<uint64_t>(*numel(shape).constant()) * size_of(dtype);
  if (bytes != data.size()) {
    return fail(OST_INVALID_ARGUMENT, "{}{} needs {} bytes, found {}", name_of(dtype),
                to_string(shape), bytes, data.size());
  }
  ir::Input input{fmt::format("const{}", graph_.inputs().size()),
                  ir::InputKind::constant,
                  dtype,
                  std::move(shape),
                  device,
                  std::move(literal)};
  OST_TRY_ASSIGN(const ir::NodeId node, graph_.add_input(std::move(input)));
  bound_.emplace_back();
  return make_lazy(node, device);
}

Result<TensorPtr> Session::from_storage(DType dtype, Shape shape, uint32_t device,
                                        runtime::BufferRef storage) {
  TensorPtr t = make(dtype, std::move(shape), device);
  OST_TRY_ASSIGN(const uint64_t bytes, bytes_of(*t));
  if (!storage.buffer || storage.bytes < bytes ||
      storage.offset + storage.bytes > storage.buffer->bytes()) {
    return fail(OST_INVALID_ARGUMENT, "{}{} needs {} bytes, the storage has {}", name_of(dtype),
                to_string(t->shape()), bytes, storage.bytes);
  }
  OST_TRY(store(t, std::move(storage)));
  return t;
}

Result<ir::NodeId> Session::input_for(const TensorPtr& tensor, ir::InputKind kind,
                                      std::string name) {
  ir::Input input{std::move(name),  kind,   tensor->dtype(), tensor->shape(),
                  tensor->device(), nullptr};
  OST_TRY_ASSIGN(const ir::NodeId node, graph_.add_input(std::move(input)));
  bound_.push_back(tensor);
  input_of_.emplace(tensor->id(), node);
  return node;
}

Result<ir::NodeId> Session::node_of(const TensorPtr& tensor) {
  OST_TRY(tensor->check_fresh());
  if (!tensor->is_realized()) {
    if (tensor->graph_id_ == graph_id_) {
      if (!capture_) return tensor->node_;
      const auto it = capture_->version.find(tensor->id());
      return it == capture_->version.end() ? tensor->node_ : it->second;
    }
    return fail(OST_JIT_ERROR,
                "tensor {} belongs to the function that is being captured; work that is not "
                "captured cannot use it",
                tensor->id());
  }
  if (!capture_) {
    if (auto it = input_of_.find(tensor->id()); it != input_of_.end()) return it->second;
    return input_for(tensor, ir::InputKind::argument, fmt::format("t{}", tensor->id()));
  }
  // Two tensors of the same storage are one to the program.
  const auto same = std::ranges::find_if(capture_->closed_over, [&](const TensorPtr& t) {
    return t == tensor ||
           (t->storage_.buffer == tensor->storage_.buffer && t->dtype() == tensor->dtype() &&
            t->storage_.offset == tensor->storage_.offset && t->shape() == tensor->shape());
  });
  if (same != capture_->closed_over.end()) {
    const auto it = capture_->version.find((*same)->id());
    return it != capture_->version.end() ? it->second : input_of_.at((*same)->id());
  }
  capture_->closed_over.push_back(tensor);
  return input_for(tensor, ir::InputKind::state,
                   fmt::format("state{}", capture_->closed_over.size() - 1));
}

Result<TensorPtr> Session::apply(std::span<const TensorPtr> inputs, const Build& build,
                                 uint32_t device) {
  std::vector<ir::NodeId> nodes;
  for (const TensorPtr& t : inputs) {
    OST_TRY_ASSIGN(nodes.emplace_back(), node_of(t));
  }
  const size_t before = graph_.nodes().size();
  OST_TRY_ASSIGN(const ir::NodeId node, build(graph_, nodes));
  stats_.graph_nodes += graph_.nodes().size() - before;
  const ir::Op op = graph_.node(node).op;
  const uint32_t home = op == ir::Op::copy ? static_cast<uint32_t>(graph_.node(node).bits)
                        : inputs.empty()   ? device
                                           : inputs[0]->device();
  return make_lazy(node, home);
}

std::vector<TensorPtr> Session::live_lazy(uint64_t from_id) {
  std::vector<TensorPtr> out;
  std::erase_if(tensors_, [&](const auto& entry) {
    TensorPtr t = entry.second.lock();
    const bool gone = !t || t->is_realized() || t->dead_because_ != nullptr;
    if (!gone && entry.first >= from_id && t->graph_id_ == graph_id_) out.push_back(std::move(t));
    return gone;
  });
  return out;
}

Result<> Session::realize(std::span<const TensorPtr> tensors) {
  std::vector<TensorPtr> lazy;
  for (const TensorPtr& t : tensors) {
    OST_TRY(t->check_fresh());
    if (!t->is_realized()) OST_TRY(node_of(t));  // it belongs to this graph
    if (!t->is_realized() && !t->is_traced_ && std::find(lazy.begin(), lazy.end(), t) == lazy.end())
      lazy.push_back(t);
  }
  if (lazy.empty() || capture_)
    return {};  // a captured program stores every tensor that is alive at its end
  return run_eagerly(lazy, {});
}

Result<std::shared_ptr<runtime::Instance>> Session::instance_for(ir::Graph graph) {
  std::string key = ir::to_text(graph);
  for (auto it = instances_.begin(); it != instances_.end(); ++it) {
    if (it->first != key) continue;
    instances_.splice(instances_.begin(), instances_, it);
    return instances_.front().second;
  }
  ++stats_.schedules;
  OST_TRY_ASSIGN(Program program, schedule(graph, options_));
  std::vector<runtime::DevicePtr> devices(
      devices_.begin(), devices_.begin() + std::min<size_t>(devices_.size(), program.device_count));
  OST_TRY_ASSIGN(auto instance,
                 runtime::Instance::create(std::make_shared<const Program>(std::move(program)),
                                           std::move(devices), *compiler_));
  instances_.emplace_front(std::move(key), std::shared_ptr<runtime::Instance>(std::move(instance)));
  if (instances_.size() > kCachedInstances) instances_.pop_back();
  return instances_.front().second;
}

Result<> Session::run_eagerly(std::span<const TensorPtr> lazy,
                              std::span<const ir::NodeId> effects) {
  std::vector<ir::NodeId> roots;
  for (const TensorPtr& t : lazy) {
    OST_TRY_ASSIGN(roots.emplace_back(), own_value(t->node_));
  }
  roots.insert(roots.end(), effects.begin(), effects.end());
  std::vector<uint32_t> inputs;
  std::vector<ir::NodeId> map;
  OST_TRY_ASSIGN(ir::Graph graph, extract(graph_, roots, inputs, map));
  for (size_t i = 0; i < roots.size(); ++i) graph.add_output(fmt::format("o{}", i), map[roots[i]]);
  OST_TRY_ASSIGN(auto instance, instance_for(std::move(graph)));
  const Program& program = instance->program();

  std::vector<runtime::BufferRef> in, out(program.outputs.size());
  for (uint32_t i : inputs) in.push_back(bound_[i]->storage_);
  std::vector<int64_t> vars;
  for (const Var& v : program.vars) {
    auto it = bindings_.find(v.name);
    if (it == bindings_.end())
      return fail(OST_JIT_ERROR, "variable '{}' is not bound to a value", v.name);
    vars.push_back(it->second);
  }
  for (uint32_t o = 0; o < out.size(); ++o) {
    if (!instance->output_is_written(o)) continue;
    const uint32_t first = program.buffers[program.outputs[o].buffer].slot;
    if (first != o) {  // the same value twice: one storage
      out[o] = out[first];
      continue;
    }
    OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, vars));
    OST_TRY_ASSIGN(auto buffer,
                   runtime::Buffer::allocate(devices_[program.outputs[o].device], bytes));
    out[o] = {std::move(buffer), 0, bytes};
  }
  OST_TRY(instance->run(in, out, vars));
  ++stats_.eager_runs;
  for (uint32_t o = 0; o < lazy.size(); ++o) {
    OST_TRY(
        store(lazy[o], instance->output_is_written(o) ? out[o] : instance->output_alias(o, in)));
  }
  compact();
  return {};
}

// A tensor is a value: one that equals another tensor's contents gets a copy, so that an assign to
// that one leaves it alone.
Result<ir::NodeId> Session::own_value(ir::NodeId node) {
  if (graph_.node(node).op != ir::Op::input) return node;
  return copy_of(node, graph_.input(node).device);
}

Result<ir::NodeId> Session::copy_of(ir::NodeId node, uint32_t device) {
  ir::Node copy;
  copy.op = ir::Op::copy;
  copy.dtype = graph_.node(node).dtype;
  copy.shape = graph_.node(node).shape;
  copy.inputs = {node};
  copy.bits = device;
  return graph_.add(std::move(copy));
}

void Session::start_graph() {
  graph_ = ir::Graph();
  graph_id_ = next_graph_id_++;
  bound_.clear();
  input_of_.clear();
}

// Drops what no lazy tensor needs: storage that only the graph still holds is released with it.
void Session::compact() {
  const std::vector<TensorPtr> lazy = live_lazy();
  if (lazy.empty()) return start_graph();
  if (graph_.nodes().size() < kCompactAbove) return;
  std::vector<ir::NodeId> roots, map;
  std::vector<uint32_t> inputs;
  for (const TensorPtr& t : lazy) roots.push_back(t->node_);
  auto graph = extract(graph_, roots, inputs, map);
  if (!graph) return;  // keeps the old graph, which is right too
  std::vector<TensorPtr> bound;
  for (uint32_t i : inputs) bound.push_back(bound_[i]);
  for (const TensorPtr& t : lazy) t->node_ = map[t->node_];
  std::map<uint64_t, ir::NodeId> input_of;
  for (const auto& [id, node] : input_of_) {
    if (map[node] != UINT32_MAX) input_of.emplace(id, map[node]);
  }
  input_of_ = std::move(input_of);
  graph_ = std::move(*graph);
  bound_ = std::move(bound);
}

Result<> Session::uncaptured(const std::function<Result<>()>& body) {
  if (!capture_) return body();
  Suspended saved{std::move(capture_), std::move(graph_), graph_id_, std::move(bound_),
                  std::move(input_of_)};
  start_graph();
  Result<> done = body();
  if (done) done = realize(live_lazy());
  for (const TensorPtr& t : live_lazy())
    t->dead_because_ = "was made by work beside a capture that failed; it has no value";
  capture_ = std::move(saved.capture);
  graph_ = std::move(saved.graph);
  graph_id_ = saved.graph_id;
  bound_ = std::move(saved.bound);
  input_of_ = std::move(saved.input_of);
  return done;
}

Result<runtime::BufferRef> Session::storage_of(const TensorPtr& tensor) {
  OST_TRY(tensor->check_fresh());
  if (capture_) {
    return fail(OST_JIT_ERROR,
                "tensor {} has no value that can be read while a function is captured: the program "
                "would keep it for ever; return it from the function and read it afterwards",
                tensor->id());
  }
  OST_TRY(realize(std::span(&tensor, 1)));
  return tensor->storage_;
}

Result<> Session::read(const TensorPtr& tensor, std::span<uint8_t> out) {
  OST_TRY_ASSIGN(const runtime::BufferRef storage, storage_of(tensor));
  OST_TRY_ASSIGN(const uint64_t bytes, bytes_of(*tensor));
  if (out.size() != bytes)
    return fail(OST_INVALID_ARGUMENT, "tensor {} has {} bytes, the destination {}", tensor->id(),
                bytes, out.size());
  if (bytes == 0) return {};
  return storage.buffer->read(storage.offset, out);
}

}  // namespace ost::capture
