// Sessions, tensors and jits. One lock a session guards all of them; it is recursive, because the
// function of a jit calls back into its session.
#pragma once

#include "core/capi/handles.hpp"
#include "core/capture/jit.hpp"

namespace ost::capi {

struct SessionState {
  std::shared_ptr<ContextState> context;
  std::unique_ptr<capture::Session> session;
  std::vector<Var> vars;  // declared, sorted by name
  std::recursive_mutex mutex;
};
using SessionPtr = std::shared_ptr<SessionState>;

ost_tensor_t* make_tensor(SessionPtr session, capture::TensorPtr tensor);
// The tensors behind handles; an error if one is NULL or of another session.
Result<std::vector<capture::TensorPtr>> tensors_of(const SessionState& session,
                                                   ost_tensor_t* const* tensors, uint32_t count,
                                                   std::string_view what);
// The index of a device in the session, opened on first use; NULL is "auto".
Result<uint32_t> device_of(SessionState& session, const char* device);

}  // namespace ost::capi

struct ost_session_t {
  ost::capi::SessionPtr state;
};

struct ost_tensor_t {
  std::atomic<uint32_t> references{1};
  ost::capi::SessionPtr session;
  ost::capture::TensorPtr tensor;
  ost::capi::TypeText type;
};

struct ost_jit_t {
  ost::capi::SessionPtr session;
  std::unique_ptr<ost::capture::Jit> jit;
};

struct ost_jit_outputs_t {
  ost::capi::SessionPtr session;
  std::span<const ost::capture::JitScalar> scalars;
  std::vector<ost::capture::TensorPtr> tensors;
};
