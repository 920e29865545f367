#include "core/capture/captured.hpp"

#include <algorithm>

namespace ost::capture {

std::vector<bool> written_states(const Program& p) {
  std::vector<bool> written(p.states.size(), false);
  const auto write = [&](uint32_t buffer) {
    const BufferDesc& b = p.buffers[buffer];
    if (b.kind == BufferKind::state) written[b.slot] = true;
  };
  for (const Step& s : p.steps) {
    if (s.kind == StepKind::copy) {
      write(s.args[0]);
      continue;
    }
    for (const auto& inst : p.kernels[s.kernel].kir.insts) {
      if (inst.op == OST_KIR_OP_PARAM && (inst.aux & OST_KIR_WRITE)) write(s.args[inst.imm]);
    }
  }
  return written;
}

Captured::Captured(Session& session, Parts parts, OutputMode mode, std::vector<uint32_t> donated)
    : session_(session),
      parts_(std::move(parts)),
      mode_(mode),
      donated_(std::move(donated)),
      state_written_(written_states(*parts_.program)) {}

Result<Program> Captured::snapshot() const {
  Program out = *parts_.program;
  for (size_t i = 0; i < out.states.size(); ++i) {
    const Tensor& t = *parts_.states[i];
    OST_TRY(t.check_fresh());
    auto data = std::make_shared<Literal>(Literal{t.dtype(), t.dims(), {}});
    data->bytes.resize(t.storage().bytes);
    if (!data->bytes.empty()) OST_TRY(t.storage().buffer->read(t.storage().offset, data->bytes));
    out.states[i].initial = std::move(data);
  }
  return out;
}

bool Captured::is_donated(size_t input) const {
  return mode_ == OutputMode::donate &&
         (donated_.empty() || std::ranges::find(donated_, input) != donated_.end());
}

std::vector<int64_t> Captured::values_of(const Arguments& call) const {
  std::vector<int64_t> values;  // trace made sure that each variable is one of the call's
  for (const Var& v : parts_.program->vars)
    values.push_back(std::ranges::find(call.vars, v.name, [](const JitVar& given) {
                       return given.var.name;
                     })->value);
  return values;
}

Result<> Captured::check(const Arguments& call) const {
  OST_TRY(parts_.signature.check(call, session_));
  OST_TRY(check_states());
  OST_TRY(check_sizes(call));
  return check_aliasing(call);
}

Result<> Captured::check_states() const {
  for (size_t i = 0; i < parts_.states.size(); ++i) {
    OST_TRY(parts_.states[i]->check_fresh());
    for (size_t k = 0; k < i; ++k) {
      if (!(state_written_[i] || state_written_[k]) ||
          !overlap(parts_.states[i]->storage(), parts_.states[k]->storage()))
        continue;
      return fail(
          OST_JIT_ERROR,
          "tensors {} and {}, which the function closes over, share memory, and the program "
          "writes tensor {}; give it a copy",
          parts_.states[k]->id(), parts_.states[i]->id(),
          parts_.states[state_written_[i] ? i : k]->id());
    }
  }
  return {};
}

// An input holds what it was made with; the variables of this call must agree with that.
Result<> Captured::check_sizes(const Arguments& call) const {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& t = *call.inputs[i];
    for (size_t d = 0; d < t.shape().size(); ++d) {
      if (t.shape()[d].is_const()) continue;
      OST_TRY_ASSIGN(const int64_t wanted, t.shape()[d].eval(session_.bindings()));
      if (t.dims()[d] == wanted) continue;
      return fail(OST_JIT_ERROR,
                  "dimension {} of input {} is {}, wanted {}, which is {} with the variables of "
                  "this call",
                  d, i, t.dims()[d], wanted, t.shape()[d].str());
    }
  }
  return {};
}

// Memory that one of two names writes, or gives away, may have one name only, by byte range.
Result<> Captured::check_aliasing(const Arguments& call) const {
  const Program& p = *parts_.program;
  const auto& inputs = call.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!overlap(inputs[i]->storage(), inputs[k]->storage())) continue;
      if (p.inputs[i].written || p.inputs[k].written) {
        return fail(
            OST_JIT_ERROR,
            "inputs {} and {} share memory, and the program writes input {}; give it a copy", k, i,
            p.inputs[i].written ? i : k);
      }
      if (is_donated(i) || is_donated(k)) {
        return fail(OST_JIT_ERROR,
                    "inputs {} and {} share memory, and input {} is donated; give it a copy", k, i,
                    is_donated(i) ? i : k);
      }
    }
    for (size_t s = 0; s < parts_.states.size(); ++s) {
      if (!overlap(inputs[i]->storage(), parts_.states[s]->storage())) continue;
      if (p.inputs[i].written || state_written_[s]) {
        return fail(OST_JIT_ERROR,
                    "input {} shares memory with tensor {}, which the function closes over, and "
                    "the program writes {}; give it a copy",
                    i, parts_.states[s]->id(),
                    state_written_[s] ? "the closed-over tensor" : "the input");
      }
      if (is_donated(i)) {
        return fail(OST_JIT_ERROR,
                    "input {} is donated, and shares memory with tensor {}, which the function "
                    "closes over; give it a copy",
                    i, parts_.states[s]->id());
      }
    }
  }
  return {};
}

// A tensor that outlived the capture is written in place by each replay. Where it is also an input,
// the program reads a copy.
Result<std::vector<runtime::BufferRef>> Captured::bind_inputs(const Arguments& call) {
  std::vector<runtime::BufferRef> in;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const runtime::BufferRef& given = call.inputs[i]->storage();
    in.push_back(given);
    const bool overwritten = std::ranges::any_of(parts_.kept, [&](const TensorPtr& t) {
      return t->is_realized() && overlap(t->storage(), given);
    });
    if (!overwritten) continue;
    if (parts_.program->inputs[i].written) {
      return fail(OST_JIT_ERROR,
                  "input {} is a tensor that the captured function keeps, and the program writes "
                  "it; give it a copy",
                  i);
    }
    scratch_.resize(call.inputs.size());
    if (!scratch_[i].buffer || scratch_[i].buffer->bytes() < given.bytes) {
      OST_TRY_ASSIGN(scratch_[i].buffer,
                     runtime::Buffer::allocate(given.buffer->device(), given.bytes));
    }
    scratch_[i].bytes = given.bytes;
    OST_TRY(
        runtime::Buffer::copy(*scratch_[i].buffer, 0, *given.buffer, given.offset, given.bytes));
    in.back() = scratch_[i];
  }
  return in;
}

Result<runtime::BufferRef> Captured::take(uint32_t device, uint64_t bytes) {
  const auto fits = std::ranges::find_if(pool_, [&](const runtime::BufferPtr& b) {
    return b->device() == session_.device_at(device) && b->bytes() == bytes;
  });
  if (fits != pool_.end()) {
    runtime::BufferRef out{*fits, 0, bytes};
    pool_.erase(fits);
    return out;
  }
  OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(session_.device_at(device), bytes));
  return runtime::BufferRef{std::move(buffer), 0, bytes};
}

Result<Captured::OutputSet> Captured::allocate(std::span<const int64_t> vars, bool at_maximum) {
  const Program& p = *parts_.program;
  OutputSet set;
  set.storage.resize(p.outputs.size());
  for (uint32_t o = 0; o < p.outputs.size(); ++o) {
    if (!parts_.instance->output_is_written(o)) continue;
    const uint32_t first = p.buffers[p.outputs[o].buffer].slot;
    if (first != o) {
      set.storage[o] = set.storage[first];
      continue;
    }
    if (o >= parts_.returned && parts_.kept[o - parts_.returned]->is_realized()) continue;
    uint64_t bytes = 0;
    // A kept tensor keeps this storage for all calls.
    if (at_maximum || o >= parts_.returned) {
      bytes = static_cast<uint64_t>(std::max<int64_t>(numel(p.outputs[o].shape).upper(), 0)) *
              size_of(p.outputs[o].dtype);
    } else {
      OST_TRY_ASSIGN(bytes, parts_.instance->output_bytes(o, vars));
    }
    OST_TRY_ASSIGN(set.storage[o], take(p.outputs[o].device, bytes));
  }
  return set;
}

// Two sets are enough to feed any output back as an input: the call writes the set that no input
// lies in.
Result<Captured::OutputSet*> Captured::outputs_for(const Arguments& call,
                                                   std::span<const int64_t> vars) {
  if (mode_ != OutputMode::reuse) {
    OST_TRY_ASSIGN(once_, allocate(vars, false));
    return &once_;
  }
  const auto in_use = [&](const OutputSet& set) {
    return std::ranges::any_of(call.inputs, [&](const TensorPtr& t) {
      return std::ranges::any_of(set.storage,
                                 [&](const auto& s) { return overlap(s, t->storage()); });
    });
  };
  for (const auto& set : sets_) {
    if (!in_use(*set)) return set.get();
  }
  OST_TRY_ASSIGN(auto set, allocate(vars, true));
  sets_.push_back(std::make_unique<OutputSet>(std::move(set)));
  return sets_.back().get();
}

Result<> Captured::settle_kept(OutputSet& set, std::span<const runtime::BufferRef> out,
                               std::span<const runtime::BufferRef> in) {
  for (size_t k = 0; k < parts_.kept.size(); ++k) {
    const auto o = static_cast<uint32_t>(parts_.returned + k);
    Tensor& t = *parts_.kept[k];
    const bool first = !t.is_realized();
    runtime::BufferRef storage =
        parts_.instance->output_is_written(o) ? out[o] : parts_.instance->output_alias(o, in);
    t.storage_ = {};  // so that its sizes are those of this call
    OST_TRY(session_.store(parts_.kept[k], std::move(storage)));
    if (first) set.storage[o] = {};  // it is the tensor's now
  }
  return {};
}

// The memory of donated inputs goes to later outputs if nobody else holds it.
void Captured::consume(const Arguments& call) {
  if (mode_ != OutputMode::donate) return;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!is_donated(i)) continue;
    Tensor& t = *call.inputs[i];
    runtime::BufferRef storage = std::move(t.storage_);
    t.storage_ = {};
    t.dead_because_ = "was donated to a captured function, which has taken its memory";
    const bool alone = storage.buffer && storage.buffer.use_count() == 1 && storage.offset == 0 &&
                       storage.bytes == storage.buffer->bytes();
    if (alone) pool_.push_back(std::move(storage.buffer));
  }
  while (pool_.size() > parts_.program->outputs.size() + 1) pool_.erase(pool_.begin());
}

Result<std::vector<TensorPtr>> Captured::replay(const Arguments& call) {
  const Program& p = *parts_.program;
  const std::vector<int64_t> vars = values_of(call);
  OST_TRY_ASSIGN(std::vector<runtime::BufferRef> in, bind_inputs(call));
  OST_TRY_ASSIGN(OutputSet * set, outputs_for(call, vars));
  std::vector<runtime::BufferRef> out = set->storage;
  for (size_t k = 0; k < parts_.kept.size(); ++k) {
    const auto o = static_cast<uint32_t>(parts_.returned + k);
    if (!parts_.instance->output_is_written(o)) continue;
    if (parts_.kept[k]->is_realized()) {
      const runtime::BufferPtr& own = parts_.kept[k]->storage().buffer;
      out[o] = {own, 0, own->bytes()};
    } else if (!out[o].buffer) {
      OST_TRY_ASSIGN(const uint64_t bytes, parts_.instance->output_bytes(o, vars));
      OST_TRY_ASSIGN(out[o], take(p.outputs[o].device, bytes));
    }
  }
  ++set->generation->current;
  OST_TRY(parts_.instance->run(in, out, vars));
  OST_TRY(settle_kept(*set, out, in));
  std::vector<TensorPtr> results;
  for (uint32_t o = 0; o < parts_.returned; ++o) {
    TensorPtr t = session_.make(p.outputs[o].dtype, p.outputs[o].shape, p.outputs[o].device);
    const bool written = parts_.instance->output_is_written(o);
    OST_TRY(session_.store(t, written ? out[o] : parts_.instance->output_alias(o, in)));
    if (written && mode_ == OutputMode::reuse) {
      t->generation_ = set->generation;
      t->born_ = set->generation->current;
    }
    results.push_back(std::move(t));
  }
  once_ = {};
  in.clear();
  consume(call);
  return results;
}

uint64_t Captured::free_intermediates() {
  uint64_t freed = parts_.instance->free_intermediates();
  for (const auto& set : sets_) {
    for (const auto& s : set->storage) {
      if (s.buffer && s.buffer.use_count() == 1) freed += s.buffer->bytes();
    }
  }
  for (const auto& b : pool_) freed += b->bytes();
  sets_.clear();  // tensors of the last call hold theirs
  pool_.clear();
  scratch_.clear();
  return freed;
}

}  // namespace ost::capture
