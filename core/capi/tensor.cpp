// Sessions and their lazy tensors.
#include "core/capi/op_table.hpp"
#include "core/capi/session_handles.hpp"
#include "core/ir/ops.hpp"

using namespace ost;
using namespace ost::capi;

namespace ost::capi {

ost_tensor_t* make_tensor(SessionPtr session, capture::TensorPtr tensor) {
  TypeText type = type_text("", tensor->dtype(), tensor->shape(), 0);
  return new ost_tensor_t{1, std::move(session), std::move(tensor), std::move(type)};
}

Result<std::vector<capture::TensorPtr>> tensors_of(const SessionState& session,
                                                   ost_tensor_t* const* tensors, uint32_t count,
                                                   std::string_view what) {
  OST_TRY_ASSIGN(const auto items, list(tensors, count, what));
  std::vector<capture::TensorPtr> out;
  for (const ost_tensor_t* t : items) {
    if (t == nullptr) return fail(OST_INVALID_ARGUMENT, "{}: tensor {} is NULL", what, out.size());
    if (t->session.get() != &session)
      return fail(OST_INVALID_ARGUMENT, "{}: tensor {} belongs to another session", what,
                  out.size());
    out.push_back(t->tensor);
  }
  return out;
}

Result<uint32_t> device_of(SessionState& session, const char* device) {
  return session.session->device(device == nullptr ? "auto" : device);
}

}  // namespace ost::capi

namespace {

// The body of an entry that works on one tensor, under its session's lock.
template <typename Body>
ost_status_t with_tensor(ost_tensor_t* tensor, ost_error_t* error, Body&& body) noexcept {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(tensor, "tensor"));
    const std::scoped_lock lock(tensor->session->mutex);
    return body(*tensor->session->session);
  });
}

Result<> finish(ost_tensor_t** out, const SessionPtr& session, Result<capture::TensorPtr> tensor) {
  if (!tensor) return std::unexpected(tensor.error());
  *out = make_tensor(session, std::move(*tensor));
  return {};
}

Result<> clear(ost_tensor_t** out_tensor) {
  OST_TRY(require(out_tensor, "out_tensor"));
  *out_tensor = nullptr;
  return {};
}

// The declared shape must be the array's at the values that are bound.
Result<> check_dims(const SessionState& session, const Shape& shape, const ArrayView& array) {
  if (shape.size() != array.shape.size()) {
    return fail(OST_INVALID_ARGUMENT, "dims has rank {}, the array {}", shape.size(),
                array.shape.size());
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    OST_TRY_ASSIGN(const int64_t value, shape[d].eval(session.session->bindings()));
    if (value == array.shape[d]) continue;
    return fail(OST_INVALID_ARGUMENT, "dimension {} of the array is {}, wanted {}, which is {}", d,
                array.shape[d], value, shape[d].str());
  }
  return {};
}

}  // namespace

extern "C" {

ost_status_t ost_session_create(ost_context_t* context, const ost_compile_options_t* options,
                                ost_session_t** out_session, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_session, "out_session"));
    *out_session = nullptr;
    OST_TRY(require(context, "context"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    OST_TRY_ASSIGN(const auto how, to_schedule_options(in));
    auto state = std::make_shared<SessionState>();
    state->context = context->state;
    state->session =
        std::make_unique<capture::Session>(context->state->registry, context->state->compiler, how);
    *out_session = new ost_session_t{std::move(state)};
    return {};
  });
}

void ost_session_destroy(ost_session_t* session) { delete session; }

ost_status_t ost_session_bind(ost_session_t* session, const ost_var_t* var, int64_t value,
                              ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(session, "session"));
    const std::scoped_lock lock(session->state->mutex);
    OST_TRY(declare(session->state->vars, var));
    OST_TRY(session->state->session->bind({var->name, var->min, var->max}, value));
    return {};
  });
}

ost_status_t ost_tensor_from_array(ost_session_t* session, const char* device,
                                   const ost_array_t* data, const ost_dim_t* dims,
                                   ost_tensor_t** out_tensor, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(clear(out_tensor));
    OST_TRY(require(session, "session"));
    SessionState& s = *session->state;
    const std::scoped_lock lock(s.mutex);
    OST_TRY_ASSIGN(const ArrayView array, to_array(data, "data"));
    Shape shape(array.shape.begin(), array.shape.end());
    if (dims != nullptr) {
      OST_TRY_ASSIGN(shape, to_shape(dims, data->rank, s.vars, "dims"));
      OST_TRY(check_dims(s, shape, array));
    }
    OST_TRY_ASSIGN(const uint32_t index, device_of(s, device));
    return finish(out_tensor, session->state,
                  s.session->from_data(array.dtype, std::move(shape), index, array.bytes));
  });
}

ost_status_t ost_tensor_from_buffer(ost_session_t* session, ost_buffer_t* buffer, uint64_t offset,
                                    ost_dtype_t dtype, const ost_dim_t* dims, uint32_t rank,
                                    ost_tensor_t** out_tensor, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(clear(out_tensor));
    OST_TRY(require(session, "session"));
    OST_TRY(require(buffer, "buffer"));
    SessionState& s = *session->state;
    const std::scoped_lock lock(s.mutex);
    OST_TRY_ASSIGN(const DType type, to_dtype(dtype, "dtype"));
    OST_TRY_ASSIGN(auto shape, to_shape(dims, rank, s.vars, "dims"));
    OST_TRY_ASSIGN(const uint32_t index, device_of(s, buffer->buffer->device()->id().c_str()));
    if (s.session->device_at(index) != buffer->buffer->device()) {
      return fail(OST_INVALID_ARGUMENT, "the buffer was made by another context's {}",
                  buffer->buffer->device()->id());
    }
    const uint32_t align = buffer->buffer->device()->info().min_align;
    if (offset % align != 0)
      return fail(OST_INVALID_ARGUMENT, "offset {} is no multiple of {}", offset, align);
    if (offset > buffer->buffer->bytes()) {
      return fail(OST_INVALID_ARGUMENT, "offset {} is beyond the buffer, which has {} bytes",
                  offset, buffer->buffer->bytes());
    }
    const runtime::BufferRef storage{buffer->buffer, offset, buffer->buffer->bytes() - offset};
    return finish(out_tensor, session->state,
                  s.session->from_storage(type, std::move(shape), index, storage));
  });
}

ost_status_t ost_tensor_op(ost_session_t* session, const char* op, ost_tensor_t* const* inputs,
                           uint32_t input_count, const ost_attr_t* attrs, uint32_t attr_count,
                           const char* device, ost_tensor_t** out_tensor, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(clear(out_tensor));
    OST_TRY(require(session, "session"));
    OST_TRY(require(op, "op"));
    SessionState& s = *session->state;
    const std::scoped_lock lock(s.mutex);
    const std::string_view name = op;
    if (name == "assign" || name == "copy") {
      return fail(OST_INVALID_ARGUMENT, "{} of tensors is {}", name,
                  name == "copy" ? "ost_tensor_to" : "ost_tensor_assign");
    }
    OST_TRY_ASSIGN(const auto tensors, tensors_of(s, inputs, input_count, "inputs"));
    OST_TRY_ASSIGN(const auto given, list(attrs, attr_count, "attrs"));
    uint32_t home = 0;
    if (tensors.empty()) {
      OST_TRY_ASSIGN(home, device_of(s, device));
    }
    const auto build = [&](ir::Graph& graph, std::span<const ir::NodeId> nodes) {
      return apply_op(graph, name, nodes, given, s.vars);
    };
    return finish(out_tensor, session->state, s.session->apply(tensors, build, home));
  });
}

ost_status_t ost_tensor_to(ost_tensor_t* tensor, const char* device, ost_tensor_t** out_tensor,
                           ost_error_t* error) {
  return with_tensor(tensor, error, [&](capture::Session& session) -> Result<> {
    OST_TRY(clear(out_tensor));
    OST_TRY_ASSIGN(const uint32_t to, device_of(*tensor->session, device));
    if (to == tensor->tensor->device()) return finish(out_tensor, tensor->session, tensor->tensor);
    const auto build = [&](ir::Graph& graph, std::span<const ir::NodeId> nodes) {
      return ir::copy_to(graph, nodes[0], to);
    };
    return finish(out_tensor, tensor->session,
                  session.apply(std::span(&tensor->tensor, 1), build, to));
  });
}

ost_status_t ost_tensor_assign(ost_tensor_t* target, ost_tensor_t* value, const ost_dim_t* starts,
                               uint32_t start_count, ost_error_t* error) {
  return with_tensor(target, error, [&](capture::Session& session) -> Result<> {
    OST_TRY_ASSIGN(const auto values, tensors_of(*target->session, &value, 1, "value"));
    OST_TRY_ASSIGN(auto from, to_shape(starts, start_count, target->session->vars, "starts"));
    return session.assign(target->tensor, values[0], std::move(from));
  });
}

ost_status_t ost_tensor_realize(ost_tensor_t* const* tensors, uint32_t count, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY_ASSIGN(const auto items, list(tensors, count, "tensors"));
    if (items.empty()) return {};
    OST_TRY(require(items[0], "tensors: tensor 0"));
    SessionState& s = *items[0]->session;
    const std::scoped_lock lock(s.mutex);
    OST_TRY_ASSIGN(const auto lazy, tensors_of(s, tensors, count, "tensors"));
    return s.session->realize(lazy);
  });
}

ost_status_t ost_tensor_type(ost_tensor_t* tensor, ost_type_desc_t* out_type, ost_error_t* error) {
  return with_tensor(tensor, error, [&](capture::Session& session) -> Result<> {
    OST_TRY_ASSIGN(tensor->type.values, session.shape_of(*tensor->tensor));
    for (size_t d = 0; session.capturing() && d < tensor->type.values.size(); ++d) {
      if (!tensor->type.exprs[d].empty()) tensor->type.values[d] = -1;  // would be frozen
    }
    return write_type(out_type, tensor->type);
  });
}

const char* ost_tensor_device(ost_tensor_t* tensor) {
  return guard_value<const char*>(nullptr, [&]() -> const char* {
    if (tensor == nullptr) return nullptr;
    const std::scoped_lock lock(tensor->session->mutex);
    return tensor->session->session->device_at(tensor->tensor->device())->id().c_str();
  });
}

uint32_t ost_tensor_is_realized(ost_tensor_t* tensor) {
  return guard_value(0u, [&] {
    if (tensor == nullptr) return 0u;
    const std::scoped_lock lock(tensor->session->mutex);
    return tensor->tensor->is_realized() ? 1u : 0u;
  });
}

ost_status_t ost_tensor_read(ost_tensor_t* tensor, void* data, uint64_t bytes, ost_error_t* error) {
  return with_tensor(tensor, error, [&](capture::Session& session) -> Result<> {
    if (bytes > 0) OST_TRY(require(data, "data"));
    return session.read(tensor->tensor, std::span(static_cast<uint8_t*>(data), bytes));
  });
}

ost_status_t ost_tensor_buffer(ost_tensor_t* tensor, ost_buffer_t** out_buffer,
                               uint64_t* out_offset, ost_error_t* error) {
  return with_tensor(tensor, error, [&](capture::Session& session) -> Result<> {
    OST_TRY(require(out_buffer, "out_buffer"));
    *out_buffer = nullptr;
    OST_TRY(require(out_offset, "out_offset"));
    OST_TRY_ASSIGN(const runtime::BufferRef storage, session.storage_of(tensor->tensor));
    *out_buffer = new ost_buffer_t{1, tensor->session->context, storage.buffer};
    *out_offset = storage.offset;
    return {};
  });
}

void ost_tensor_retain(ost_tensor_t* tensor) { retain(tensor); }

void ost_tensor_release(ost_tensor_t* tensor) {
  if (tensor == nullptr || tensor->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  guard_value(0, [&] {
    const SessionPtr session = tensor->session;  // outlives the lock
    const std::scoped_lock lock(session->mutex);
    delete tensor;
    return 0;
  });
}

}  // extern "C"
