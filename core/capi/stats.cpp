#include "core/capi/stats.hpp"

#include "core/capi/handles.hpp"

using namespace ost;
using namespace ost::capi;

namespace ost::capi {

ost_run_stats_t to_stats(const runtime::RunStats* run, const runtime::BuildStats* build) {
  ost_run_stats_t stats{};
  if (run != nullptr) {
    stats.launches = run->launches;
    stats.copies = run->copies;
    stats.copied_bytes = run->copied_bytes;
    stats.allocations = run->allocations;
    stats.compiles = run->compiles;
    stats.wall_ns = run->wall_ns;
  }
  if (build != nullptr) {
    stats.build_compiles = build->compiles;
    stats.build_cache_hits = build->cache_hits;
    stats.build_images_used = build->images_used;
    stats.arena_bytes = build->arena_bytes;
    stats.constant_bytes = build->constant_bytes;
    stats.state_bytes = build->state_bytes;
  }
  return stats;
}

}  // namespace ost::capi

extern "C" {

ost_status_t ost_instance_stats(const ost_instance_t* instance, ost_run_stats_t* out_stats,
                                ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    return write_struct(
        out_stats, to_stats(&instance->instance->last_run(), &instance->instance->build_stats()),
        "out_stats");
  });
}

ost_status_t ost_instance_profile(ost_instance_t* instance, uint32_t on, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    return instance->instance->profile(on != 0);
  });
}

uint32_t ost_instance_time_count(const ost_instance_t* instance) {
  return instance == nullptr ? 0 : static_cast<uint32_t>(instance->instance->last_times().size());
}

ost_status_t ost_instance_time_at(const ost_instance_t* instance, uint32_t index,
                                  ost_kernel_time_t* out_time, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(instance, "instance"));
    OST_TRY(require(out_time, "out_time"));
    const auto times = instance->instance->last_times();
    OST_TRY(check_index(index, times.size(), "kernel time"));
    *out_time = {times[index].step, times[index].kernel, times[index].ns};
    return {};
  });
}

}  // extern "C"
