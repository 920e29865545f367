// Ostinato: plugin.h for authors who write C++20. Header-only; needs the standard library and
// nothing else.
//
//   plugin/error.hpp       Failure, fence, cat, sinks, sizes of structs, the host table
//   plugin/negotiate.hpp   the exported function
//   plugin/command.hpp     handles and commands, checked
//   plugin/timeline.hpp    a timeline for work done by host threads
//   plugin/sync.hpp        the three classes that a synchronous device implements
//   plugin/copied.hpp      commands and lists of them, copied and checked
//   plugin/work.hpp        queues of a device that works on its own
//   plugin/sync_table.hpp  the driver table made from them: queue, command lists, memory, profiling
//   plugin/process.hpp     a compiler that is a program (not included here)
//   plugin/companion.hpp   a library beside the plugin, opened when it is needed (not included here)
#ifndef OSTINATO_PLUGIN_HPP_
#define OSTINATO_PLUGIN_HPP_

#include "plugin/command.hpp"
#include "plugin/copied.hpp"
#include "plugin/error.hpp"
#include "plugin/negotiate.hpp"
#include "plugin/sync.hpp"
#include "plugin/sync_queue.hpp"
#include "plugin/sync_table.hpp"
#include "plugin/timeline.hpp"
#include "plugin/work.hpp"

#endif  // OSTINATO_PLUGIN_HPP_
