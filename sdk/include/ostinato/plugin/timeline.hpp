// A timeline for devices whose work is done by host threads: a monotonic counter that can fail, for
// any number of threads. Waiting for a value that was reached succeeds even if the timeline failed
// later; everything else on a failed timeline returns its failure, and the first failure stays.
#ifndef OSTINATO_PLUGIN_TIMELINE_HPP_
#define OSTINATO_PLUGIN_TIMELINE_HPP_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "error.hpp"

namespace ost::plugin {

class Timeline {
 public:
  explicit Timeline(uint64_t initial) : value_(initial) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // The value reached, also for a failed timeline.
  uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

  // Throws the failure of a failed timeline.
  uint64_t query() const {
    const std::scoped_lock lock(mutex_);
    if (failure_) throw *failure_;
    return value_.load(std::memory_order_relaxed);
  }

  void signal(uint64_t value) {
    const std::scoped_lock lock(mutex_);
    if (failure_) throw *failure_;
    const uint64_t now = value_.load(std::memory_order_relaxed);
    if (value <= now)
      fail_rule(7, "timeline signalled with ", value, ", which is not above its value ", now);
    value_.store(value, std::memory_order_release);
    if (waiters_ > 0) changed_.notify_all();
  }

  // UINT64_MAX: no limit; 0: only looks.
  void wait(uint64_t value, uint64_t timeout_ns) {
    if (this->value() >= value) return;
    std::unique_lock lock(mutex_);
    const auto over = [&] { return failure_ || value_.load(std::memory_order_relaxed) >= value; };
    ++waiters_;
    if (timeout_ns > kLongest) {
      changed_.wait(lock, over);
    } else {
      changed_.wait_until(
          lock, std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns), over);
    }
    --waiters_;
    const uint64_t now = value_.load(std::memory_order_relaxed);
    if (now >= value) return;
    if (failure_) throw *failure_;
    fail(OST_TIMEOUT, "timeline is at ", now, " and did not reach ", value, " in ", timeout_ns,
         " ns");
  }

  void fail_with(const ost_error_t& why) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_.emplace(why);
    changed_.notify_all();
  }

 private:
  static constexpr uint64_t kLongest =
      365ull * 24 * 3600 * 1000000000ull;  // longer is for ever: no overflow

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint64_t> value_;  // written under the mutex, read without
  uint32_t waiters_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_TIMELINE_HPP_
