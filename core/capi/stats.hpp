// Counters of a run, for instances and jits.
#pragma once

#include "core/capi/boundary.hpp"
#include "core/runtime/instance.hpp"

namespace ost::capi {

ost_run_stats_t to_stats(const runtime::RunStats* run, const runtime::BuildStats* build);

}  // namespace ost::capi
