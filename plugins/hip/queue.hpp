// A queue: a thread that waits for timelines, gives commands to a stream in order, waits for it, and
// signals.
#pragma once

#include <deque>
#include <thread>

#include "program.hpp"

namespace hip {

using TimelinePtr = std::shared_ptr<ost::plugin::Timeline>;

struct Buffer {
  DevicePtr device;
  std::unique_ptr<Memory> memory;
  uint64_t size = 0;
};

struct Point {
  TimelinePtr timeline;
  uint64_t value;
};

// A command, copied out of the caller's memory and checked.
struct Command {
  struct Ref {
    const Memory* memory;
    uint64_t offset, size;
    std::byte* data() const { return memory->data() + offset; }
  };
  uint32_t kind = 0;
  std::vector<Ref> refs;
  std::vector<int64_t> vars;
  std::shared_ptr<Executable> executable;
  uint64_t grid[3] = {};
  uint32_t group[3] = {};
  uint64_t fill_pattern = 0;
  uint32_t fill_pattern_size = 0;
};
Command copy_command(const ost_command_t& command);

class Queue {
 public:
  explicit Queue(DevicePtr device);
  ~Queue();  // after all that was accepted

  const DevicePtr& device() const { return device_; }
  // Returns at once; a failure later on fails the signals.
  void submit(std::vector<Point> waits, std::vector<Command> commands, std::vector<Point> signals);

  void enable_profile(bool on);
  std::vector<ost_profile_record_t> drain_profile(size_t most);

 private:
  struct Job {
    std::vector<Point> waits;
    std::vector<Command> commands;
    std::vector<Point> signals;
    std::vector<const Memory*> buffers;  // that it uses
  };
  class Stopwatch;
  void work();
  void run(const Job& job);
  void give(const Command& command);
  void fill(const Command& command);
  void fill_from_host(const Command& command);

  DevicePtr device_;
  OwnedStream stream_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool closing_ = false;
  bool profiling_ = false;
  std::vector<ost_profile_record_t> times_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hip
