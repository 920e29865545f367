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

capture::JitFunction wrap(std::weak_ptr<SessionState> weak, ost_jit_fn function, void* user) {
  return
      [weak = std::move(weak), function, user](
          std::span<const capture::TensorPtr> inputs) -> Result<std::vector<capture::TensorPtr>> {
        const SessionPtr shared = weak.lock();  // held by the caller of ost_jit_call
        BorrowedInputs borrowed;
        for (const capture::TensorPtr& t : inputs)
          borrowed.handles.push_back(make_tensor(shared, t));
        ost_jit_outputs_t outputs{shared, {}};
        ost_error_t error{sizeof(ost_error_t), OST_OK, 0, 0, 0, {}};
        const ost_status_t status =
            function(user, borrowed.handles.data(), static_cast<uint32_t>(borrowed.handles.size()),
                     &outputs, &error);
        if (status == OST_OK) return std::move(outputs.tensors);
        const std::string message = error.message[0] == '\0' ? std::string("no message was given")
                                                             : std::string(error.message);
        return std::unexpected(Error{status, "the captured function failed: " + message,
                                     error.native_code, error.rule, error.flags});
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

Result<std::vector<capture::JitVar>> jit_vars(SessionState& session, const ost_jit_var_t* vars,
                                              uint32_t count) {
  OST_TRY_ASSIGN(const auto given, list(vars, count, "vars"));
  std::vector<capture::JitVar> out;
  for (const ost_jit_var_t& v : given) {
    OST_TRY(declare(session.vars, &v.var));
    out.push_back({{v.var.name, v.var.min, v.var.max}, v.value});
  }
  return out;
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
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    if (in.outputs > OST_JIT_FRESH)
      return fail(OST_INVALID_ARGUMENT, "output mode {} is unknown (OST_JIT_*)", in.outputs);
    capture::JitOptions how;
    how.outputs =
        in.outputs == OST_JIT_FRESH ? capture::OutputMode::fresh : capture::OutputMode::reuse;
    how.enabled = in.disabled == 0;
    const SessionPtr& s = session->state;
    const std::scoped_lock lock(s->mutex);
    auto jit = std::make_unique<capture::Jit>(*s->session, wrap(s, function, user), how);
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
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(jit, "jit"));
    OST_TRY(require(out_count, "out_count"));
    if (capacity > 0) OST_TRY(require(out_tensors, "out_tensors"));
    SessionState& s = *jit->session;
    const std::scoped_lock lock(s.mutex);
    OST_TRY_ASSIGN(const auto tensors, tensors_of(s, inputs, input_count, "inputs"));
    OST_TRY_ASSIGN(const auto values, jit_vars(s, vars, var_count));
    OST_TRY_ASSIGN(auto results, jit->jit->call(tensors, values));
    if (results.size() > capacity) {
      return fail(OST_INVALID_ARGUMENT, "the function has {} results, there is room for {}",
                  results.size(), capacity);
    }
    uint32_t made = 0;
    try {
      for (; made < results.size(); ++made)
        out_tensors[made] = make_tensor(jit->session, results[made]);
    } catch (...) {  // out of memory: the caller gets none
      while (made > 0) ost_tensor_release(out_tensors[--made]);
      throw;
    }
    *out_count = made;
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
    const auto program = jit->jit->program();
    if (!program) return fail(OST_NOT_FOUND, "nothing is captured yet; the second call captures");
    manifest::Document document;
    document.program = *program;
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
    return write_struct(out_stats, to_stats(run, nullptr), "out_stats");
  });
}

}  // extern "C"
