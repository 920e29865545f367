// Command lists: what they compute must be what their commands compute one by one, for any binding,
// variables, levels and number of threads.
#include <numeric>
#include <random>

#include "cpu.hpp"

namespace ost_test {
namespace {

struct CpuCommandList : testing::TestWithParam<const char*> {
  Cpu cpu{"threads", GetParam()};
  ost_executable_t* executable = cpu.load(kernel_image());
  uint32_t entry(const char* name) { return cpu.entry(executable, name); }
};
INSTANTIATE_TEST_SUITE_P(Threads, CpuCommandList, testing::Values("1", "2", "5"));

TEST_P(CpuCommandList, ReplaysWithOtherBuffersAndVariables) {
  ost_ref_t a;
  ost_ref_t b;
  ost_ref_t mid;
  int32_t* x = cpu.buffer<int32_t>(300, a);
  int32_t* y = cpu.buffer<int32_t>(300, b);
  cpu.buffer<int32_t>(300, mid);
  const uint32_t add = entry("add_one");
  ost_cmdlist_t* list = cpu.list({recorded(executable, add, 0, {slot(1), mid}, {0, 1}),
                                  recorded(executable, add, 1, {mid, slot(2, 40)}, {0, 1})},
                                 2, 2);
  for (const int64_t cost : {0, 1000000000}) {
    for (const int64_t n : {0, 5, 200, 17}) {
      std::iota(x, x + 300, 100);
      std::fill(y, y + 300, 0);
      EXPECT_OK(cpu.submit({replay(list, {a, b}, {n, cost})}, &error));
      for (int64_t i = 0; i < 300; ++i)
        ASSERT_EQ(i >= 10 && i - 10 < n ? i - 10 + 102 : 0, y[i]) << n << " at " << i;
      // The same list the other way round.
      EXPECT_OK(cpu.submit({replay(list, {b, a}, {n, cost})}, &error));
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i] + 2, x[i + 10]);
    }
  }
}

TEST_P(CpuCommandList, KeepsTheOrderOfLevels) {
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  const uint32_t step_entry = entry("step");
  std::vector<uint32_t> map{0};
  std::vector<ost_command_t> commands;
  const std::vector<ost_ref_t> refs{ref};
  int64_t wanted = 0;
  for (uint32_t level = 0; level < 30; ++level) {
    commands.push_back(recorded(executable, step_entry, level, refs, map));
    wanted = wanted * 3 + 5;
  }
  ost_cmdlist_t* list = cpu.list(commands, 0, 1);
  for (int round = 0; round < 3; ++round) {
    *value = 0;
    EXPECT_OK(cpu.submit({replay(list, {}, {5})}, &error));
    EXPECT_EQ(wanted, *value);
  }
}

TEST_P(CpuCommandList, CopiesAndFillsWhatIsBound) {
  ost_ref_t a;
  ost_ref_t b;
  char* x = cpu.buffer<char>(400000, a);
  char* y = cpu.buffer<char>(400000, b);
  ost_command_t fill = transfer(OST_CMD_FILL, {});
  const ost_ref_t whole = slot(1);
  fill.refs = &whole;
  fill.ref_count = 1;
  fill.fill_pattern = 0x2211;
  fill.fill_pattern_size = 2;
  ost_cmdlist_t* list = cpu.list({fill, transfer(OST_CMD_COPY, {slot(2), slot(1)}, 1)}, 2, 0);
  for (const uint64_t size : {0ull, 2ull, 70000ull, 400000ull}) {
    std::fill(x, x + 400000, 0);
    std::fill(y, y + 400000, 0);
    EXPECT_OK(cpu.submit({replay(list, {{a.buffer, 0, size, 0, 0}, {b.buffer, 0, size, 0, 0}}, {})},
                         &error));
    for (uint64_t i = 0; i < 400000; ++i)
      ASSERT_EQ(i < size ? 0x11 * static_cast<int>(i % 2 + 1) : 0, y[i]);
  }
  Error error;
  const std::vector<ost_ref_t> unlike{{a.buffer, 0, 8, 0, 0}, {b.buffer, 0, 6, 0, 0}};
  EXPECT_EQ(OST_INVALID_ARGUMENT, cpu.submit({replay(list, unlike, {})}, &error));
  EXPECT_EQ(8u, error.rule);
}

// Random programs: each level writes disjoint buffers from those of earlier levels.
TEST_P(CpuCommandList, EqualsItsCommandsOneByOne) {
  constexpr int64_t kCount = 2000;
  constexpr unsigned kBuffers = 12;
  std::mt19937 random(7);
  const uint32_t add = entry("add_one");
  std::vector<ost_ref_t> refs(kBuffers);
  std::vector<int32_t*> data;
  for (auto& ref : refs) data.push_back(cpu.buffer<int32_t>(kCount, ref));
  const auto reset = [&] {
    for (unsigned b = 0; b < kBuffers; ++b)
      std::iota(data[b], data[b] + kCount, static_cast<int>(b * 10000));
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<ost_ref_t>> used;
    std::vector<uint32_t> levels;
    for (uint32_t level = 0; level < 8; ++level) {
      // Reads from the first half and writes to the second, or the other way round.
      const unsigned half = level % 2 * kBuffers / 2;
      const size_t writes = 1 + random() % (kBuffers / 2);
      for (size_t w = 0; w < writes; ++w) {
        used.push_back({refs[kBuffers / 2 - half + random() % (kBuffers / 2)], refs[half + w]});
        levels.push_back(level);
      }
    }
    const std::vector<uint32_t> map{0, 1};
    const std::vector<int64_t> vars{static_cast<int64_t>(random() % kCount),
                                    random() % 2 ? 0 : 40000000};
    std::vector<ost_command_t> list_commands;
    std::vector<ost_command_t> single;
    for (size_t i = 0; i < used.size(); ++i) {
      list_commands.push_back(recorded(executable, add, levels[i], used[i], map));
      single.push_back(dispatch(executable, add, used[i], vars));
    }
    reset();
    EXPECT_OK(cpu.submit(single, &error));
    std::vector<std::vector<int32_t>> wanted;
    for (const int32_t* d : data) wanted.emplace_back(d, d + kCount);
    ost_cmdlist_t* list = cpu.list(list_commands, 0, 2);
    for (int repeat = 0; repeat < 3; ++repeat) {
      reset();
      EXPECT_OK(cpu.submit({replay(list, {}, vars)}, &error));
      for (unsigned b = 0; b < kBuffers; ++b)
        ASSERT_TRUE(std::equal(wanted[b].begin(), wanted[b].end(), data[b]));
    }
  }
}

TEST_P(CpuCommandList, GivesCommandsOfOneLevelTheirOwnSharedMemory) {
  constexpr int64_t kCount = 5000;
  const uint32_t sum_entry = entry("two_phase_sum");
  std::vector<std::vector<ost_ref_t>> refs(6, std::vector<ost_ref_t>(2));
  std::vector<int64_t*> sums;
  const std::vector<uint32_t> map{0, 1};
  std::vector<ost_command_t> commands;
  for (size_t i = 0; i < refs.size(); ++i) {
    int64_t* in = cpu.buffer<int64_t>(kCount, refs[i][0]);
    std::iota(in, in + kCount, static_cast<int64_t>(i) * 1000);
    sums.push_back(cpu.buffer<int64_t>(1, refs[i][1]));
    commands.push_back(recorded(executable, sum_entry, i < 4 ? 0 : 1, refs[i], map));
  }
  ost_cmdlist_t* list = cpu.list(commands, 0, 2);
  for (int round = 0; round < 100; ++round) {
    const int64_t n = round % 3 == 0 ? kCount : 777;
    EXPECT_OK(cpu.submit({replay(list, {}, {n, round % 2 ? 0 : 100000000})}, &error));
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(n * (n - 1) / 2 + n * static_cast<int64_t>(i) * 1000, *sums[i]) << i;
    }
  }
}

TEST_P(CpuCommandList, ProfilesItsDispatches) {
  ost_ref_t ref;
  *cpu.buffer<int64_t>(1, ref) = 0;
  ost_ref_t other;
  cpu.buffer<int64_t>(1, other);
  const uint32_t step_entry = entry("step");
  ost_cmdlist_t* list = cpu.list(
      {recorded(executable, step_entry, 0, {ref}, {0}), transfer(OST_CMD_COPY, {other, ref}, 1),
       recorded(executable, step_entry, 2, {ref}, {0})},
      0, 1);
  EXPECT_OK(table().profile_enable(cpu.queue, 1, &error));
  EXPECT_OK(cpu.submit({replay(list, {}, {4})}, &error));
  ost_profile_record_t records[4]{};
  records[0].size = sizeof *records;
  uint32_t count = 0;
  EXPECT_OK(table().profile_drain(cpu.queue, records, 4, &count, &error));
  ASSERT_EQ(2u, count);
  EXPECT_EQ(0u, records[0].command);
  EXPECT_EQ(2u, records[1].command);
  EXPECT_LE(records[0].end_ns, records[1].start_ns);
}

TEST_P(CpuCommandList, RefusesBrokenRecordingsAndBindings) {
  ost_ref_t ref;
  cpu.buffer<int64_t>(1, ref);
  const uint32_t step_entry = entry("step");
  const auto rule = [&](const ost_command_t& command) {
    ost_cmdlist_t* list = nullptr;
    Error error;
    EXPECT_EQ(OST_INVALID_ARGUMENT,
              table().cmdlist_create(cpu.device, &command, 1, 1, 1, &list, &error));
    EXPECT_EQ(nullptr, list);
    return error.rule;
  };
  EXPECT_EQ(8u, rule(recorded(executable, step_entry, 0, {slot(2)}, {0})));
  EXPECT_EQ(8u, rule(recorded(executable, step_entry, 0, {slot(1)}, {1})));
  EXPECT_EQ(8u, rule(recorded(executable, step_entry, 0, {slot(1, 8, UINT64_MAX)}, {0})));
  EXPECT_EQ(10u, rule(replay(nullptr, {}, {})));

  ost_cmdlist_t* list = cpu.list({recorded(executable, step_entry, 0, {slot(1, 8, 8)}, {0})}, 1, 1);
  const auto submit = [&](const ost_command_t& command) {
    Error error;
    EXPECT_EQ(OST_INVALID_ARGUMENT, cpu.submit({command}, &error));
    return std::string(error.message);
  };
  EXPECT_EQ("slot 1 needs 16 bytes, 8 were bound", submit(replay(list, {ref}, {0})));
  EXPECT_EQ("command list has 1 slots, 0 were bound", submit(replay(list, {}, {0})));
  EXPECT_EQ("command list has 1 variables, 0 were given", submit(replay(list, {ref}, {})));
}

TEST_P(CpuCommandList, FailsEachTimeIfItsPlanFails) {
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 1;
  ost_cmdlist_t* list = cpu.list({recorded(executable, entry("step"), 0, {ref}, {0}),
                                  recorded(executable, entry("impossible_plan"), 1, {}, {})},
                                 0, 1);
  for (int round = 0; round < 3; ++round) {
    Error error;
    EXPECT_EQ(OST_DATA_LOSS, cpu.submit({replay(list, {}, {5})}, &error));
    EXPECT_STRNE("", error.message);
  }
  EXPECT_EQ(1, *value);
}

TEST_P(CpuCommandList, OutlivesItsExecutable) {
  const std::string image = kernel_image();
  ost_executable_t* own = nullptr;
  EXPECT_OK(table().executable_load(cpu.device, {image.data(), image.size()}, {}, &own, &error));
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  ost_cmdlist_t* list = cpu.list({recorded(own, cpu.entry(own, "step"), 0, {ref}, {0})}, 0, 1);
  table().executable_unload(own);
  *value = 1;
  EXPECT_OK(cpu.submit({replay(list, {}, {1})}, &error));
  EXPECT_EQ(4, *value);
}

}  // namespace
}  // namespace ost_test
