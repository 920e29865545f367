// Times of dispatches, by kernel timestamps in events.
#pragma once

#include "device.hpp"

namespace levelzero {

// Events are kept and used again. One user at a time.
class Timer {
 public:
  explicit Timer(Device& device) : device_(device) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  // An event for the next dispatch, which is command `command` of its submit or list.
  ze::EventHandle start(uint32_t command);
  // All that was started has ended. The times are of the host's monotonic clock.
  std::vector<ost_profile_record_t> read();
  void cancel() noexcept;  // forgets all that was started; none of it runs any more

 private:
  void grow();

  Device& device_;
  std::vector<ze::PoolHandle> pools_;
  std::vector<ze::EventHandle> events_;
  std::vector<uint32_t> commands_;  // of the first events
};

}  // namespace levelzero
