// A queue: gives commands to a stream in order and waits for it, on a thread of its own.
#pragma once

#include "graph.hpp"

namespace hip {

class Queue {
 public:
  explicit Queue(DevicePtr device);

  const DevicePtr& device() const { return device_; }
  // Returns at once; a failure later on fails the signals.
  void submit(std::vector<Command> commands, ost::plugin::Worker::Job job);

  void enable_profile(bool on);
  void drain_profile(ost_profile_record_t* out, uint32_t capacity, uint32_t* out_count);

 private:
  class Stopwatch;
  void run(const std::vector<Command>& commands);
  void give(const Command& command);
  void give_list(const Command& command);
  void capture(const Command& command);
  void copy(const Command& command);
  void fill(const Command& command);
  void fill_from_host(const Command& command);

  DevicePtr device_;
  OwnedStream stream_;
  std::mutex mutex_;  // of what follows
  bool profiling_ = false;
  std::vector<ost_profile_record_t> times_;
  // Of the job that runs: their graphs may be changed again when it has ended.
  struct InUse {
    std::shared_ptr<List> list;
    std::unique_ptr<ListGraph> graph;
  };
  std::vector<InUse> graphs_;
  ost::plugin::Worker worker_;  // last: it uses all of the above
};

}  // namespace hip
