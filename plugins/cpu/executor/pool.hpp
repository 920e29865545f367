// A fork-join pool. The caller works too and waits for tasks that were claimed, not for workers, so
// a worker that sleeps costs its wake-up and nothing else. Workers spin for 50 us after a job, then
// sleep on a futex.
//
// Threads start with the first job. After a fork the child has none of them and runs its jobs
// alone.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory.hpp"

namespace ost_cpu {

class Pool {
 public:
  // `worker` is 0 for the caller, else 1 .. threads-1.
  using Task = void (*)(void* context, uint32_t index, unsigned worker);

  // `cpus`: where the threads may run; pinned if there is one for each thread.
  Pool(unsigned threads, std::vector<int> cpus);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  unsigned threads() const { return threads_; }
  // True if a job would start at once on most threads.
  bool awake() const {
    return workers_started() && sleepers_.load(std::memory_order_relaxed) <= (threads_ - 1) / 2;
  }
  // Wakes the workers for jobs that follow soon.
  void rouse();

  // Runs task(context, i, worker) for i in [0, n), n < 2^24, each once, in any order. False if
  // another thread is using the pool: the caller then does the work itself.
  bool try_run(uint32_t n, Task task, void* context, uint64_t scratch_bytes);
  // Scratch memory of a worker (not of the caller, 0) while its task runs; at least what try_run
  // asked for.
  std::byte* scratch(unsigned worker) const { return scratch_[worker].data(); }

 private:
  bool workers_started() const { return started_.load(std::memory_order_acquire); }
  void start();
  void serve(unsigned worker);
  void drain(unsigned worker);
  bool wait_for_job(uint32_t& seen);
  void wake();
  void make_room_for_caller();

  static constexpr uint64_t kMask = (1u << 24) - 1;

  // [job:16][n:24][next:24]. Whoever increments `next` from below n owns that task, and while a
  // task is owned its job cannot end, so task_ and context_ belong to it. A late worker therefore
  // never touches the wrong job.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};  // the futex: changes with every job
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> started_{false};
  alignas(64) std::atomic<uint32_t> done_{0};
  Task task_ = nullptr;
  void* context_ = nullptr;

  const unsigned threads_;
  const std::vector<int> cpus_;
  const bool pinned_;
  const pid_t process_;
  std::mutex in_use_;
  std::vector<int> cpu_of_;  // by thread; [0] is the one left to the caller
  std::unique_ptr<Arena[]> scratch_;
  std::vector<std::thread> workers_;
};

// The CPUs that this process may use, in order; limited by the CPU quota of its control group in
// `*limit`.
std::vector<int> usable_cpus(unsigned* limit);

}  // namespace ost_cpu
