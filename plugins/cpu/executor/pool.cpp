#include "pool.hpp"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>

namespace ost_cpu {

namespace {

constexpr auto kSpin = std::chrono::microseconds(50);

void pin(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread, sizeof set, &set);  // a hint: the set may have shrunk since
}

// Signals of the application are for its own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Pool::Pool(unsigned threads, std::vector<int> cpus)
    : threads_(std::max(1u, threads)),
      cpus_(std::move(cpus)),
      pinned_(threads_ > 1 && cpus_.size() == threads_),
      process_(getpid()),
      scratch_(std::make_unique<Arena[]>(threads_)) {}

Pool::~Pool() {
  if (getpid() != process_) {
    for (auto& worker : workers_) worker.detach();  // they live in the parent
    return;
  }
  stop_.store(true);
  wake();
  for (auto& worker : workers_) worker.join();
}

void Pool::start() {
  const SignalsBlocked blocked;
  cpu_of_ = cpus_;
  workers_.reserve(threads_ - 1);
  for (unsigned i = 1; i < threads_; ++i) {
    workers_.emplace_back([this, i] { serve(i); });
    const pthread_t handle = workers_.back().native_handle();
    char name[16];
    std::snprintf(name, sizeof name, "ost-cpu-%u", i % 10000);
    pthread_setname_np(handle, name);
    if (pinned_) pin(handle, cpu_of_[i]);
  }
  started_.store(true, std::memory_order_release);
}

// A kernel may put a worker that it wakes on the waker's CPU and leave it there for milliseconds,
// so workers are pinned, and one that is pinned to where the caller runs now changes places with
// the caller's old CPU.
void Pool::make_room_for_caller() {
  if (!pinned_) return;
  const int here = sched_getcpu();
  if (here == cpu_of_[0]) return;
  for (unsigned i = 1; i < threads_; ++i) {
    if (cpu_of_[i] != here) continue;
    std::swap(cpu_of_[0], cpu_of_[i]);
    pin(workers_[i - 1].native_handle(), cpu_of_[i]);
    return;
  }
}

void Pool::wake() {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Pool::rouse() {
  if (threads_ == 1) return;
  const std::unique_lock lock(in_use_, std::try_to_lock);
  if (!lock || getpid() != process_) return;
  if (!workers_started()) start();
  if (sleepers_.load(std::memory_order_relaxed) == 0) return;
  make_room_for_caller();
  wake();
}

bool Pool::try_run(uint32_t n, Task task, void* context, uint64_t scratch_bytes) {
  const std::unique_lock lock(in_use_, std::try_to_lock);
  if (!lock || threads_ == 1) return false;
  if (!workers_started()) start();
  for (unsigned i = 1; i < threads_; ++i) scratch_[i].reserve(scratch_bytes);
  task_ = task;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t job = (ticket_.load(std::memory_order_relaxed) >> 48) + 1;
  ticket_.store(job << 48 | uint64_t{n} << 24, std::memory_order_release);
  if (sleepers_.load(std::memory_order_relaxed) > 0) make_room_for_caller();
  wake();
  drain(0);
  for (unsigned spins = 0; done_.load(std::memory_order_acquire) != n; ++spins) {
    // A worker that holds a task may have lost its CPU, perhaps to this loop.
    if (spins < 4096) {
      _mm_pause();
    } else {
      sched_yield();
    }
  }
  return true;
}

void Pool::drain(unsigned worker) {
  for (;;) {
    uint64_t t = ticket_.load(std::memory_order_relaxed);
    if ((t & kMask) >= (t >> 24 & kMask)) return;
    t = ticket_.fetch_add(1, std::memory_order_acquire);
    const uint64_t index = t & kMask;
    if (index >= (t >> 24 & kMask)) return;
    task_(context_, static_cast<uint32_t>(index), worker);
    done_.fetch_add(1, std::memory_order_release);
  }
}

// Until the epoch is another than `seen`. False: the pool is being destroyed.
bool Pool::wait_for_job(uint32_t& seen) {
  const auto until = std::chrono::steady_clock::now() + kSpin;
  for (unsigned spins = 1; epoch_.load(std::memory_order_acquire) == seen; ++spins) {
    _mm_pause();
    if (spins % 64 != 0 || std::chrono::steady_clock::now() < until) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (epoch_.load(std::memory_order_seq_cst) == seen) {
      syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }
  seen = epoch_.load(std::memory_order_acquire);
  return !stop_.load(std::memory_order_acquire);
}

void Pool::serve(unsigned worker) {
  _mm_setcsr(0x1f80);  // strict numerics, whatever the thread that started this one had
  uint32_t seen = 0;
  do {
    drain(worker);
  } while (wait_for_job(seen));
}

namespace {

// CPUs that the control group's quota is worth, rounded up; 0 without a quota.
unsigned quota() {
  long used = 0;
  long period = 0;
  FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  const int found = std::fscanf(file, "%ld %ld", &used, &period);
  std::fclose(file);
  return found == 2 && used > 0 && period > 0 ? static_cast<unsigned>((used + period - 1) / period)
                                              : 0;
}

}  // namespace

std::vector<int> usable_cpus(unsigned* limit) {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  const unsigned most = quota();
  *limit = static_cast<unsigned>(cpus.size());
  if (most > 0) *limit = std::min(*limit, most);
  return cpus;
}

}  // namespace ost_cpu
