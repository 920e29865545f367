// OSTINATO_LAYERS=validate,trace,fault: what stands between the host and every plugin.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime {

// The plugin behind the layers that the environment asks for; the plugin itself if it asks for
// none. The same plugin gives the same table each time. An unknown layer is an error.
Result<PluginPtr> with_layers(const PluginPtr& plugin);

// What `validate` found in this process so far, one line or more each: "(rule 11) ...".
std::vector<std::string> validate_findings();
void clear_validate_findings();

// Calls that `fault` has seen in this process, and whether it struck.
struct FaultCount {
  uint64_t calls = 0;
  bool struck = false;
};
FaultCount fault_count();
// Counts from 0 again, and strikes at call `number` instead of where OSTINATO_FAULT says; 0: where
// it says.
void arm_fault(uint64_t number);

}  // namespace ost::runtime
