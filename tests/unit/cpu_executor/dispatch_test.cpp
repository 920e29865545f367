// Single commands: kernels, copies, fills, what is refused, numerics of the calling thread,
// profiling.
#include <xmmintrin.h>

#include <numeric>
#include <set>

#include "cpu.hpp"

namespace ost_test {
namespace {

constexpr int64_t kCheap = 0;
constexpr int64_t kCostly = 1000000000;  // worth all threads

struct WithKernels : testing::TestWithParam<const char*> {
  Cpu cpu{"threads", GetParam()};
  ost_executable_t* executable = cpu.load(kernel_image());
  uint32_t entry(const char* name) { return cpu.entry(executable, name); }
};
using CpuDispatch = WithKernels;
INSTANTIATE_TEST_SUITE_P(Threads, CpuDispatch, testing::Values("1", "2", "5"));

TEST_P(CpuDispatch, RunsEveryTaskOnce) {
  for (const int64_t cost : {kCheap, kCostly}) {
    for (const int64_t n : {0, 1, 16, 17, 1000, 100003}) {
      ost_ref_t in;
      ost_ref_t out;
      int32_t* from = cpu.buffer<int32_t>(static_cast<size_t>(n), in);
      int32_t* to = cpu.buffer<int32_t>(static_cast<size_t>(n), out);
      std::iota(from, from + n, 0);
      std::fill(to, to + n, -1);
      EXPECT_OK(cpu.submit({dispatch(executable, entry("add_one"), {in, out}, {n, cost})}, &error));
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(i + 1, to[i]) << n;
    }
  }
}

TEST_P(CpuDispatch, FinishesAPhaseBeforeTheNext) {
  constexpr int64_t kCount = 10007;
  ost_ref_t in;
  ost_ref_t out;
  int64_t* from = cpu.buffer<int64_t>(kCount, in);
  int64_t* sum = cpu.buffer<int64_t>(1, out);
  std::iota(from, from + kCount, 0);
  for (int round = 0; round < 200; ++round) {
    for (const int64_t cost : {kCheap, kCostly}) {
      *sum = -1;
      EXPECT_OK(cpu.submit(
          {dispatch(executable, entry("two_phase_sum"), {in, out}, {kCount, cost})}, &error));
      ASSERT_EQ(kCount * (kCount - 1) / 2, *sum);
    }
  }
}

TEST_P(CpuDispatch, RunsCommandsInOrder) {
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 0;
  const uint32_t step_entry = entry("step");
  EXPECT_OK(cpu.submit(
      {dispatch(executable, step_entry, {ref}, {1}), dispatch(executable, step_entry, {ref}, {2}),
       dispatch(executable, step_entry, {ref}, {3})},
      &error));
  EXPECT_EQ((1 * 3 + 2) * 3 + 3, *value);
}

TEST_P(CpuDispatch, GivesKernelsStrictFloatsAndTheCallerItsOwn) {
  constexpr int64_t kTasks = 4096;
  ost_ref_t ref;
  uint32_t* words = cpu.buffer<uint32_t>(kTasks, ref);
  const unsigned before = _mm_getcsr();
  const unsigned odd = 0x1f80 | 0x8040 | 0x6000;  // FTZ, DAZ, toward zero
  for (const int64_t cost : {kCheap, kCostly}) {
    std::fill(words, words + kTasks, 0);
    _mm_setcsr(odd);
    const ost_status_t status =
        cpu.submit({dispatch(executable, entry("control_word"), {ref}, {kTasks, cost})});
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(OST_OK, status);
    EXPECT_EQ(odd & 0xffc0, after & 0xffc0);
    for (int64_t i = 0; i < kTasks; ++i) ASSERT_EQ(0x1f80u, words[i] & 0xffc0) << i;
  }
}

TEST_P(CpuDispatch, UsesAllItsThreads) {
  if (std::string(GetParam()) == "1") return;
  const int64_t threads = std::stoi(GetParam());
  ost_ref_t here_ref;
  ost_ref_t met_ref;
  int64_t* here = cpu.buffer<int64_t>(1, here_ref);
  int64_t* met = cpu.buffer<int64_t>(1, met_ref);
  *here = *met = 0;
  // 20 s in cycles: on a busy machine a thread may take long to come, but come it must.
  const std::vector<int64_t> vars{threads, 60000000000, kCostly};
  EXPECT_OK(cpu.submit({dispatch(executable, entry("meet"), {here_ref, met_ref}, vars)}, &error));
  EXPECT_EQ(threads, *met);
}

TEST_P(CpuDispatch, CopiesAndFills) {
  ost_ref_t a;
  ost_ref_t b;
  char* x = cpu.buffer<char>(24, a);
  char* y = cpu.buffer<char>(24, b);
  for (const uint32_t size : {1u, 2u, 4u, 8u}) {
    ost_command_t fill = transfer(OST_CMD_FILL, {});
    fill.refs = &a;
    fill.ref_count = 1;
    fill.fill_pattern = 0x8877665544332211;
    fill.fill_pattern_size = size;
    EXPECT_OK(cpu.submit({fill, transfer(OST_CMD_COPY, {b, a})}, &error));
    for (uint32_t i = 0; i < 24; ++i)
      ASSERT_EQ(static_cast<char>(0x11 * (i % size + 1)), y[i]) << size;
    EXPECT_EQ(0, memcmp(x, y, 24));
  }
}

TEST_P(CpuDispatch, RefusesBrokenCommands) {
  ost_ref_t ref;
  cpu.buffer<int64_t>(4, ref);
  ost_ref_t beyond = ref;
  beyond.offset = 8;
  const auto rule = [&](const ost_command_t& command, ost_status_t wanted = OST_INVALID_ARGUMENT) {
    Error error;
    EXPECT_EQ(wanted, cpu.submit({command}, &error)) << error.message;
    EXPECT_STRNE("", error.message);
    return error.rule;
  };
  EXPECT_EQ(1u, rule(transfer(77, {})));
  EXPECT_EQ(8u, rule(transfer(OST_CMD_COPY, {ref})));
  EXPECT_EQ(8u, rule(transfer(OST_CMD_COPY, {ref, beyond})));
  EXPECT_EQ(8u, rule(transfer(OST_CMD_COPY, {ref, {ref.buffer, 0, 8, 0, 0}})));
  EXPECT_EQ(8u, rule(transfer(OST_CMD_COPY, {ref, slot(1)})));
  EXPECT_EQ(11u, rule(transfer(OST_CMD_COPY, {ref, {nullptr, 0, 32, 0, 0}})));
  EXPECT_EQ(8u, rule(transfer(OST_CMD_FILL, {ref})));
  EXPECT_EQ(11u, rule(transfer(OST_CMD_DISPATCH, {ref})));
  EXPECT_EQ(11u, rule(transfer(OST_CMD_CMDLIST, {ref})));
  EXPECT_EQ(0u, rule(dispatch(executable, 1000, {}, {})));
  EXPECT_EQ(0u, rule(dispatch(executable, entry("impossible_plan"), {}, {}), OST_DATA_LOSS));
  ost_command_t shorter = transfer(OST_CMD_COPY, {});
  shorter.size = 8;
  EXPECT_EQ(2u, rule(shorter));
}

TEST_P(CpuDispatch, KeepsTimesOfDispatches) {
  ost_ref_t ref;
  *cpu.buffer<int64_t>(1, ref) = 0;
  const ost_command_t one = dispatch(executable, entry("step"), {}, {});
  ost_command_t kernel = one;
  const int64_t var = 1;
  kernel.refs = &ref;
  kernel.ref_count = 1;
  kernel.vars = &var;
  kernel.var_count = 1;
  ost_command_t fill = kernel;
  fill.kind = OST_CMD_FILL;
  fill.fill_pattern_size = 8;
  EXPECT_OK(cpu.submit({kernel}, &error));  // not enabled yet
  EXPECT_OK(table().profile_enable(cpu.queue, 1, &error));
  EXPECT_OK(cpu.submit({fill, kernel, kernel}, &error));
  EXPECT_OK(table().profile_enable(cpu.queue, 0, &error));
  EXPECT_OK(cpu.submit({kernel}, &error));
  ost_profile_record_t records[8]{};
  records[0].size = sizeof *records;
  uint32_t count = 0;
  EXPECT_OK(table().profile_drain(cpu.queue, records, 1, &count, &error));
  ASSERT_EQ(1u, count);
  EXPECT_EQ(1u, records[0].command);
  EXPECT_OK(table().profile_drain(cpu.queue, records, 8, &count, &error));
  ASSERT_EQ(1u, count);
  EXPECT_EQ(2u, records[0].command);
  EXPECT_LE(records[0].start_ns, records[0].end_ns);
  EXPECT_OK(table().profile_drain(cpu.queue, records, 8, &count, &error));
  EXPECT_EQ(0u, count);
}

}  // namespace
}  // namespace ost_test
