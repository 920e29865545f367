// Runs the self-test of KIR (core/kir/selftest.hpp) on a device.
#pragma once

#include "core/runtime/compile_cache.hpp"
#include "core/runtime/device.hpp"

namespace ost::runtime {

// Never fails: a device that cannot run an item is inexact, with the cause as the reason. `cache`
// may be null.
SelfTestResult run_self_tests(const DevicePtr& device, CompileCache* cache);

}  // namespace ost::runtime
