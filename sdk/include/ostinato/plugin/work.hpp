// Asynchronous queues for drivers whose device has memory of its own: commands are copied and
// checked when they are submitted; a thread for each queue waits for timelines, gives the commands
// to the device, and signals. Invariant: a submit that fails, at once or later, has failed all its
// signals (rule 7).
//
// A driver brings a Buffer and an Executable as copied.hpp wants them; its ost_timeline_t* is a
// TimelinePtr (timeline_entries makes them).
#ifndef OSTINATO_PLUGIN_WORK_HPP_
#define OSTINATO_PLUGIN_WORK_HPP_

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <thread>

#include "copied.hpp"
#include "timeline.hpp"

namespace ost::plugin {

using TimelinePtr = std::shared_ptr<Timeline>;

struct Point {
  TimelinePtr timeline;
  uint64_t value;
};

inline std::vector<Point> points_of(const ost_point_t* points, uint32_t count) {
  if (count > 0 && points == nullptr) fail_rule(7, "points are null");
  std::vector<Point> out;
  for (uint32_t i = 0; i < count; ++i)
    out.push_back({object<TimelinePtr>(points[i].timeline), points[i].value});
  return out;
}

// --- work

// Which buffers the accepted work of a device uses that has not ended: what blocking copies and
// device_destroy wait for.
class Uses {
 public:
  void begin(std::span<const void* const> buffers) {
    const std::scoped_lock lock(mutex_);
    ++jobs_;
    for (const void* b : buffers) ++uses_[b];
  }
  void end(std::span<const void* const> buffers) {
    const std::scoped_lock lock(mutex_);
    --jobs_;
    for (const void* b : buffers)
      if (--uses_[b] == 0) uses_.erase(b);
    changed_.notify_all();
  }
  void wait_until_unused(const void* buffer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !uses_.contains(buffer); });
  }
  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const void*, uint64_t> uses_;  // no entry: none
  uint64_t jobs_ = 0;
};

// Runs jobs one after the other on a thread of its own. `run` gives the commands to the device and
// returns when they have ended, also when it throws: what they use may be freed afterwards.
class Worker {
 public:
  explicit Worker(Uses& uses) : uses_(uses), thread_([this] { work(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {  // after all that was accepted
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  struct Job {
    std::vector<Point> waits, signals;
    std::vector<const void*> buffers;  // that it uses
    std::function<void()> run;
  };
  void accept(Job job) {
    uses_.begin(job.buffers);
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
  }

 private:
  void work() {
    for (;;) {
      Job job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      std::optional<Failure> failure;
      try {
        for (const Point& p : job.waits) p.timeline->wait(p.value, UINT64_MAX);
        job.run();
      } catch (...) {
        failure = current_failure();
      }
      uses_.end(job.buffers);  // before the signals: who waits for them finds the buffers unused
      for (const Point& p : job.signals) {
        if (failure)
          p.timeline->fail_with(failure->error());
        else
          fence([&] { p.timeline->signal(p.value); });
      }
    }
  }

  Uses& uses_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool closing_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// The entry queue_submit. `accept` gets what was submitted, copied and checked.
template <class Buffer, class Executable>
ost_status_t submit_commands(const ost_point_t* waits, uint32_t wait_count,
                             const ost_command_t* commands, uint32_t command_count,
                             const ost_point_t* signals, uint32_t signal_count, uint32_t align,
                             ost_error_t* error,
                             const std::function<void(std::vector<Command<Buffer, Executable>>,
                                                      Worker::Job)>& accept) noexcept {
  std::vector<Point> after;
  try {
    after = points_of(signals, signal_count);
    if (command_count > 0 && commands == nullptr) fail_rule(8, "commands are null");
    Worker::Job job{points_of(waits, wait_count), after, {}, {}};
    std::vector<Command<Buffer, Executable>> copied;
    for (uint32_t i = 0; i < command_count; ++i) {
      copied.push_back(copy_command<Buffer, Executable>(command_at(commands, i), align));
      for (const auto& ref : copied.back().refs) job.buffers.push_back(ref.buffer);
      for (const auto& listed : copied.back().listed)
        for (const auto& ref : listed.refs) job.buffers.push_back(ref.buffer);
    }
    accept(std::move(copied), std::move(job));
    return OST_OK;
  } catch (...) {
    const Failure why = current_failure();
    for (const Point& p : after) p.timeline->fail_with(why.error());
    return report(error, why.error());
  }
}

// The entries of timelines that queues share with their callers.
inline void timeline_entries(ost_driver_table_t& t) {
  t.timeline_create = [](ost_device_t* d, uint64_t initial, ost_timeline_t** out,
                         ost_error_t* e) noexcept {
    return fence(e, [&] {
      if (d == nullptr) fail_rule(11, "a handle is null");
      handle_of(std::make_unique<TimelinePtr>(std::make_shared<Timeline>(initial)), out);
    });
  };
  t.timeline_destroy = [](ost_timeline_t* l) noexcept { destroy<TimelinePtr>(l); };
  t.timeline_query = [](ost_timeline_t* l, uint64_t* out, ost_error_t* e) noexcept {
    return fence(e, [&] {
      *out = object<TimelinePtr>(l)->value();
      *out = object<TimelinePtr>(l)->query();
    });
  };
  t.timeline_signal = [](ost_timeline_t* l, uint64_t value, ost_error_t* e) noexcept {
    return fence(e, [&] { object<TimelinePtr>(l)->signal(value); });
  };
  t.timeline_wait = [](ost_timeline_t* l, uint64_t value, uint64_t timeout_ns,
                       ost_error_t* e) noexcept {
    return fence(e, [&] { object<TimelinePtr>(l)->wait(value, timeout_ns); });
  };
  t.timeline_fail = [](ost_timeline_t* l, const ost_error_t* why) noexcept {
    return fence(nullptr, [&] {
      check_size(why, "ost_error_t");
      object<TimelinePtr>(l)->fail_with(*why);
    });
  };
}

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_WORK_HPP_
