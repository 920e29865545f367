// The driver of the good plugin, which the bad ones change in one place.
#pragma once

#include <ostinato/plugin.h>

namespace ost::test {

// One device, an accelerator with memory and without a compiler.
const ost_driver_table_t& good_table();
// negotiate() of the SDK with this name and range of versions.
ost_status_t good_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out,
                            const char* name, uint32_t abi_min, uint32_t abi_max,
                            const ost_driver_table_t* table);

}  // namespace ost::test
