// The ref driver through its C table only, as any host would use it.
#include "core/runtime/ref_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/runtime/call.hpp"
#include "core/runtime/driver_entries.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::runtime {
namespace {

TEST(RefNegotiate, TakesTheVersionThatBothHave) {
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, 0x00010000, 0x0001ffff, 0};
  EXPECT_EQ(ref_negotiate(&in, &out), OST_OK);
  EXPECT_EQ(out.abi, OST_PLUGIN_ABI_VERSION);
  EXPECT_STREQ(out.name, "ref");
  ASSERT_NE(out.table, nullptr);
  EXPECT_EQ(ref_negotiate(&in, &out), OST_OK) << "it may be called several times";
}

TEST(RefNegotiate, SaysWhyThereIsNoVersion) {
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, 0x00050000, 0x00060000, 0};
  EXPECT_NE(ref_negotiate(&in, &out), OST_OK);
  EXPECT_EQ(out.abi, 0u);
  EXPECT_NE(std::string(out.reason).find("the host accepts ABI 5.0 to 6.0"), std::string::npos)
      << out.reason;
}

class RefTable : public testing::Test {
 protected:
  DevicePtr device = test::ref_device();
  Driver& driver = device->driver();
  kir::Kernel kernel = test::pointwise_kernel(kir::Op::neg);
  std::vector<uint8_t> code = kir::to_binary(kernel);

  CompileRequest request() { return {OST_FORM_KIR_L1, code, "neg", "kir", ""}; }
};

TEST_F(RefTable, TheImageIsTheKernelAndIsTheSameEachTime) {
  const auto a = driver.compile(request(), nullptr), b = driver.compile(request(), nullptr);
  ASSERT_OK(a);
  EXPECT_EQ(*a, *b);
  EXPECT_FALSE(std::ranges::search(*a, code).empty());
  EXPECT_EQ(driver.image_check(device->info(), *a)->fit, static_cast<ost_fit_t>(OST_FIT_OPTIMAL));
}

TEST_F(RefTable, RefusesWhatItCannotCompile) {
  CompileRequest wrong = request();
  wrong.form = OST_FORM_C99;
  EXPECT_ERROR(driver.compile(wrong, nullptr), "ref: compile: form 6");
  wrong = request();
  wrong.target = "sm_90";
  EXPECT_ERROR(driver.compile(wrong, nullptr), "unknown target \"sm_90\", wanted \"kir\"");
  wrong = request();
  wrong.options = "fast=1";
  EXPECT_ERROR(driver.compile(wrong, nullptr), "unknown options");
  for (size_t length = 0; length < code.size(); length += 5) {
    wrong = request();
    wrong.code = std::span(code).first(length);
    EXPECT_FALSE(driver.compile(wrong, nullptr)) << length << " bytes";
  }
  EXPECT_ERROR(driver.compiler_key("sm_90"), "unknown target");
}

TEST_F(RefTable, RefusesDamagedImages) {
  const auto image = *driver.compile(request(), nullptr);
  for (size_t length = 0; length < image.size(); ++length) {
    const std::span part(image.data(), length);
    EXPECT_FALSE(device->load(part, "", "neg")) << length << " bytes";
    EXPECT_EQ(driver.image_check(device->info(), part)->fit,
              static_cast<ost_fit_t>(OST_FIT_UNUSABLE));
  }
  EXPECT_ERROR(device->load(image, "", "abs"), "the image has no kernel abs, it has neg");
}

TEST_F(RefTable, RunsInACommandListWithOtherBuffersEachTime) {
  const auto image = *driver.compile(request(), nullptr);
  const auto executable = *device->load(image, "", "neg");
  const ost_ref_t recorded[] = {{nullptr, 0, 0, 1, 0}, {nullptr, 0, 0, 2, 0}};
  const uint32_t var_map[] = {1};
  ost_command_t dispatch{};
  dispatch.size = sizeof dispatch;
  dispatch.kind = OST_CMD_DISPATCH;
  dispatch.refs = recorded;
  dispatch.ref_count = 2;
  dispatch.var_count = 1;
  dispatch.var_map = var_map;
  dispatch.executable = executable->handle();
  dispatch.entry = executable->entry();
  const auto list = CommandList::create(device, {&dispatch, 1}, 2, 2);
  ASSERT_OK(list);
  const auto queue = *Queue::create(device);
  const auto timeline = *Timeline::create(device);
  for (uint64_t n = 1; n <= 3; ++n) {
    const std::vector<float> values(4 * n, static_cast<float>(n));
    const auto x = test::on_device(device, test::bytes_of_floats(values));
    const auto y = test::on_device(device, std::vector<uint8_t>(x.bytes));
    const ost_ref_t slots[] = {{x.buffer->handle(), 0, x.bytes, 0, 0},
                               {y.buffer->handle(), 0, y.bytes, 0, 0}};
    const int64_t vars[] = {99, static_cast<int64_t>(n)};
    ost_command_t call{};
    call.size = sizeof call;
    call.kind = OST_CMD_CMDLIST;
    call.cmdlist = (*list)->handle();
    call.refs = slots;
    call.ref_count = 2;
    call.vars = vars;
    call.var_count = 2;
    const ost_point_t done{timeline->handle(), n};
    ASSERT_OK(queue->submit({}, {&call, 1}, {&done, 1}));
    ASSERT_OK(timeline->wait(n));
    EXPECT_EQ(test::floats_of_bytes(test::from_device(y)),
              std::vector<float>(4 * n, -static_cast<float>(n)));
  }
}

TEST_F(RefTable, ATooSmallBufferFailsTheSubmitAndItsTimeline) {
  const auto executable = *device->load(*driver.compile(request(), nullptr), "", "neg");
  const auto x = test::on_device(device, std::vector<uint8_t>(16));
  const ost_ref_t refs[] = {{x.buffer->handle(), 0, 16, 0, 0}, {x.buffer->handle(), 0, 16, 0, 0}};
  const int64_t n = 2;  // needs 32 bytes
  ost_command_t dispatch{};
  dispatch.size = sizeof dispatch;
  dispatch.kind = OST_CMD_DISPATCH;
  dispatch.refs = refs;
  dispatch.ref_count = 2;
  dispatch.vars = &n;
  dispatch.var_count = 1;
  dispatch.executable = executable->handle();
  const auto queue = *Queue::create(device);
  const auto timeline = *Timeline::create(device);
  const ost_point_t done{timeline->handle(), 1};
  EXPECT_FALSE(queue->submit({}, {&dispatch, 1}, {&done, 1}));
  EXPECT_FALSE(timeline->wait(1)) << "whoever waits must hear of it";
  dispatch.ref_count = 1;
  EXPECT_ERROR(queue->submit({}, {&dispatch, 1}, {}),
               "dispatch with 1 buffers and 1 variables, the kernel has 2 and 1");
}

TEST(Buffer, KeepsToItsRange) {
  const auto device = test::ref_device();
  const uint64_t live = device->counters().live_bytes;
  {
    const auto buffer = *Buffer::allocate(device, 10);
    EXPECT_EQ(device->counters().live_bytes, live + 10);
    std::vector<uint8_t> data(10, 7);
    ASSERT_OK(buffer->write(0, data));
    EXPECT_ERROR(buffer->write(1, data), "10 bytes at 1 are outside a buffer of 10 bytes");
    EXPECT_ERROR(buffer->read(UINT64_MAX, data), "are outside a buffer");
    const auto mapped = buffer->map();
    ASSERT_OK(mapped);
    ASSERT_NE(*mapped, nullptr);
    EXPECT_EQ((*mapped)[9], 7);
    EXPECT_EQ(*buffer->map(), *mapped);
    const auto other = *Buffer::allocate(device, 10);
    ASSERT_OK(Buffer::copy(*other, 2, *buffer, 0, 8));
    ASSERT_OK(other->read(0, data));
    EXPECT_EQ(data[2], 7);
    EXPECT_ERROR(Buffer::copy(*other, 3, *buffer, 0, 8), "outside");
  }
  EXPECT_EQ(device->counters().live_bytes, live);
}

TEST(Buffer, ImportsMemoryOfTheCaller) {
  const auto device = test::ref_device();
  alignas(64) static uint8_t mine[64] = {1, 2, 3};
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = kept;
  {
    const auto buffer = Buffer::import_host(device, mine, sizeof mine, std::move(kept));
    ASSERT_OK(buffer);
    const uint8_t nine = 9;
    ASSERT_OK((*buffer)->write(1, {&nine, 1}));
    EXPECT_EQ(mine[1], 9);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_ERROR(Buffer::import_host(device, mine + 1, 8, nullptr), "not aligned");
}

TEST(Timeline, FailsItsWaitersAndTimesOut) {
  const auto device = test::ref_device();
  const auto timeline = *Timeline::create(device, 5);
  EXPECT_EQ(*timeline->query(), 5u);
  const auto late = timeline->wait(6, 1000);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().status, OST_TIMEOUT);
  ASSERT_OK(timeline->signal(6));
  ASSERT_OK(timeline->wait(6));
  ASSERT_OK(timeline->fail(Error{OST_CANCELLED, "somebody pulled the plug", 0, 0, 0}));
  const auto failed = timeline->wait(7);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, OST_CANCELLED);
  EXPECT_ERROR(failed, "somebody pulled the plug");
}

TEST(DriverTable, HolesSayTheirName) {
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, 0x00010000, OST_PLUGIN_ABI_VERSION, 0};
  ASSERT_EQ(ref_negotiate(&in, &out), OST_OK);
  ost_driver_table_t table = *out.table;
  table.profile_enable = nullptr;
  table.profile_drain = nullptr;
  table.get_extension = nullptr;
  const auto complete = complete_table(&table);
  ASSERT_OK(complete);
  EXPECT_FALSE(complete->has_profiling);
  EXPECT_TRUE(complete->has_command_lists);
  ost_error_t error{};
  error.size = sizeof error;
  EXPECT_EQ(complete->entries.profile_enable(nullptr, 1, &error),
            static_cast<ost_status_t>(OST_UNIMPLEMENTED));
  EXPECT_STREQ(error.message, "this driver has no profile_enable");
  EXPECT_EQ(error.rule, 3u);
  EXPECT_EQ(complete->entries.profile_drain(nullptr, nullptr, 0, nullptr, nullptr),
            static_cast<ost_status_t>(OST_UNIMPLEMENTED));
  EXPECT_EQ(complete->entries.get_extension(nullptr, {}, 0), nullptr);
  table.profile_enable = out.table->profile_enable;
  EXPECT_ERROR(complete_table(&table), "a part of profiling");
}

TEST(DriverTable, AMissingRequiredEntryIsNamed) {
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, 0x00010000, OST_PLUGIN_ABI_VERSION, 0};
  ASSERT_EQ(ref_negotiate(&in, &out), OST_OK);
#define REQ true
#define OPT false
#define X(entry, required)                                       \
  {                                                              \
    ost_driver_table_t table = *out.table;                       \
    table.entry = nullptr;                                       \
    const auto complete = complete_table(&table);                \
    if (required) {                                              \
      EXPECT_ERROR(complete, "lacks required entries: " #entry); \
    }                                                            \
  }
  OST_DRIVER_ENTRIES(X)
#undef X
#undef REQ
#undef OPT
  ost_driver_table_t shorter = *out.table;
  shorter.size = sizeof shorter - 8;
  EXPECT_ERROR(complete_table(&shorter), "the driver table is too short");
  EXPECT_ERROR(complete_table(nullptr), "no driver table");
}

}  // namespace
}  // namespace ost::runtime
