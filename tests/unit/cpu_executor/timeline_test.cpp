// Timelines and what submits do with them: order, failure, timeouts, and two threads at a time.
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "cpu.hpp"

namespace ost_test {
namespace {

class Line {
 public:
  explicit Line(Cpu& cpu, uint64_t initial = 0) {
    EXPECT_OK(table().timeline_create(cpu.device, initial, &handle_, &error));
  }
  ~Line() { table().timeline_destroy(handle_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  ost_status_t query(uint64_t* value, Error* error = nullptr) {
    return table().timeline_query(handle_, value, error);
  }
  ost_status_t signal(uint64_t value, Error* error = nullptr) {
    return table().timeline_signal(handle_, value, error);
  }
  ost_status_t wait(uint64_t value, uint64_t ns = UINT64_MAX, Error* error = nullptr) {
    return table().timeline_wait(handle_, value, ns, error);
  }
  void fail(ost_status_t status, const char* message) {
    Error why;
    why.status = status;
    snprintf(why.message, sizeof why.message, "%s", message);
    EXPECT_EQ(OST_OK, table().timeline_fail(handle_, &why));
  }
  ost_point_t at(uint64_t value) { return {handle_, value}; }

 private:
  ost_timeline_t* handle_ = nullptr;
};

TEST(CpuTimeline, IsMonotonic) {
  Cpu cpu;
  Line line(cpu, 5);
  uint64_t value = 0;
  EXPECT_EQ(OST_OK, line.query(&value));
  EXPECT_EQ(5u, value);
  EXPECT_EQ(OST_OK, line.signal(7));
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT, line.signal(7, &error));
  EXPECT_EQ(7u, error.rule);
  EXPECT_EQ(OST_INVALID_ARGUMENT, line.signal(6));
  EXPECT_EQ(OST_OK, line.wait(7, 0));
  EXPECT_EQ(OST_TIMEOUT, line.wait(8, 0));
}

TEST(CpuTimeline, WaitsNoLongerThanAsked) {
  Cpu cpu;
  Line line(cpu);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(OST_TIMEOUT, line.wait(1, 20'000'000));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

TEST(CpuTimeline, CarriesTheFirstFailure) {
  Cpu cpu;
  Line line(cpu, 3);
  line.fail(OST_OUT_OF_MEMORY, "the first");
  line.fail(OST_INTERNAL, "the second");
  uint64_t value = 0;
  Error error;
  EXPECT_EQ(OST_OUT_OF_MEMORY, line.query(&value, &error));
  EXPECT_STREQ("the first", error.message);
  EXPECT_EQ(3u, value);
  EXPECT_EQ(OST_OUT_OF_MEMORY, line.signal(4));
  EXPECT_EQ(OST_OUT_OF_MEMORY, line.wait(4));
  EXPECT_EQ(OST_OK, line.wait(3)) << "what was reached stays reached";
}

TEST(CpuTimeline, WakesWaitersOfOtherThreads) {
  Cpu cpu;
  Line line(cpu);
  Line broken(cpu);
  std::thread reached([&] { EXPECT_EQ(OST_OK, line.wait(2)); });
  std::thread failed([&] { EXPECT_EQ(OST_CANCELLED, broken.wait(2)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(OST_OK, line.signal(1));
  EXPECT_EQ(OST_OK, line.signal(2));
  broken.fail(OST_CANCELLED, "stop");
  reached.join();
  failed.join();
}

TEST(CpuQueue, WaitsForAllThenSignalsAll) {
  Cpu cpu;
  Line a(cpu);
  Line b(cpu);
  Line done(cpu);
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 0;
  ost_executable_t* executable = cpu.load(kernel_image());
  const uint32_t step_entry = cpu.entry(executable, "step");
  std::thread worker([&] {
    const ost_point_t waits[] = {a.at(1), b.at(1)};
    const ost_point_t signal = done.at(9);
    const ost_command_t command = dispatch(executable, step_entry, {}, {});
    ost_command_t c = command;
    const int64_t var = 4;
    c.refs = &ref;
    c.ref_count = 1;
    c.vars = &var;
    c.var_count = 1;
    EXPECT_OK(table().queue_submit(cpu.queue, waits, 2, &c, 1, &signal, 1, &error));
  });
  EXPECT_EQ(OST_OK, a.signal(1));
  EXPECT_EQ(OST_TIMEOUT, done.wait(9, 2'000'000));
  *value = 10;
  EXPECT_EQ(OST_OK, b.signal(1));
  EXPECT_EQ(OST_OK, done.wait(9));
  EXPECT_EQ(34, *value);
  worker.join();
}

TEST(CpuQueue, FailsItsSignalsWhenAWaitFailed) {
  Cpu cpu;
  Line wait(cpu);
  Line signal(cpu);
  wait.fail(OST_IO_ERROR, "the disk");
  const ost_point_t w = wait.at(1);
  const ost_point_t s = signal.at(1);
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 1;
  ost_command_t fill = transfer(OST_CMD_FILL, {});
  fill.refs = &ref;
  fill.ref_count = 1;
  fill.fill_pattern_size = 8;
  Error error;
  EXPECT_EQ(OST_IO_ERROR, table().queue_submit(cpu.queue, &w, 1, &fill, 1, &s, 1, &error));
  EXPECT_STREQ("the disk", error.message);
  EXPECT_EQ(1, *value) << "nothing may run after a failed wait";
  Error seen;
  EXPECT_EQ(OST_IO_ERROR, signal.wait(1, UINT64_MAX, &seen));
  EXPECT_STREQ("the disk", seen.message);
}

TEST(CpuQueue, FailsItsSignalsWhenACommandIsRefused) {
  Cpu cpu;
  Line signal(cpu);
  const ost_point_t s = signal.at(1);
  const ost_command_t bad = transfer(OST_CMD_DISPATCH, {});
  EXPECT_EQ(OST_INVALID_ARGUMENT,
            table().queue_submit(cpu.queue, nullptr, 0, &bad, 1, &s, 1, nullptr));
  EXPECT_EQ(OST_INVALID_ARGUMENT, signal.wait(1));
}

// Two threads with a queue each, one device: both must be right, whoever has the pool.
TEST(CpuQueue, ServesTwoThreadsAtOnce) {
  Cpu cpu("threads", "3");
  ost_executable_t* executable = cpu.load(kernel_image());
  const uint32_t sum_entry = cpu.entry(executable, "two_phase_sum");
  constexpr int64_t kCount = 3000;
  std::atomic<int> wrong{0};
  struct Part {
    ost_queue_t* queue;
    ost_ref_t in, out;
    int64_t* sum;
  };
  std::vector<Part> parts(2);
  for (Part& p : parts) {
    EXPECT_OK(table().queue_create(cpu.device, &p.queue, &error));
    int64_t* in = cpu.buffer<int64_t>(kCount, p.in);
    std::iota(in, in + kCount, 0);
    p.sum = cpu.buffer<int64_t>(1, p.out);
  }
  ost_cmdlist_t* list =
      cpu.list({recorded(executable, sum_entry, 0, {slot(1), slot(2)}, {0, 1})}, 2, 2);
  const auto work = [&](Part& p) {
    for (int round = 0; round < 400; ++round) {
      *p.sum = -1;
      const std::vector<int64_t> vars{kCount - round, round % 3 == 0 ? 0 : 100000000};
      const std::vector<ost_ref_t> refs{p.in, p.out};
      // Every other time through one list that both threads use.
      const ost_command_t c =
          round % 2 ? dispatch(executable, sum_entry, refs, vars) : replay(list, refs, vars);
      if (table().queue_submit(p.queue, nullptr, 0, &c, 1, nullptr, 0, nullptr) != OST_OK) ++wrong;
      if (*p.sum != vars[0] * (vars[0] - 1) / 2) ++wrong;
    }
  };
  std::thread other([&] { work(parts[1]); });
  work(parts[0]);
  other.join();
  EXPECT_EQ(0, wrong);
  for (Part& p : parts) table().queue_destroy(p.queue);
}

}  // namespace
}  // namespace ost_test
