// ost_verify: one program on two lists of devices.
#include "core/capi/bind.hpp"
#include "core/manifest/describe.hpp"
#include "core/manifest/safetensors.hpp"
#include "core/runtime/lockstep.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

template <size_t N>
void copy_text(char (&to)[N], std::string_view text) {
  const size_t size = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

ost_difference_t to_difference(const Program& p, const runtime::LockstepResult& result) {
  ost_difference_t out{};
  out.equal = !result.first;
  out.compared = static_cast<uint32_t>(result.compared);
  if (!result.first) return out;
  const runtime::LockstepDifference& d = *result.first;
  out.step = d.step;
  if (d.step == kNoIndex) {
    copy_text(out.kernel, "the whole program");
  } else {
    copy_text(out.kernel, p.kernels[p.steps[d.step].kernel].name);
    for (const Group& g : p.groups) {
      if (g.step == d.step) copy_text(out.op, fmt::format("{}", fmt::join(g.ops, " ")));
    }
  }
  copy_text(out.buffer, manifest::buffer_label(p, d.buffer));
  out.dtype = static_cast<ost_dtype_t>(p.buffers[d.buffer].dtype);
  out.different = static_cast<uint32_t>(std::min<uint64_t>(d.different, UINT32_MAX));
  out.index = d.index;
  std::ranges::copy(d.bits, out.bits);
  out.ulp = d.ulp;
  return out;
}

// Host arrays as they are; what is in a buffer is read into `copies`.
Result<std::vector<std::span<const uint8_t>>> input_bytes(
    const BoundCall& call, std::vector<std::vector<uint8_t>>& copies) {
  std::vector<std::span<const uint8_t>> out;
  copies.reserve(call.inputs.size());
  for (const ost_binding_t* binding : call.inputs) {
    OST_TRY_ASSIGN(ArrayView array, to_array(&binding->array, "input", binding->buffer == nullptr));
    if (binding->buffer != nullptr) {
      OST_TRY_ASSIGN(const uint64_t bytes, manifest::literal_bytes(array.dtype, array.shape));
      copies.emplace_back(bytes);
      if (bytes > 0) OST_TRY(binding->buffer->buffer->read(binding->offset, copies.back()));
      array.bytes = copies.back();
    }
    out.push_back(array.bytes);
  }
  return out;
}

}  // namespace

extern "C" ost_status_t ost_verify(ost_context_t* context, const ost_program_t* program,
                                   const char* const* devices_a, uint32_t device_count_a,
                                   const char* const* devices_b, uint32_t device_count_b,
                                   const ost_binding_t* inputs, uint32_t input_count,
                                   const ost_var_value_t* vars, uint32_t var_count,
                                   ost_difference_t* out_difference, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    OST_TRY(require(program, "program"));
    const Program& p = program->state->document.program;
    std::array<std::vector<runtime::DevicePtr>, 2> devices;
    OST_TRY_ASSIGN(devices[0], context->state->open_all(devices_a, device_count_a, p.device_count));
    OST_TRY_ASSIGN(devices[1], context->state->open_all(devices_b, device_count_b, p.device_count));
    OST_TRY_ASSIGN(BoundCall bound,
                   bind_call(*program->state, inputs, input_count, vars, var_count));
    std::vector<std::vector<uint8_t>> copies;
    runtime::LockstepCall call;
    OST_TRY_ASSIGN(call.inputs, input_bytes(bound, copies));
    call.vars = std::move(bound.vars);
    runtime::InstanceOptions options;
    options.trust_images = true;  // see ost_instance_create
    OST_TRY_ASSIGN(const auto result, runtime::lockstep(program_of(program->state), devices,
                                                        *context->state->compiler, call, options));
    return write_struct(out_difference, to_difference(p, result), "out_difference");
  });
}
