// The runtime half alone, by its driver table, with an image that no compiler of the plugin made: many
// threads, lists that are bound to many buffers, memory of every kind. It needs little enough to be
// built with each sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <ostinato/plugin.hpp>
#include <thread>

#include "plugins/levelzero/compiler/image.hpp"

namespace {

constexpr uint64_t kCount = 64, kBytes = kCount * sizeof(int64_t);

const ost_driver_table_t& table() {
  static const ost_driver_table_t* const found = [] {
    ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
    ost_negotiate_out_t out{};
    out.size = sizeof out;
    EXPECT_EQ(ost_plugin_negotiate(&in, &out), OST_OK);
    return out.table;
  }();
  return *found;
}

struct Error : ost_error_t {
  Error() : ost_error_t{} { size = sizeof(ost_error_t); }
};
#define CALL(call)                            \
  do {                                        \
    Error error_;                             \
    ost_error_t* const e = &error_;           \
    const ost_status_t status_ = (call);      \
    ASSERT_EQ(status_, OST_OK) << e->message; \
  } while (false)

const char* option(void*, const char*) { return nullptr; }

class Levelzero : public testing::Test {
 protected:
  void SetUp() override {
    static const ost_host_table_t host{
        sizeof host, OST_PLUGIN_ABI_VERSION, nullptr, nullptr, nullptr, option};
    CALL(table().driver_create(&host, &driver_, e));
    CALL(table().device_create(driver_, 0, &device_, e));
    CALL(table().queue_create(device_, &queue_, e));
    load();
  }
  void TearDown() override {
    table().executable_unload(executable_);
    table().queue_destroy(queue_);
    table().device_destroy(device_);
    table().driver_destroy(driver_);
  }

  void load() {
    ost_device_info_t info{};
    info.size = sizeof info;
    CALL(table().device_info(driver_, 0, &info, e));
    std::ifstream file(OST_LEVELZERO_ADD_SPV, std::ios::binary);
    const std::string code{std::istreambuf_iterator<char>(file), {}};
    levelzero::ImageHead head;
    head.target = info.target;
    head.entry = "add";
    head.params = 2;
    head.vars = 1;
    head.lanes = 16;
    const std::string image = levelzero::print_image(head, code);
    CALL(table().executable_load(device_, {image.data(), image.size()}, {nullptr, 0}, &executable_,
                                 e));
  }
  ost_dbuffer_t* buffer(uint32_t heap = 0, uint64_t bytes = kBytes) {
    ost_dbuffer_t* out = nullptr;
    Error error;
    EXPECT_EQ(table().buffer_alloc(device_, heap, bytes, 64, &out, &error), OST_OK)
        << error.message;
    return out;
  }
  void free(ost_dbuffer_t* b) { table().buffer_free(device_, b); }
  ost_timeline_t* timeline() {
    ost_timeline_t* out = nullptr;
    EXPECT_EQ(table().timeline_create(device_, 0, &out, nullptr), OST_OK);
    return out;
  }
  std::vector<int64_t> read(ost_dbuffer_t* b) {
    std::vector<int64_t> out(kCount);
    Error error;
    EXPECT_EQ(table().buffer_read(device_, b, 0, out.data(), kBytes, &error), OST_OK)
        << error.message;
    return out;
  }
  void write(ost_dbuffer_t* b, const std::vector<int64_t>& values) {
    CALL(table().buffer_write(device_, b, 0, values.data(), kBytes, e));
  }

  // refs: from, to
  ost_command_t dispatch(const ost_ref_t* refs) const {
    ost_command_t c{};
    c.size = sizeof c;
    c.kind = OST_CMD_DISPATCH;
    c.refs = refs;
    c.ref_count = 2;
    c.var_count = 1;
    c.executable = executable_;
    c.grid[0] = kCount;
    c.grid[1] = c.grid[2] = 1;
    c.group[0] = 16;
    c.group[1] = c.group[2] = 1;
    return c;
  }
  void submit(ost_queue_t* queue, const ost_command_t& c, ost_timeline_t* t, uint64_t value) {
    const ost_point_t point{t, value};
    CALL(table().queue_submit(queue, nullptr, 0, &c, 1, &point, 1, e));
  }
  void wait(ost_timeline_t* t, uint64_t value) {
    CALL(table().timeline_wait(t, value, UINT64_MAX, e));
  }

  ost_driver_t* driver_ = nullptr;
  ost_device_t* device_ = nullptr;
  ost_queue_t* queue_ = nullptr;
  ost_executable_t* executable_ = nullptr;
};

std::vector<int64_t> numbers(int64_t from) {
  std::vector<int64_t> out(kCount);
  std::iota(out.begin(), out.end(), from);
  return out;
}

// One kernel, whose arguments are its own state, from many queues at once.
TEST_F(Levelzero, ThreadsWithQueuesOfTheirOwnShareAKernel) {
  constexpr int kThreads = 6, kRounds = 12;
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&, n] {
      ost_queue_t* queue = nullptr;
      CALL(table().queue_create(device_, &queue, e));
      ost_timeline_t* t = timeline();
      ost_dbuffer_t *a = buffer(), *b = buffer();
      write(a, numbers(n));
      const ost_ref_t there[] = {{a, 0, kBytes, 0, 0}, {b, 0, kBytes, 0, 0}};
      const ost_ref_t back[] = {{b, 0, kBytes, 0, 0}, {a, 0, kBytes, 0, 0}};
      for (int round = 0; round < kRounds; ++round) {
        ost_command_t c = dispatch(round % 2 == 0 ? there : back);
        const int64_t k = 1000 + n;
        c.vars = &k;
        submit(queue, c, t, static_cast<uint64_t>(round) + 1);
      }
      wait(t, kRounds);
      EXPECT_EQ(read(a), numbers(n + int64_t{kRounds} * (1000 + n)));
      free(a), free(b);
      table().timeline_destroy(t);
      table().queue_destroy(queue);
    });
  for (std::thread& t : threads) t.join();
}

// More bindings than are kept, the first again, and the same address for other memory.
TEST_F(Levelzero, AListIsRecordedForEachBindingAndRunsWithItsOwn) {
  const ost_ref_t slots[] = {{nullptr, 0, 0, 1, 0}, {nullptr, 0, 0, 2, 0}};
  const uint32_t var_map[] = {0};
  ost_command_t c = dispatch(slots);
  c.var_map = var_map;
  ost_cmdlist_t* list = nullptr;
  CALL(table().cmdlist_create(device_, &c, 1, 2, 1, &list, e));
  ost_timeline_t* t = timeline();
  for (uint64_t round = 0; round < 30; ++round) {
    ost_dbuffer_t *a = buffer(), *b = buffer(round % 3 == 0 ? 1 : 0);
    write(a, numbers(static_cast<int64_t>(round)));
    for (uint64_t again = 0; again < 2; ++again) {
      const ost_ref_t bound[] = {{a, 0, kBytes, 0, 0}, {b, 0, kBytes, 0, 0}};
      const int64_t k = static_cast<int64_t>(round % 5);
      ost_command_t replay{};
      replay.size = sizeof replay;
      replay.kind = OST_CMD_CMDLIST;
      replay.refs = bound;
      replay.ref_count = 2;
      replay.vars = &k;
      replay.var_count = 1;
      replay.cmdlist = list;
      const ost_command_t twice[] = {replay, replay};  // one list two times in one submit
      const ost_point_t point{t, 2 * round + again + 1};
      CALL(table().queue_submit(queue_, nullptr, 0, twice, 2, &point, 1, e));
      wait(t, point.value);
      EXPECT_EQ(read(b), numbers(static_cast<int64_t>(round) + k)) << round;
    }
    free(a), free(b);
  }
  table().cmdlist_destroy(list);
  table().timeline_destroy(t);
}

TEST_F(Levelzero, TimesOfDispatchesLieInTheTimeOfTheirSubmit) {
  CALL(table().profile_enable(queue_, 1, e));
  ost_dbuffer_t* a = buffer(1);
  ost_timeline_t* t = timeline();
  const ost_ref_t refs[] = {{a, 0, kBytes, 0, 0}, {a, 0, kBytes, 0, 0}};
  const int64_t k = 1;
  const uint64_t before = ost::plugin::now_ns();
  for (uint64_t i = 1; i <= 70; ++i) {  // more than a pool of events has
    ost_command_t c = dispatch(refs);
    c.vars = &k;
    submit(queue_, c, t, i);
  }
  wait(t, 70);
  const uint64_t after = ost::plugin::now_ns();
  std::vector<ost_profile_record_t> records(100);
  for (auto& r : records) r.size = sizeof r;
  uint32_t count = 0;
  CALL(table().profile_drain(queue_, records.data(), 100, &count, e));
  ASSERT_EQ(count, 70u);
  constexpr uint64_t kSlack =
      1000;  // the rounding of ticks, and between the readings of the clocks
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_LE(records[i].start_ns, records[i].end_ns);
    EXPECT_GE(records[i].start_ns + kSlack * 1000, before);
    EXPECT_LE(records[i].end_ns, after + kSlack);
  }
  free(a);
  table().timeline_destroy(t);
}

// Small buffers come from one allocation, large ones and aligned ones from their own; all are apart.
TEST_F(Levelzero, BuffersOfEverySizeAreApart) {
  std::vector<ost_dbuffer_t*> buffers;
  for (uint32_t heap = 0; heap < 3; ++heap)
    for (uint64_t bytes : {uint64_t{8}, kBytes, uint64_t{255}, uint64_t{257}, uint64_t{65536},
                           uint64_t{65537}, uint64_t{3000000}})
      buffers.push_back(buffer(heap, std::max(bytes, kBytes)));
  for (size_t i = 0; i < buffers.size(); ++i)
    write(buffers[i], numbers(static_cast<int64_t>(i) * 1000));
  for (size_t i = 0; i < buffers.size(); ++i)
    EXPECT_EQ(read(buffers[i]), numbers(static_cast<int64_t>(i) * 1000)) << i;
  for (ost_dbuffer_t* b : buffers) free(b);
}

// --- a lost device, in a process of its own

// Fills until work fails because the device is lost.
bool fill_until_lost(ost_device_t* device) {
  ost_queue_t* queue = nullptr;
  ost_timeline_t* t = nullptr;
  ost_dbuffer_t* b = nullptr;
  if (table().queue_create(device, &queue, nullptr) != OST_OK) return true;
  table().timeline_create(device, 0, &t, nullptr);
  bool lost = table().buffer_alloc(device, 0, 64, 64, &b, nullptr) != OST_OK;
  const ost_ref_t ref{b, 0, 64, 0, 0};
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_FILL;
  c.refs = &ref;
  c.ref_count = 1;
  c.fill_pattern_size = 4;
  for (uint64_t i = 1; !lost && i < 200; ++i) {
    const ost_point_t point{t, i};
    table().queue_submit(queue, nullptr, 0, &c, 1, &point, 1, nullptr);
    lost = table().timeline_wait(t, i, UINT64_MAX, nullptr) == OST_DEVICE_LOST;
  }
  table().queue_destroy(queue);
  if (b != nullptr) table().buffer_free(device, b);
  table().timeline_destroy(t);
  return lost;
}

[[noreturn]] void lose_a_device() {
  setenv("OST_ZE_FAIL", "execute:20:0x70000001", 1);
  const ost_host_table_t host{sizeof host, OST_PLUGIN_ABI_VERSION, nullptr, nullptr, nullptr,
                              option};
  ost_driver_t* driver = nullptr;
  ost_device_t* device = nullptr;
  table().driver_create(&host, &driver, nullptr);
  table().device_create(driver, 0, &device, nullptr);
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] { lost += fill_until_lost(device) ? 1 : 0; });
  for (std::thread& t : threads) t.join();
  const bool stays = table().device_status(device, nullptr) == OST_DEVICE_LOST;
  table().device_destroy(device);
  table().driver_destroy(driver);
  std::exit(stays && lost == 4 ? 7 : 1);  // the test driver looks for what is left
}

TEST(LevelzeroDeathTest, ALossIsSeenByAllThreadsAndStays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_a_device(), testing::ExitedWithCode(7), "");
}

}  // namespace
