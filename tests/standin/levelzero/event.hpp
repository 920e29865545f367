// Events from pools, and what a host thread waits for.
#pragma once

#include <condition_variable>
#include <mutex>

#include "device.hpp"

namespace standin {

// A flag that threads wait for.
class Flag {
 public:
  void set();
  // False if it was set already.
  bool set_once();
  void reset();
  bool wait(uint64_t timeout_ns);  // UINT64_MAX: no limit

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

struct EventPool : Object {
  static constexpr const char* kKind = "event pool";
  EventPool(uint32_t n, bool timed) : Object(kKind, nullptr), count(n), timestamps(timed) {}
  uint32_t count;
  bool timestamps;
};
struct Event : Object {
  static constexpr const char* kKind = "event";
  Event(EventPool& from, uint32_t i) : Object(kKind, &from), pool(from), index(i) {}
  EventPool& pool;
  uint32_t index;
  Flag flag;
  std::atomic<uint64_t> start_ns{0}, end_ns{0};
};

}  // namespace standin
