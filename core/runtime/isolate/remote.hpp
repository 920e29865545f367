// The host's handles of an isolated driver, and how its entries call the other process.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "core/runtime/isolate/commands.hpp"
#include "core/runtime/isolate/connection.hpp"

namespace ost::runtime::isolate {

// An isolated plugin. Lives for ever, as a loaded library does.
struct Spec {
  std::string library;
  std::mutex mutex;
  std::shared_ptr<Connection> spare;  // the process that loading made, for the first driver
};

// Every handle begins with this.
struct Remote {
  std::shared_ptr<Connection> c;
  uint64_t id = 0;
};
struct RemoteDriver : Remote {
  Spec* spec = nullptr;
  const ost_host_table_t* host = nullptr;
  std::mutex mutex;  // of c and id: a process that ended is made again
};
struct RemoteDevice : Remote {
  uint32_t heaps = 0;
  bool shares = false;  // buffers of heap 0 are memory of both processes
};
struct RemoteBuffer : Remote {
  unsigned char* at = nullptr;
  uint64_t bytes = 0;
  ~RemoteBuffer();
};
struct RemoteTimeline : Remote {
  std::atomic<uint64_t> seen{0};
};

uint64_t id_of(const void* handle);

inline ost_status_t give(const Reply& reply, ost_error_t* error) {
  if (reply.status != OST_OK && error != nullptr && error->size >= sizeof *error) {
    const uint32_t size = error->size;
    *error = reply.error;
    error->size = size;
  }
  return reply.status;
}
ost_status_t refuse(ost_error_t* error, ost_status_t status, uint32_t rule, const char* text);

// The parts of the table, one file each.
void set_remote_driver(ost_driver_table_t& t);
void set_remote_memory(ost_driver_table_t& t);
void set_remote_queue(ost_driver_table_t& t);
ost_status_t create_remote_driver(Spec& spec, const ost_host_table_t* host, ost_driver_t** out,
                                  ost_error_t* error);

}  // namespace ost::runtime::isolate
