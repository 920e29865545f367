// The driver `ref`: the reference interpreter behind the same table as every plugin's. Its device
// is the oracle.
#pragma once

#include <ostinato/plugin.h>

namespace ost::runtime {

ost_status_t ref_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out);

}  // namespace ost::runtime
