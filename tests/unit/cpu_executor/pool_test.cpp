// The pool alone, so that ThreadSanitizer sees what tasks do.
#include "plugins/cpu/executor/pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace ost_cpu {
namespace {

std::vector<int> cpus() {
  unsigned limit = 0;
  return usable_cpus(&limit);
}

struct Counts {
  std::vector<int> by_task;  // plain: a task that runs twice or after the job is a race
  Pool* pool;
  static void task(void* context, uint32_t index, unsigned worker) {
    auto& counts = *static_cast<Counts*>(context);
    counts.by_task[index] += 1;
    if (worker > 0 && counts.pool->scratch(worker) != nullptr)
      counts.pool->scratch(worker)[7] = std::byte{1};
  }
};

class CpuPool : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, CpuPool, testing::Values(2u, 3u, 8u));

TEST_P(CpuPool, RunsEachTaskOnceAndEndsWithTheLast) {
  Pool pool(GetParam(), cpus());
  for (uint32_t round = 0; round < 3000; ++round) {
    const uint32_t n = round % 37;
    Counts counts{std::vector<int>(n), &pool};
    ASSERT_TRUE(pool.try_run(n, Counts::task, &counts, round % 5 == 0 ? 64 + round : 0));
    for (const int count : counts.by_task) ASSERT_EQ(1, count);
    if (round % 500 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // let the workers sleep
  }
}

TEST_P(CpuPool, HandsResultsOver) {
  Pool pool(GetParam(), cpus());
  struct Sums {
    std::vector<long> part;
    static void task(void* context, uint32_t i, unsigned) {
      static_cast<Sums*>(context)->part[i] += i;
    }
  } sums{std::vector<long>(100)};
  for (int round = 1; round <= 1000; ++round) {
    ASSERT_TRUE(pool.try_run(100, Sums::task, &sums, 0));
    ASSERT_EQ(round * 4950L, std::accumulate(sums.part.begin(), sums.part.end(), 0L));
  }
}

TEST_P(CpuPool, IsRefusedWhileAnotherThreadUsesIt) {
  Pool pool(GetParam(), cpus());
  std::atomic<int> inside{0};
  std::atomic<long> done{0};
  struct Context {
    std::atomic<int>* inside;
    std::atomic<long>* done;
  } context{&inside, &done};
  const auto task = [](void* c, uint32_t, unsigned) {
    static_cast<Context*>(c)->done->fetch_add(1);
  };
  std::atomic<long> ran{0};
  const auto caller = [&] {
    for (int i = 0; i < 2000; ++i) {
      if (pool.try_run(8, task, &context, 0)) ran += 8;
    }
  };
  std::thread a(caller);
  std::thread b(caller);
  caller();
  a.join();
  b.join();
  EXPECT_EQ(ran, done);
  EXPECT_GT(ran, 0);
}

TEST(CpuPoolSleep, WakesAndRouses) {
  if (cpus().size() < 2)
    GTEST_SKIP() << "needs two CPUs: a worker that spins must be seen from outside";
  Pool pool(2, cpus());
  EXPECT_FALSE(pool.awake());
  pool.rouse();
  Counts counts{std::vector<int>(50), &pool};
  ASSERT_TRUE(pool.try_run(50, Counts::task, &counts, 0));
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pool.awake() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_FALSE(pool.awake()) << "workers must sleep when there is nothing to do";
  while (!pool.awake() && std::chrono::steady_clock::now() < patience) pool.rouse();
  EXPECT_TRUE(pool.awake());
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a program with threads
TEST(CpuPoolFork, WorksAndEndsInTheChild) {
  Pool* pool = new Pool(3, cpus());
  Counts counts{std::vector<int>(50), pool};
  ASSERT_TRUE(pool->try_run(50, Counts::task, &counts, 0));
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a hang is a failure
    Counts again{std::vector<int>(50), pool};
    const bool ran = pool->try_run(50, Counts::task, &again, 0);
    delete pool;
    bool right = ran;
    for (const int count : again.by_task) right = right && count == 1;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  delete pool;
}
#endif

}  // namespace
}  // namespace ost_cpu
