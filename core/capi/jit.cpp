// Capture and replay of a function of tensors.
#include "core/capi/session_handles.hpp"
#include "core/capi/stats.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

// Handles for the inputs of one call of the user's function, released afterwards; the function may
// retain them.
struct BorrowedInputs {
  std::vector<ost_tensor_t*> handles;
  ~BorrowedInputs() {
    for (ost_tensor_t* t : handles) ost_tensor_release(t);
  }
};

capture::JitBody wrap(std::weak_ptr<SessionState> weak, ost_jit_fn function, void* user) {
  return [weak = std::move(weak), function, user](
             std::span<const capture::TensorPtr> inputs,
             std::span<const capture::JitScalar> scalars) -> capture::JitResult {
    const SessionPtr shared = weak.lock();  // held by the caller of ost_jit_call
    BorrowedInputs borrowed;
    for (const capture::TensorPtr& t : inputs) borrowed.handles.push_back(make_tensor(shared, t));
    ost_jit_outputs_t outputs{shared, scalars, {}};
    ost_error_t error{sizeof(ost_error_t), OST_OK, 0, 0, 0, {}};
    const ost_status_t status =
        function(user, borrowed.handles.data(), static_cast<uint32_t>(borrowed.handles.size()),
                 &outputs, &error);
    if (status == OST_OK) return std::move(outputs.tensors);
    return std::unexpected(callback_error("the captured function", status, error));
  };
}

template <typename T, typename Body>
T with_jit(ost_jit_t* jit, T otherwise, Body&& body) noexcept {
  return guard_value(otherwise, [&] {
    if (jit == nullptr) return otherwise;
    const std::scoped_lock lock(jit->session->mutex);
    return body();
  });
}

Result<std::vector<capture::JitVar>> jit_vars(const ost_jit_var_t* vars, uint32_t count) {
  OST_TRY_ASSIGN(const auto given, list(vars, count, "vars"));
  std::vector<capture::JitVar> out;
  for (const ost_jit_var_t& v : given) {
    if (v.var.name == nullptr || v.var.name[0] == '\0')
      return fail(OST_JIT_ERROR, "a variable has no name");
    if (v.var.min < 0 || v.var.min > v.var.max) {
      return fail(OST_JIT_ERROR,
                  "variable '{}': bounds [{}, {}] are malformed; wanted 0 <= min <= max",
                  v.var.name, v.var.min, v.var.max);
    }
    out.push_back({{v.var.name, v.var.min, v.var.max}, v.value});
  }
  return out;
}

// Names that a call introduces can be used in dimensions, like those of ost_session_bind.
Result<> declare_all(SessionState& session, std::span<const ost_jit_var_t> vars) {
  for (const ost_jit_var_t& v : vars) {
    if (auto known = declare(session.vars, &v.var); !known) {
      Error error = std::move(known).error();
      error.status = OST_JIT_ERROR;
      return std::unexpected(std::move(error));
    }
  }
  return {};
}

Result<std::vector<capture::JitScalar>> jit_scalars(const ost_scalar_t* scalars, uint32_t count) {
  OST_TRY_ASSIGN(const auto given, list(scalars, count, "scalars"));
  std::vector<capture::JitScalar> out;
  for (const ost_scalar_t& s : given) {
    if (s.name == nullptr || s.name[0] == '\0') return fail(OST_JIT_ERROR, "a scalar has no name");
    OST_TRY_ASSIGN(const DType dtype, to_dtype(s.dtype, "the type of a scalar"));
    out.push_back({s.name, dtype, s.bits});
  }
  return out;
}

Result<std::vector<std::string>> texts(const char* const* names, uint32_t count,
                                       std::string_view what) {
  if (names == nullptr) return std::vector<std::string>{};
  std::vector<std::string> out;
  for (uint32_t i = 0; i < count; ++i) {
    const bool given = names[i] != nullptr;
    if (!given && what == "parameters")
      return fail(OST_INVALID_ARGUMENT, "parameters: name {} is NULL", i);
    out.emplace_back(given ? names[i] : "");
  }
  return out;
}

Result<capture::JitOptions> to_jit_options(const ost_jit_options_t* options) {
  OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
  if (in.outputs > OST_JIT_DONATE)
    return fail(OST_INVALID_ARGUMENT, "output mode {} is unknown (OST_JIT_*)", in.outputs);
  capture::JitOptions out;
  out.outputs = static_cast<capture::OutputMode>(in.outputs);
  out.enabled = in.disabled == 0;
  out.prune = in.no_prune == 0;
  out.programs = std::max(in.programs, 1u);
  OST_TRY_ASSIGN(out.parameters, texts(in.parameters, in.parameter_count, "parameters"));
  OST_TRY_ASSIGN(const auto donated, list(in.donated, in.donated_count, "donated"));
  out.donated.assign(donated.begin(), donated.end());
  if (!out.donated.empty() && out.outputs != capture::OutputMode::donate)
    return fail(OST_INVALID_ARGUMENT, "donated inputs are given, the output mode is not donate");
  return out;
}

Result<> give_results(ost_jit_t& jit, std::span<const capture::TensorPtr> results,
                      ost_tensor_t** out_tensors, uint32_t capacity, uint32_t* out_count) {
  if (results.size() > capacity) {
    return fail(OST_INVALID_ARGUMENT, "the function has {} results, there is room for {}",
                results.size(), capacity);
  }
  uint32_t made = 0;
  try {
    for (; made < results.size(); ++made)
      out_tensors[made] = make_tensor(jit.session, results[made]);
  } catch (...) {  // out of memory: the caller gets none
    while (made > 0) ost_tensor_release(out_tensors[--made]);
    throw;
  }
  *out_count = made;
  return {};
}

Result<> call_jit(ost_jit_t* jit, const ost_jit_call_t& call, ost_tensor_t** out_tensors,
                  uint32_t capacity, uint32_t* out_count) {
  OST_TRY(require(jit, "jit"));
  OST_TRY(require(out_count, "out_count"));
  if (capacity > 0) OST_TRY(require(out_tensors, "out_tensors"));
  SessionState& s = *jit->session;
  const std::scoped_lock lock(s.mutex);
  OST_TRY_ASSIGN(const auto tensors, tensors_of(s, call.inputs, call.input_count, "inputs"));
  OST_TRY_ASSIGN(const auto names, texts(call.names, call.input_count, "names"));
  OST_TRY_ASSIGN(const auto scalars, jit_scalars(call.scalars, call.scalar_count));
  OST_TRY_ASSIGN(const auto values, jit_vars(call.vars, call.var_count));
  const std::span<const ost_jit_var_t> given(call.vars, call.var_count);
  OST_TRY(declare_all(s, given));
  OST_TRY_ASSIGN(const auto results,
                 jit->jit->call(capture::JitCall{tensors, names, scalars, values}));
  return give_results(*jit, results, out_tensors, capacity, out_count);
}

}  // namespace

extern "C" {

ost_status_t ost_jit_outputs_add(ost_jit_outputs_t* outputs, ost_tensor_t* tensor,
                                 ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(outputs, "outputs"));
    OST_TRY_ASSIGN(const auto added, tensors_of(*outputs->session, &tensor, 1, "output"));
    outputs->tensors.push_back(added[0]);
    return {};
  });
}

ost_status_t ost_jit_create(ost_session_t* session, ost_jit_fn function, void* user,
                            const ost_jit_options_t* options, ost_jit_t** out_jit,
                            ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_jit, "out_jit"));
    *out_jit = nullptr;
    OST_TRY(require(session, "session"));
    OST_TRY(require(reinterpret_cast<const void*>(function), "function"));
    OST_TRY_ASSIGN(auto how, to_jit_options(options));
    const SessionPtr& s = session->state;
    const std::scoped_lock lock(s->mutex);
    auto jit = std::make_unique<capture::Jit>(*s->session, wrap(s, function, user), std::move(how));
    *out_jit = new ost_jit_t{s, std::move(jit)};
    return {};
  });
}

void ost_jit_destroy(ost_jit_t* jit) {
  if (jit == nullptr) return;
  guard_value(0, [&] {
    const SessionPtr session = jit->session;  // outlives the lock
    const std::scoped_lock lock(session->mutex);
    delete jit;
    return 0;
  });
}

ost_status_t ost_jit_call(ost_jit_t* jit, ost_tensor_t* const* inputs, uint32_t input_count,
                          const ost_jit_var_t* vars, uint32_t var_count, ost_tensor_t** out_tensors,
                          uint32_t capacity, uint32_t* out_count, ost_error_t* error) {
  return guard(error, [&] {
    ost_jit_call_t call{};
    call.input_count = input_count;
    call.inputs = inputs;
    call.vars = vars;
    call.var_count = var_count;
    return call_jit(jit, call, out_tensors, capacity, out_count);
  });
}

ost_status_t ost_jit_call_with(ost_jit_t* jit, const ost_jit_call_t* call,
                               ost_tensor_t** out_tensors, uint32_t capacity, uint32_t* out_count,
                               ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(call, "call"));
    OST_TRY_ASSIGN(const auto in, read_options(call, "call"));
    return call_jit(jit, in, out_tensors, capacity, out_count);
  });
}

ost_status_t ost_jit_outputs_scalar(const ost_jit_outputs_t* outputs, const char* name,
                                    ost_scalar_t* out_scalar, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(outputs, "outputs"));
    OST_TRY(require(name, "name"));
    OST_TRY(require(out_scalar, "out_scalar"));
    const auto it =
        std::ranges::find(outputs->scalars, std::string_view(name), &capture::JitScalar::name);
    if (it == outputs->scalars.end())
      return fail(OST_NOT_FOUND, "the call has no scalar '{}'", name);
    *out_scalar = {it->name.c_str(), static_cast<ost_dtype_t>(it->dtype), 0, it->bits};
    return {};
  });
}

uint32_t ost_jit_captured(ost_jit_t* jit) {
  return with_jit(jit, 0u, [&] { return jit->jit->captured() ? 1u : 0u; });
}

void ost_jit_reset(ost_jit_t* jit) {
  with_jit(jit, 0, [&] {
    jit->jit->reset();
    return 0;
  });
}

ost_status_t ost_jit_program(ost_jit_t* jit, ost_program_t** out_program, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(require(jit, "jit"));
    const std::scoped_lock lock(jit->session->mutex);
    const capture::Captured* last = jit->jit->last();
    if (!last) return fail(OST_NOT_FOUND, "nothing is captured yet; the second call captures");
    manifest::Document document;
    OST_TRY_ASSIGN(document.program, last->snapshot());
    OST_TRY_ASSIGN(auto state, ProgramState::make(std::move(document)));
    *out_program = new ost_program_t{1, std::move(state)};
    return {};
  });
}

ost_status_t ost_jit_stats(ost_jit_t* jit, ost_run_stats_t* out_stats, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(jit, "jit"));
    const std::scoped_lock lock(jit->session->mutex);
    const runtime::RunStats* run = jit->jit->last_run();
    if (run == nullptr)
      return fail(OST_NOT_FOUND, "nothing is captured yet; the second call captures");
    return write_struct(out_stats, to_stats(run, &jit->jit->last()->instance().build_stats()),
                        "out_stats");
  });
}

ost_status_t ost_jit_free_intermediates(ost_jit_t* jit, uint64_t* out_bytes, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(jit, "jit"));
    const std::scoped_lock lock(jit->session->mutex);
    const uint64_t bytes = jit->jit->free_intermediates();
    if (out_bytes != nullptr) *out_bytes = bytes;
    return {};
  });
}

}  // extern "C"
