/* The smallest honest plugin: it has no version in common with any host, and says so. */
#include <ostinato/plugin.h>
#include <string.h>

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  (void)in;
  out->abi = 0;
  strcpy(out->name, "nothing");
  strcpy(out->reason, "this plugin only proves that the SDK was installed");
  return OST_OK;
}
