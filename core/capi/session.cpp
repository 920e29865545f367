// Sessions: variables, random numbers, work beside a capture, counters.
#include <optional>

#include "core/capi/session_handles.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

Result<capture::Session::Random> random_kind(std::string_view kind) {
  using Random = capture::Session::Random;
  if (kind == "bits") return Random::bits;
  if (kind == "uniform") return Random::uniform;
  if (kind == "normal") return Random::normal;
  return fail(OST_INVALID_ARGUMENT,
              "random numbers of kind '{}' are unknown; there are: bits, "
              "uniform, normal",
              kind);
}

}  // namespace

extern "C" {

ost_status_t ost_session_uncaptured(ost_session_t* session, ost_uncaptured_fn body, void* user,
                                    ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(session, "session"));
    OST_TRY(require(reinterpret_cast<const void*>(body), "body"));
    const std::scoped_lock lock(session->state->mutex);
    return session->state->session->uncaptured([&]() -> Result<> {
      ost_error_t inner{sizeof(ost_error_t), OST_OK, 0, 0, 0, {}};
      const ost_status_t status = body(user, &inner);
      if (status == OST_OK) return {};
      return std::unexpected(callback_error("the work beside the capture", status, inner));
    });
  });
}

ost_status_t ost_tensor_freeze(ost_tensor_t* tensor, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(tensor, "tensor"));
    const std::scoped_lock lock(tensor->session->mutex);
    return tensor->session->session->freeze(tensor->tensor);
  });
}

ost_status_t ost_tensor_random(ost_session_t* session, const char* kind, const ost_dim_t* dims,
                               uint32_t rank, const char* device, ost_tensor_t** out_tensor,
                               ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_tensor, "out_tensor"));
    *out_tensor = nullptr;
    OST_TRY(require(session, "session"));
    OST_TRY(require(kind, "kind"));
    SessionState& s = *session->state;
    const std::scoped_lock lock(s.mutex);
    OST_TRY_ASSIGN(const auto what, random_kind(kind));
    OST_TRY_ASSIGN(auto shape, to_shape(dims, rank, s.vars, "dims"));
    OST_TRY_ASSIGN(const uint32_t index, device_of(s, device));
    OST_TRY_ASSIGN(auto tensor, s.session->random(what, std::move(shape), index));
    *out_tensor = make_tensor(session->state, std::move(tensor));
    return {};
  });
}

ost_status_t ost_session_seed(ost_session_t* session, uint64_t seed, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(session, "session"));
    const std::scoped_lock lock(session->state->mutex);
    return session->state->session->seed(seed);
  });
}

ost_status_t ost_session_stats(ost_session_t* session, ost_session_stats_t* out_stats,
                               ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(session, "session"));
    const std::scoped_lock lock(session->state->mutex);
    const capture::SessionStats& stats = session->state->session->stats();
    ost_session_stats_t out{};
    out.graph_nodes = stats.graph_nodes;
    out.schedules = stats.schedules;
    out.eager_runs = stats.eager_runs;
    return write_struct(out_stats, out, "out_stats");
  });
}

}  // extern "C"
