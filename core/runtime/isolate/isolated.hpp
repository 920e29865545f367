// OSTINATO_ISOLATE: drivers that run in a process of their own. Their table is made here and calls
// the other process; what they crash is only that.
#pragma once

#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime {

// Whether the environment wants this driver isolated: its name as far as it is known before any of
// its code runs, from the discovery file or from that of the library (libostinato_NAME.so).
bool wants_isolation(const std::string& driver, const std::string& library);

// The plugin in its process: loaded there, judged there by the same loader.
std::expected<Plugin, Rejection> load_isolated(const std::string& library);

// The process id of a driver that was made from an isolated plugin, for tests; 0 if it is none.
int isolated_process(const ost_driver_t* driver);

}  // namespace ost::runtime
