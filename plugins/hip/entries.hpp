// The parts of the driver table.
#pragma once

#include <ostinato/plugin.hpp>

namespace hip {

void memory_entries(ost_driver_table_t& table);  // heaps and buffers

}  // namespace hip
