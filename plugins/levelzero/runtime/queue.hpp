// A queue: gives lists to engines in order and waits for them, on a thread of its own.
#pragma once

#include "command_list.hpp"

namespace levelzero {

// A queue of Level Zero, the lists that commands are recorded in, and the fence that says when they
// have run.
class Lane {
 public:
  Lane(Device& device, const Engine& engine);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  List& list(size_t index);  // an empty one; those of one run have different indices
  // Gives the lists to the queue and waits until they have run.
  void run(std::vector<ze::ListHandle> lists);
  void wait_until_idle() noexcept;
  void reset_lists();

 private:
  Device& device_;
  const Engine& engine_;
  ze::QueueHandle queue_ = nullptr;
  ze::FenceHandle fence_ = nullptr;
  std::vector<std::unique_ptr<List>> lists_;
};

class Queue {
 public:
  explicit Queue(DevicePtr device);

  // Returns at once; a failure later on fails the signals.
  void submit(std::vector<Command> commands, ost::plugin::Worker::Job job);

  void enable_profile(bool on);
  void drain_profile(ost_profile_record_t* out, uint32_t capacity, uint32_t* out_count);

 private:
  class Run;
  void run(const std::vector<Command>& commands);
  Lane& lane_for(const std::vector<Command>& commands);

  DevicePtr device_;
  Lane compute_;
  std::unique_ptr<Lane> copy_;  // made when it is needed
  Timer timer_;
  std::mutex mutex_;  // of what follows
  bool profiling_ = false;
  std::vector<ost_profile_record_t> times_;
  ost::plugin::Worker worker_;  // last: it uses all of the above
};

}  // namespace levelzero
