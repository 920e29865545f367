// The table that sync_table.hpp makes: fences, device loss, the plain command list, growing
// structs.
#include <gtest/gtest.h>

#include <cstring>

#include "fake_driver.hpp"

namespace ost_test {
namespace {

struct Error : ost_error_t {
  Error() : ost_error_t{} { size = sizeof(ost_error_t); }
};

struct SyncTable : testing::Test {
  const ost_driver_table_t& t = *sdk::sync_table<FakeDriver>();
  ost_host_table_t host{};
  ost_driver_t* driver = nullptr;
  ost_device_t* device = nullptr;
  ost_queue_t* queue = nullptr;
  ost_executable_t* executable = nullptr;
  ost_dbuffer_t* buffer = nullptr;
  int64_t* value = nullptr;
  ost_ref_t ref{};

  SyncTable() {
    host.size = sizeof host;
    EXPECT_EQ(OST_OK, t.driver_create(&host, &driver, nullptr));
    EXPECT_EQ(OST_OK, t.device_create(driver, 0, &device, nullptr));
    EXPECT_EQ(OST_OK, t.queue_create(device, &queue, nullptr));
    EXPECT_EQ(OST_OK, t.executable_load(device, {}, {}, &executable, nullptr));
    EXPECT_EQ(OST_OK, t.buffer_alloc(device, 0, 24, 0, &buffer, nullptr));
    void* pointer = nullptr;
    EXPECT_EQ(OST_OK, t.buffer_map(buffer, 0, 24, &pointer, nullptr));
    value = static_cast<int64_t*>(pointer);
    std::memset(value, 0, 24);
    ref = {buffer, 0, 24, 0, 0};
  }
  ~SyncTable() override {
    t.buffer_free(device, buffer);
    t.executable_unload(executable);
    t.queue_destroy(queue);
    t.device_destroy(device);
    t.driver_destroy(driver);
  }

  ost_command_t dispatch(uint32_t entry, const int64_t* vars = nullptr, uint32_t var_count = 0) {
    ost_command_t c{};
    c.size = sizeof c;
    c.kind = OST_CMD_DISPATCH;
    c.refs = &ref;
    c.ref_count = 1;
    c.vars = vars;
    c.var_count = var_count;
    c.executable = executable;
    c.entry = entry;
    return c;
  }
  ost_status_t submit(const ost_command_t& c, ost_error_t* error = nullptr) {
    return t.queue_submit(queue, nullptr, 0, &c, 1, nullptr, 0, error);
  }
};

TEST_F(SyncTable, HasEveryEntry) {
  const auto* entries = reinterpret_cast<void* const*>(&t.driver_create);
  const size_t count = (sizeof t - offsetof(ost_driver_table_t, driver_create)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) EXPECT_NE(nullptr, entries[i]) << i;
}

TEST_F(SyncTable, TurnsWhateverIsThrownIntoAnError) {
  Error error;
  EXPECT_EQ(OST_INTERNAL, submit(dispatch(kThrowInt), &error));
  EXPECT_STREQ("an unknown exception was thrown", error.message);
  EXPECT_EQ(OST_INTERNAL, submit(dispatch(kThrowStd), &error));
  EXPECT_STREQ("told so", error.message);
  EXPECT_EQ(OST_OUT_OF_MEMORY, submit(dispatch(kNoMemory), &error));
  EXPECT_EQ(OST_INTERNAL, submit(dispatch(kThrowStd))) << "no error struct is needed";
}

TEST_F(SyncTable, ReportsADriverThatCannotBeMade) {
  host.option = [](void*, const char* name) {
    return std::strcmp(name, "broken") == 0 ? "yes" : nullptr;
  };
  ost_driver_t* other = nullptr;
  Error error;
  EXPECT_EQ(OST_INTERNAL, t.driver_create(&host, &other, &error));
  EXPECT_STREQ("the option says so", error.message);
  EXPECT_EQ(nullptr, other);
}

TEST_F(SyncTable, RemembersThatADeviceWasLost) {
  EXPECT_EQ(OST_OK, t.device_status(device, nullptr));
  Error error;
  EXPECT_EQ(OST_DEVICE_LOST, submit(dispatch(kLose), &error));
  EXPECT_STREQ("fell off the bus", error.message);
  EXPECT_EQ(-5, error.native_code);
  EXPECT_TRUE((error.flags & OST_ERROR_FLAG_DEVICE_LOST) != 0);
  const int64_t one = 1;
  EXPECT_EQ(OST_DEVICE_LOST, submit(dispatch(kAdd, &one, 1), &error));
  EXPECT_EQ(0, *value) << "nothing runs on a lost device";
  EXPECT_EQ(OST_DEVICE_LOST, t.device_status(device, nullptr));
  ost_dbuffer_t* more = nullptr;
  EXPECT_EQ(OST_DEVICE_LOST, t.buffer_alloc(device, 0, 8, 0, &more, nullptr));
  // Another device of the same driver works.
  ost_device_t* fresh = nullptr;
  EXPECT_EQ(OST_OK, t.device_create(driver, 0, &fresh, nullptr));
  EXPECT_EQ(OST_OK, t.device_status(fresh, nullptr));
  t.device_destroy(fresh);
}

TEST_F(SyncTable, StepsThroughCommandsOfAnySize) {
  // What a host with a later minor version would pass: a known tail of zeros.
  struct Longer {
    ost_command_t command;
    uint64_t later;
  };
  const int64_t vars[] = {3, 4};
  Longer commands[2] = {{dispatch(kAdd, &vars[0], 1), 0}, {dispatch(kAdd, &vars[1], 1), 0}};
  for (Longer& c : commands) c.command.size = sizeof c;
  EXPECT_EQ(OST_OK,
            t.queue_submit(queue, nullptr, 0, &commands[0].command, 2, nullptr, 0, nullptr));
  EXPECT_EQ(34, *value);
  commands[1].later = 1;
  Error error;
  EXPECT_EQ(OST_INCOMPATIBLE,
            t.queue_submit(queue, nullptr, 0, &commands[0].command, 2, nullptr, 0, &error));
  EXPECT_EQ(2u, error.rule);
}

TEST_F(SyncTable, TakesGridsFromVariablesInAList) {
  ost_command_t c = dispatch(kGrid);
  c.grid[0] = 7;
  c.grid[1] = 8;
  c.grid_var[1] = 2;
  ost_cmdlist_t* list = nullptr;
  EXPECT_EQ(OST_OK, t.cmdlist_create(device, &c, 1, 0, 2, &list, nullptr));
  ost_command_t run{};
  run.size = sizeof run;
  run.kind = OST_CMD_CMDLIST;
  run.cmdlist = list;
  const int64_t vars[] = {50, 60};
  run.vars = vars;
  run.var_count = 2;
  EXPECT_EQ(OST_OK, submit(run));
  EXPECT_EQ(7, value[0]);
  EXPECT_EQ(60, value[1]);
  EXPECT_EQ(0, value[2]);
  t.cmdlist_destroy(list);
  c.grid_var[1] = 3;
  EXPECT_EQ(OST_INVALID_ARGUMENT, t.cmdlist_create(device, &c, 1, 0, 2, &list, nullptr));
}

TEST_F(SyncTable, CompilesAndChecksWithoutADevice) {
  std::string out;
  const ost_sink_t sink{&out, [](void* to, const void* data, uint64_t size) {
                          static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                                                size);
                        }};
  ost_compile_t job{};
  job.size = sizeof job;
  job.image = sink;
  EXPECT_EQ(OST_OK, t.compile(driver, &job, nullptr));
  EXPECT_EQ("image", out);
  ost_device_info_t info{};
  info.size = sizeof info;
  ost_fit_t fit = 9;
  EXPECT_EQ(OST_OK, t.image_check(driver, &info, {out.data(), out.size()}, &fit, {}, nullptr));
  EXPECT_EQ(OST_FIT_OPTIMAL, fit);
  out.clear();
  EXPECT_EQ(OST_OK, t.compiler_key(driver, {"x", 1}, sink, nullptr));
  EXPECT_EQ("fake/x", out);
  out.clear();
  EXPECT_EQ(OST_OK, t.image_check(driver, &info, {}, &fit, sink, nullptr));
  EXPECT_EQ(OST_FIT_UNUSABLE, fit);
  EXPECT_EQ("not 5 bytes", out);
}

}  // namespace
}  // namespace ost_test
