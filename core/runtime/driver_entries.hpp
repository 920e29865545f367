// The entries of the driver table as a list, so that copying, checking and filling it cannot forget
// one.
#pragma once

#include <ostinato/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"

// X(name, REQ | OPT), in the order of ost_driver_table_t.
#define OST_DRIVER_ENTRIES(X)                                                                 \
  X(driver_create, REQ)                                                                       \
  X(driver_destroy, REQ)                                                                      \
  X(device_count, REQ)                                                                        \
  X(device_info, REQ)                                                                         \
  X(device_create, REQ) X(device_destroy, REQ) X(device_status, REQ) X(heap_count, REQ)       \
      X(heap_info, REQ) X(buffer_alloc, REQ) X(buffer_free, REQ) X(buffer_map, OPT)           \
          X(buffer_unmap, OPT) X(buffer_flush, OPT) X(buffer_invalidate, OPT)                 \
              X(buffer_import_host, OPT) X(buffer_write, REQ) X(buffer_read, REQ)             \
                  X(queue_create, REQ) X(queue_destroy, REQ) X(timeline_create, REQ)          \
                      X(timeline_destroy, REQ) X(timeline_query, REQ) X(timeline_signal, REQ) \
                          X(timeline_wait, REQ) X(timeline_fail, REQ) X(queue_submit, REQ)    \
                              X(compiler_key, REQ) X(compile, REQ) X(image_check, REQ)        \
                                  X(executable_load, REQ) X(executable_unload, REQ)           \
                                      X(executable_entry, REQ) X(cmdlist_create, OPT)         \
                                          X(cmdlist_destroy, OPT) X(profile_enable, OPT)      \
                                              X(profile_drain, OPT) X(link_query, OPT)        \
                                                  X(get_extension, OPT)

namespace ost::runtime {

// A plugin's table after it was checked: every entry can be called. What the plugin did not have
// returns OST_UNIMPLEMENTED and says its name (rule 3).
struct DriverTable {
  ost_driver_table_t entries{};
  bool has_map = false;
  bool has_flush = false;
  bool has_import_host = false;
  bool has_command_lists = false;
  bool has_profiling = false;
  bool has_link_query = false;
};

// Rules 2 and 3. The table may be shorter or longer than this side's; what it has beyond is not
// looked at.
Result<DriverTable> complete_table(const ost_driver_table_t* from_plugin);

}  // namespace ost::runtime
