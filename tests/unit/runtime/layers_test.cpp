// The layers over `ref`: what validate must find and must not, what trace writes, how fault strikes.
#include "core/runtime/layers/layers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <set>
#include <thread>

#include "core/runtime/call.hpp"
#include "core/runtime/instance.hpp"
#include "tests/unit/runtime/changed_ref.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::runtime {
namespace {

using test::ScopedEnv;

DevicePtr open_ref(DeviceRegistry& registry) {
  OpenOptions options;
  options.self_test = false;
  auto device = registry.get("ref:0", options);
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return device ? *device : nullptr;
}

// A whole life: program built, run twice, results read, everything gone.
Result<std::vector<uint8_t>> live_once() {
  const auto registry = test::ref_only();
  OpenOptions options;
  options.self_test = false;
  OST_TRY_ASSIGN(const DevicePtr device, registry->get("ref:0", options));
  Compiler compiler{std::make_shared<CompileCache>("")};
  OST_TRY_ASSIGN(
      const auto instance,
      Instance::create(std::make_shared<const Program>(test::scaled_relu()), {device}, compiler));
  const int64_t n = 3;
  std::vector<uint8_t> x(48, 0x3f), y(48, 0);
  OST_TRY_ASSIGN(const BufferPtr in, Buffer::allocate(device, x.size()));
  OST_TRY_ASSIGN(const BufferPtr out, Buffer::allocate(device, y.size()));
  OST_TRY(in->write(0, x));
  const BufferRef a{in, 0, x.size()}, b{out, 0, y.size()};
  for (int i = 0; i < 2; ++i) OST_TRY(instance->run({&a, 1}, {&b, 1}, {&n, 1}));
  OST_TRY(out->read(0, y));
  return y;
}

// --- validate

class Validate : public testing::Test {
 protected:
  Validate() { clear_validate_findings(); }
  ~Validate() override { clear_validate_findings(); }

  static void expect_finding(const std::string& part) {
    std::string all;
    for (const std::string& f : validate_findings()) all += f + "\n";
    EXPECT_NE(all.find(part), std::string::npos) << "found: " << all << "\nwant: " << part;
  }

  ScopedEnv layers_{"OSTINATO_LAYERS", "validate"};
};

TEST_F(Validate, FindsNothingInAProgramThatIsRight) {
  const auto layered = live_once();
  ASSERT_OK(layered);
  EXPECT_EQ(validate_findings(), std::vector<std::string>());
  const ScopedEnv none("OSTINATO_LAYERS", "");
  EXPECT_EQ(*layered, *live_once());
}

TEST_F(Validate, RefusesRangesOutsideABuffer) {
  const auto registry = test::ref_only();
  const DevicePtr d = open_ref(*registry);
  const auto b = Buffer::allocate(d, 100);
  ASSERT_OK(b);
  uint8_t byte[8] = {};
  const auto wrong = call("ref", "buffer_read", [&](ost_error_t* e) {
    return d->table().buffer_read(d->handle(), (*b)->handle(), 96, byte, 8, e);
  });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().rule, 8u);
  expect_finding("(rule 8) buffer_read: 8 bytes at 96 are outside buffer");
}

TEST_F(Validate, KnowsAHandleThatWasDestroyed) {
  const auto registry = test::ref_only();
  const DevicePtr d = open_ref(*registry);
  ost_dbuffer_t* gone = nullptr;
  {
    const auto b = Buffer::allocate(d, 100);
    ASSERT_OK(b);
    gone = (*b)->handle();
  }
  void* at = nullptr;
  const auto wrong = call("ref", "buffer_map", [&](ost_error_t* e) {
    return d->table().buffer_map(gone, 0, 1, &at, e);
  });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().rule, 11u);
  expect_finding("(rule 11) buffer_map is called with buffer");
  expect_finding("which was destroyed; it was made at");
  // One of another kind, and one that is none.
  auto* as_buffer = reinterpret_cast<ost_dbuffer_t*>(d->handle());
  EXPECT_EQ(d->table().buffer_map(as_buffer, 0, 1, &at, nullptr), OST_INVALID_ARGUMENT + 0u);
  int on_stack = 0;
  as_buffer = reinterpret_cast<ost_dbuffer_t*>(&on_stack);
  EXPECT_EQ(d->table().buffer_map(as_buffer, 0, 1, &at, nullptr), OST_INVALID_ARGUMENT + 0u);
  expect_finding("wanted a buffer");
}

TEST_F(Validate, NamesLeaksWithThePlaceOfCreation) {
  {
    const auto registry = test::ref_only();
    const DevicePtr d = open_ref(*registry);
    ost_dbuffer_t* leaked = nullptr;
    ASSERT_EQ(d->table().buffer_alloc(d->handle(), 0, 64, 64, &leaked, nullptr), OST_OK + 0u);
  }
  expect_finding("(rule 11) leak: buffer");
  expect_finding("outlives device");
  expect_finding("it was made at\n    unit_runtime+0x");
}

TEST_F(Validate, ChecksCommands) {
  const auto registry = test::ref_only();
  const DevicePtr d = open_ref(*registry);
  const auto b = Buffer::allocate(d, 100);
  const auto queue = Queue::create(d);
  const auto timeline = Timeline::create(d);
  ASSERT_TRUE(b && queue && timeline);
  const auto submit = [&](uint32_t kind, std::vector<ost_ref_t> refs) {
    ost_command_t c{};
    c.size = sizeof c;
    c.kind = kind;
    c.refs = refs.data();
    c.ref_count = static_cast<uint32_t>(refs.size());
    c.fill_pattern_size = 4;
    EXPECT_FALSE((*queue)->submit({}, {&c, 1}, {}));
  };
  ost_dbuffer_t* h = (*b)->handle();
  submit(OST_CMD_COPY, {{h, 0, 20, 0, 0}, {h, 10, 20, 0, 0}});
  expect_finding("the ranges of a copy overlap");
  submit(OST_CMD_FILL, {{h, 0, 7, 0, 0}});
  expect_finding("a fill of 7 bytes with 4");
  submit(77, {});
  expect_finding("(rule 1) queue_submit: command 0: command kind 77 is not known");
  submit(OST_CMD_FILL, {{nullptr, 0, 8, 1, 0}});
  expect_finding("a slot is used outside a command list");
  submit(OST_CMD_DISPATCH, {});
  expect_finding("a dispatch has a null handle, wanted a executable");
}

TEST_F(Validate, ARefusedSubmitFailsItsSignals) {
  const auto registry = test::ref_only();
  const DevicePtr d = open_ref(*registry);
  const auto queue = Queue::create(d);
  const auto timeline = Timeline::create(d);
  ASSERT_TRUE(queue && timeline);
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = 77;
  const ost_point_t done{(*timeline)->handle(), 1};
  EXPECT_FALSE((*queue)->submit({}, {&c, 1}, {&done, 1}));
  const auto end = (*timeline)->wait(1);  // would be for ever
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().rule, 1u);
}

TEST_F(Validate, SeesTwoThreadsAndABufferThatIsFreedTooEarly) {
  const auto registry = test::ref_only();
  const DevicePtr d = open_ref(*registry);
  auto b = Buffer::allocate(d, 64);
  const auto queue = Queue::create(d);
  const auto gate = Timeline::create(d);
  const auto done = Timeline::create(d);
  ASSERT_TRUE(b && queue && gate && done);
  const ost_ref_t ref{(*b)->handle(), 0, 64, 0, 0};
  std::jthread other([&] {  // a synchronous device waits inside of the submit
    ost_command_t c{};
    c.size = sizeof c;
    c.kind = OST_CMD_FILL;
    c.refs = &ref;
    c.ref_count = 1;
    c.fill_pattern_size = 1;
    const ost_point_t wait{(*gate)->handle(), 1}, signal{(*done)->handle(), 1};
    EXPECT_FALSE((*queue)->submit({&wait, 1}, {&c, 1}, {&signal, 1}));
  });
  while (validate_findings().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)(*queue)->profile(false);
  }
  expect_finding("(rule 6) profile_enable on queue");
  b->reset();
  expect_finding("is freed while a submit that uses it has not ended");
  ASSERT_OK((*gate)->fail(Error{OST_CANCELLED, "nothing is to run", 0, 0, 0}));
}

TEST_F(Validate, ReportsWhatAPluginDoesWrong) {
  struct Wrong {};
  const DevicePtr d = test::changed_ref<Wrong>("wrong", [](ost_driver_table_t& t) {
    t.heap_count = [](ost_device_t*) { return uint32_t{1}; };
    t.buffer_alloc = [](ost_device_t*, uint32_t, uint64_t bytes, uint32_t, ost_dbuffer_t**,
                        ost_error_t*) -> ost_status_t {
      return bytes == 1 ? 4711u : bytes == 2 ? OST_OK + 0u : OST_OUT_OF_MEMORY + 0u;
    };
    static int calls = 0;
    t.device_status = [](ost_device_t*, ost_error_t*) -> ost_status_t {
      return ++calls == 1 ? OST_DEVICE_LOST + 0u : OST_OK + 0u;
    };
  });
  clear_validate_findings();
  EXPECT_FALSE(Buffer::allocate(d, 1));
  expect_finding("wrong: (rule 1) buffer_alloc returns the unknown status 4711");
  EXPECT_FALSE(Buffer::allocate(d, 2));
  expect_finding("(rule 5) buffer_alloc succeeds and gives nothing");
  EXPECT_FALSE(Buffer::allocate(d, 3));
  expect_finding("(rule 5) buffer_alloc fails with out_of_memory and no message");
  EXPECT_FALSE(d->status());
  EXPECT_TRUE(d->status());
  expect_finding("(rule 7) device_status succeeds on device");
}

TEST_F(Validate, ACallThatRunsWhileAnotherOneFindsTheDeviceLostMaySucceed) {
  struct Losing {};
  static std::atomic<int> calls{0};
  static std::atomic<bool> may_return{false};
  const DevicePtr d = test::changed_ref<Losing>("losing", [](ost_driver_table_t& t) {
    t.device_status = [](ost_device_t*, ost_error_t*) -> ost_status_t {
      const int mine = ++calls;
      while (mine == 1 && !may_return) std::this_thread::yield();
      return mine == 2 ? OST_DEVICE_LOST + 0u : OST_OK + 0u;
    };
  });
  const auto find_nothing_of_rule_7 = [] {
    for (const std::string& f : validate_findings())
      EXPECT_EQ(f.find("(rule 7)"), std::string::npos) << f;
  };
  std::jthread early([&] { EXPECT_TRUE(d->status()); });
  while (calls == 0) std::this_thread::yield();
  EXPECT_FALSE(d->status());
  may_return = true;
  early.join();
  find_nothing_of_rule_7();
  EXPECT_TRUE(d->status());
  expect_finding("(rule 7) device_status succeeds on device");
}

TEST(Layers, AnUnknownOneIsAnError) {
  const ScopedEnv layers("OSTINATO_LAYERS", "validate,magic");
  EXPECT_ERROR(test::ref_only()->get("ref:0"), "no device ref:0");
  const auto record = test::ref_only()->report().back();
  EXPECT_NE(record.reason.find("unknown layer \"magic\""), std::string::npos) << record.reason;
}

// --- trace

TEST(Trace, WritesWhatHappened) {
  const test::TempFolder folder;
  const std::string file = folder / "trace.json";
  {
    const ScopedEnv layers("OSTINATO_LAYERS", "trace"), to("OSTINATO_TRACE_FILE", file);
    ASSERT_OK(live_once());
  }
  const auto json = boost::json::parse(test::read_file(file));
  std::set<std::string> categories, kernels;
  std::string process;
  for (const auto& e : json.at("traceEvents").as_array()) {
    const std::string phase(e.at("ph").as_string());
    if (phase == "M") {
      process = e.at("args").at("name").as_string();
      continue;
    }
    ASSERT_EQ(phase, "X");
    categories.emplace(e.at("cat").as_string());
    if (e.at("cat").as_string() == "kernel") kernels.emplace(e.at("name").as_string());
    EXPECT_GT(e.at("ts").to_number<double>(), 0);
    EXPECT_GE(e.at("dur").to_number<double>(), 0);
  }
  EXPECT_EQ(categories, (std::set<std::string>{"compile", "copy", "kernel", "submit", "wait"}));
  EXPECT_EQ(process, "ref:0");
  ASSERT_FALSE(kernels.empty());
  for (const std::string& k : kernels) EXPECT_TRUE(k.starts_with("k_")) << k;
}

// --- fault

// Strikes at each call of a whole life, one after the other. Every time: an error that carries the
// cause, or the right result; nothing leaked, no rule broken.
void strike_everywhere(const std::string& kind) {
  const ScopedEnv none("OSTINATO_LAYERS", "");
  const auto want = live_once();
  ASSERT_OK(want);
  const ScopedEnv layers("OSTINATO_LAYERS", "validate,fault");
  const ScopedEnv fault("OSTINATO_FAULT", kind + ":*:1");
  uint64_t strikes = 0;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(kind + " at call " + std::to_string(n));
    arm_fault(n);
    clear_validate_findings();
    const auto got = live_once();
    if (!got) {
      EXPECT_NE(got.error().message.find("fault: "), std::string::npos) << got.error().message;
    } else {
      EXPECT_EQ(*got, *want);
    }
    EXPECT_EQ(validate_findings(), std::vector<std::string>());
    if (!fault_count().struck) break;
    strikes += !got;
    ASSERT_LT(n, 1000u);
  }
  EXPECT_GT(strikes, kind == "delay" ? 0u : 15u);
  clear_validate_findings();
}

TEST(Fault, AFailureOfAnyCallIsAnErrorWithItsCause) { strike_everywhere("fail"); }
TEST(Fault, ALossOfTheDeviceAtAnyCallIsAnErrorWithItsCause) { strike_everywhere("lose"); }

TEST(Fault, ALostDeviceStaysLostAndCanBeOpenedAgain) {
  const ScopedEnv layers("OSTINATO_LAYERS", "fault"),
      fault("OSTINATO_FAULT", "lose:buffer_alloc:1");
  arm_fault(0);
  const auto registry = test::ref_only();
  DevicePtr d = open_ref(*registry);
  const auto lost = Buffer::allocate(d, 8);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().status, OST_DEVICE_LOST + 0u);
  EXPECT_EQ(lost.error().rule, 7u);
  EXPECT_FALSE(d->status());
  EXPECT_FALSE(Queue::create(d));
  const DevicePtr again = open_ref(*registry);
  EXPECT_NE(again, d);
  ASSERT_OK(Buffer::allocate(again, 8));
}

TEST(Fault, DelaysAndFollowsASeed) {
  const ScopedEnv layers("OSTINATO_LAYERS", "fault");
  {
    const ScopedEnv fault("OSTINATO_FAULT", "delay:queue_submit:1");
    arm_fault(0);
    ASSERT_OK(live_once());
    EXPECT_TRUE(fault_count().struck);
  }
  {
    const ScopedEnv fault("OSTINATO_FAULT", "seed:20261130:20");
    arm_fault(0);
    const auto first = live_once();
    EXPECT_TRUE(fault_count().struck);
    arm_fault(0);
    const auto second = live_once();
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) {
      EXPECT_EQ(first.error().message, second.error().message);
    }
  }
  const ScopedEnv wrong("OSTINATO_FAULT", "break:everything");
  EXPECT_NE(test::ref_only()->report().back().reason.find("OSTINATO_FAULT is"), std::string::npos);
}

}  // namespace
}  // namespace ost::runtime
