// Instances: a program on devices, bound to data and run.
#include "core/capi/bind.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

// Memory of at least `bytes`, what the last bind used if it is large enough.
Result<runtime::BufferRef> own_memory(runtime::BufferPtr& kept, const runtime::DevicePtr& device,
                                      uint64_t bytes) {
  if (!kept || kept->bytes() < bytes) {
    OST_TRY_ASSIGN(kept, runtime::Buffer::allocate(device, bytes));
  }
  return runtime::BufferRef{kept, 0, bytes};
}

Result<runtime::BufferRef> shared_memory(const ost_buffer_t& buffer, uint64_t offset,
                                         const runtime::DevicePtr& device, uint64_t bytes,
                                         std::string_view what) {
  const runtime::BufferPtr& memory = buffer.buffer;
  if (memory->device() != device) {
    return fail(OST_INVALID_ARGUMENT, "{} is a buffer on {}, wanted one on {}", what,
                memory->device()->id(), device->id());
  }
  if (offset % device->info().min_align != 0) {
    return fail(OST_INVALID_ARGUMENT, "{} starts at byte {}, wanted a multiple of {}", what, offset,
                device->info().min_align);
  }
  if (offset > memory->bytes() || bytes > memory->bytes() - offset) {
    return fail(OST_INVALID_ARGUMENT, "{} needs {} bytes from {} on, the buffer has {}", what,
                bytes, offset, memory->bytes());
  }
  return runtime::BufferRef{memory, offset, bytes};
}

Result<runtime::BufferRef> input_memory(ost_instance_t& instance, uint32_t slot,
                                        const ost_binding_t& binding,
                                        std::span<const int64_t> vars) {
  const InputDesc& desc = instance.instance->program().inputs[slot];
  const runtime::DevicePtr& device = instance.instance->devices()[desc.device];
  const std::string what = fmt::format("input '{}'", desc.name);
  OST_TRY_ASSIGN(const uint64_t bytes, instance.instance->input_bytes(slot, vars));
  if (binding.buffer != nullptr)
    return shared_memory(*binding.buffer, binding.offset, device, bytes, what);
  OST_TRY_ASSIGN(const ArrayView array, to_array(&binding.array, what));
  OST_TRY_ASSIGN(auto memory, own_memory(instance.own_inputs[slot], device, bytes));
  if (bytes > 0) OST_TRY(memory.buffer->write(0, array.bytes));
  return memory;
}

Result<> bind_outputs(ost_instance_t& instance, std::span<const int64_t> vars) {
  const Program& p = instance.instance->program();
  instance.outputs.assign(p.outputs.size(), {});
  instance.output_types.clear();
  for (uint32_t o = 0; o < p.outputs.size(); ++o) {
    const OutputDesc& desc = p.outputs[o];
    OST_TRY_ASSIGN(const auto shape, instance.instance->output_shape(o, vars));
    instance.output_types.push_back(
        type_text(desc.name, desc.dtype, std::span(shape), desc.device));
    if (!instance.instance->output_is_written(o)) continue;
    const uint32_t first = p.buffers[desc.buffer].slot;  // one value under two names has one memory
    if (first != o) {
      instance.outputs[o] = instance.outputs[first];
      continue;
    }
    OST_TRY_ASSIGN(const uint64_t bytes, instance.instance->output_bytes(o, vars));
    OST_TRY_ASSIGN(
        instance.outputs[o],
        own_memory(instance.own_outputs[o], instance.instance->devices()[desc.device], bytes));
  }
  return {};
}

Result<> bind(ost_instance_t& instance, const BoundCall& call) {
  instance.bound = false;
  instance.vars = call.vars;
  instance.inputs.clear();
  for (uint32_t i = 0; i < call.inputs.size(); ++i) {
    OST_TRY_ASSIGN(instance.inputs.emplace_back(),
                   input_memory(instance, i, *call.inputs[i], call.vars));
  }
  OST_TRY(bind_outputs(instance, call.vars));
  instance.bound = true;
  return {};
}

Result<> need_bound(const ost_instance_t* instance) {
  OST_TRY(require(instance, "instance"));
  if (!instance->bound)
    return fail(OST_INVALID_ARGUMENT, "nothing is bound; call ost_instance_bind first");
  return {};
}

Result<> read_memory(const runtime::BufferRef& memory, void* data, uint64_t bytes,
                     std::string_view what) {
  if (memory.bytes != bytes)
    return fail(OST_INVALID_ARGUMENT, "{} has {} bytes, {} were given", what, memory.bytes, bytes);
  if (bytes == 0) return {};
  OST_TRY(require(data, "data"));
  return memory.buffer->read(memory.offset, std::span(static_cast<uint8_t*>(data), bytes));
}

}  // namespace

extern "C" {

ost_status_t ost_instance_create(ost_context_t* context, const ost_program_t* program,
                                 const char* const* devices, uint32_t device_count,
                                 const ost_instance_options_t* options,
                                 ost_instance_t** out_instance, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_instance, "out_instance"));
    *out_instance = nullptr;
    OST_TRY(require(context, "context"));
    OST_TRY(require(program, "program"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    const Program& p = program->state->document.program;
    OST_TRY_ASSIGN(auto opened, context->state->open_all(devices, device_count, p.device_count));
    runtime::InstanceOptions how;
    how.trust_images = true;  // loading decided: a program has images only if it was loaded with
                              // trust, or linked here
    how.require_exact = in.require_exact != 0;
    how.compile_threads = in.compile_threads;
    auto made = std::make_unique<ost_instance_t>();
    OST_TRY_ASSIGN(made->instance,
                   runtime::Instance::create(program_of(program->state), std::move(opened),
                                             *context->state->compiler, how));
    made->context = context->state;
    made->program = program->state;
    made->own_inputs.resize(p.inputs.size());
    made->own_outputs.resize(p.outputs.size());
    *out_instance = made.release();
    return {};
  });
}

void ost_instance_destroy(ost_instance_t* instance) { delete instance; }

ost_status_t ost_instance_bind(ost_instance_t* instance, const ost_binding_t* inputs,
                               uint32_t input_count, const ost_var_value_t* vars,
                               uint32_t var_count, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    instance->bound = false;
    OST_TRY_ASSIGN(const auto call,
                   bind_call(*instance->program, inputs, input_count, vars, var_count));
    return bind(*instance, call);
  });
}

ost_status_t ost_instance_bind_output(ost_instance_t* instance, uint32_t output,
                                      ost_buffer_t* buffer, uint64_t offset, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    OST_TRY(require(buffer, "buffer"));
    const Program& p = instance->instance->program();
    OST_TRY(check_index(output, p.outputs.size(), "output"));
    const std::string what = fmt::format("output '{}'", p.outputs[output].name);
    if (!instance->instance->output_is_written(output)) {
      return fail(OST_INVALID_ARGUMENT,
                  "{} is an input, a state or a constant unchanged; no memory is bound for it",
                  what);
    }
    OST_TRY_ASSIGN(const uint64_t bytes, instance->instance->output_bytes(output, instance->vars));
    OST_TRY_ASSIGN(
        const auto memory,
        shared_memory(*buffer, offset, instance->instance->devices()[p.outputs[output].device],
                      bytes, what));
    const uint32_t slot = p.buffers[p.outputs[output].buffer].slot;
    for (uint32_t o = 0; o < p.outputs.size(); ++o) {
      if (instance->instance->output_is_written(o) && p.buffers[p.outputs[o].buffer].slot == slot)
        instance->outputs[o] = memory;
    }
    return {};
  });
}

ost_status_t ost_instance_run(ost_instance_t* instance, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    return instance->instance->run(instance->inputs, instance->outputs, instance->vars);
  });
}

ost_status_t ost_instance_output_type(ost_instance_t* instance, uint32_t output,
                                      ost_type_desc_t* out_type, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    OST_TRY(check_index(output, instance->output_types.size(), "output"));
    return write_type(out_type, instance->output_types[output]);
  });
}

ost_status_t ost_instance_read_output(ost_instance_t* instance, uint32_t output, void* data,
                                      uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    OST_TRY(check_index(output, instance->outputs.size(), "output"));
    runtime::BufferRef memory = instance->outputs[output];
    if (!instance->instance->output_is_written(output)) {
      memory = instance->instance->output_alias(output, instance->inputs);
      OST_TRY_ASSIGN(memory.bytes, instance->instance->output_bytes(output, instance->vars));
    }
    return read_memory(memory, data, bytes,
                       fmt::format("output '{}'", instance->output_types[output].name));
  });
}

ost_status_t ost_instance_read_input(ost_instance_t* instance, uint32_t input, void* data,
                                     uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    OST_TRY(check_index(input, instance->inputs.size(), "input"));
    return read_memory(instance->inputs[input], data, bytes,
                       fmt::format("input '{}'", instance->program->inputs[input].name));
  });
}

ost_status_t ost_instance_read_state(ost_instance_t* instance, uint32_t state, void* data,
                                     uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    OST_TRY(check_index(state, instance->program->states.size(), "state"));
    return read_memory(instance->instance->state(state), data, bytes,
                       fmt::format("state '{}'", instance->program->states[state].name));
  });
}

ost_status_t ost_instance_write_state(ost_instance_t* instance, uint32_t state, const void* data,
                                      uint64_t bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    OST_TRY(check_index(state, instance->program->states.size(), "state"));
    const runtime::BufferRef memory = instance->instance->state(state);
    if (memory.bytes != bytes) {
      return fail(OST_INVALID_ARGUMENT, "state '{}' has {} bytes, {} were given",
                  instance->program->states[state].name, memory.bytes, bytes);
    }
    if (bytes == 0) return {};
    OST_TRY(require(data, "data"));
    return memory.buffer->write(memory.offset, std::span(static_cast<const uint8_t*>(data), bytes));
  });
}

ost_status_t ost_instance_var(ost_instance_t* instance, const char* name, int64_t* out_value,
                              ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need_bound(instance));
    OST_TRY(require(name, "name"));
    OST_TRY(require(out_value, "out_value"));
    const auto& vars = instance->instance->program().vars;
    const auto it = std::ranges::find(vars, std::string_view(name), &Var::name);
    if (it == vars.end()) return fail(OST_NOT_FOUND, "the program has no variable '{}'", name);
    *out_value = instance->vars[static_cast<size_t>(it - vars.begin())];
    return {};
  });
}

const char* ost_instance_device(const ost_instance_t* instance, uint32_t index) {
  if (instance == nullptr || index >= instance->instance->devices().size()) return nullptr;
  return instance->instance->devices()[index]->id().c_str();
}

ost_status_t ost_instance_free_intermediates(ost_instance_t* instance, uint64_t* out_bytes,
                                             ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    const uint64_t bytes = instance->instance->free_intermediates();
    if (out_bytes != nullptr) *out_bytes = bytes;
    return {};
  });
}

}  // extern "C"
