// What the hip plugin asks of HIP for lists, memory and links: the calls are counted by the stand-in,
// which has two devices here.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/runtime/recipe.hpp"
#include "tests/unit/runtime/support.hpp"

namespace ost::runtime {
namespace {

uint64_t calls(const char* name) {
  static void* const library = dlopen(std::getenv("OSTINATO_HIP_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  static auto* const count =
      reinterpret_cast<unsigned long (*)(const char*)>(dlsym(library, "standin_calls"));
  return count(name);
}

DevicePtr open(const char* id, const DriverOptions& driver_options = {}) {
  RegistryOptions options;
  options.loader.files = {std::getenv("OST_HIP_PLUGIN")};
  options.loader.search = false;
  options.loader.environment = false;
  options.driver_options = driver_options;
  options.cache = std::make_shared<CompileCache>("");
  OpenOptions how;
  how.self_test = false;
  auto device = DeviceRegistry::create(options)->get(id, how);
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return device ? *device : nullptr;
}

ost_command_t command(uint32_t kind, std::span<const ost_ref_t> refs) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = kind;
  c.refs = refs.data();
  c.ref_count = static_cast<uint32_t>(refs.size());
  return c;
}
ost_command_t fill(std::span<const ost_ref_t> ref, uint64_t pattern, uint32_t size) {
  ost_command_t c = command(OST_CMD_FILL, ref);
  c.fill_pattern = pattern;
  c.fill_pattern_size = size;
  return c;
}
ost_ref_t slot(uint32_t number, uint64_t offset = 0, uint64_t size = 0) {
  return {nullptr, offset, size, number, 0};
}
ost_ref_t ref(const BufferPtr& buffer, uint64_t offset, uint64_t size) {
  return {buffer->handle(), offset, size, 0, 0};
}

// Runs it on a queue of the device and waits.
Result<> run(const DevicePtr& device, std::span<const ost_command_t> commands) {
  OST_TRY_ASSIGN(const auto queue, Queue::create(device));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(device));
  const ost_point_t done{timeline->handle(), 1};
  OST_TRY(queue->submit({}, commands, {&done, 1}));
  return timeline->wait(1);
}

// y[i] = x[i] + 1, for i < n
struct AddOne {
  ExecutablePtr executable;
  codegen::Launch launch;

  explicit AddOne(const DevicePtr& device) {
    kir::Builder b;
    const kir::Value n = b.var(0, 0, 1000);
    const kir::Value i = b.axis(n, kir::Role::parallel);
    const kir::Value x = b.load(b.param(0, DType::i32, n, OST_KIR_READ), i);
    b.store(b.param(1, DType::i32, n, OST_KIR_WRITE), i, b.add(x, b.constant(DType::i32, 1)));
    const auto recipe = recipe_for(*b.build(), device->driver(), device->info());
    const auto image = compile(*recipe, device->driver());
    executable = *device->load(*image, "", recipe->entry);
    launch = *recipe->launch;
  }
};

TEST(HipLists, AReplayIsOneLaunchOfOneGraph) {
  const DevicePtr device = open("hip:0");
  const ost_ref_t to[] = {slot(1)}, copied[] = {slot(2, 0, 16), slot(1, 0, 16)};
  const ost_command_t commands[] = {fill(to, 0x01020304, 4), command(OST_CMD_COPY, copied)};
  const auto list = CommandList::create(device, commands, 2, 0);
  ASSERT_OK(list);
  const uint64_t made = calls("hipGraphInstantiate"), launched = calls("hipGraphLaunch"),
                 moved = calls("hipGraphExecMemcpyNodeSetParams1D");
  const auto a = test::on_device(device, std::vector<uint8_t>(64, 9)).buffer;
  std::vector<BufferPtr> kept;  // each at another address
  for (int round = 0; round < 5; ++round) {
    const auto b = test::on_device(device, std::vector<uint8_t>(64, 7)).buffer;
    kept.push_back(b);
    const ost_ref_t bound[] = {ref(a, 0, 32), ref(b, 4, 16)};
    ost_command_t replay = command(OST_CMD_CMDLIST, bound);
    replay.cmdlist = (*list)->handle();
    ASSERT_OK(run(device, {&replay, 1}));
    const auto got = test::from_device({b, 0, 64});
    EXPECT_EQ(got[3], 7);
    EXPECT_EQ(got[4], 4);
    EXPECT_EQ(got[19], 1);
    EXPECT_EQ(got[20], 7);
    EXPECT_EQ(test::from_device({a, 0, 64})[32], 9);
  }
  EXPECT_EQ(calls("hipGraphInstantiate") - made, 1u);
  EXPECT_EQ(calls("hipGraphLaunch") - launched, 5u);
  EXPECT_EQ(calls("hipGraphExecMemcpyNodeSetParams1D") - moved, 4u);
}

TEST(HipLists, KernelsGetOtherArgumentsAndGrids) {
  const DevicePtr device = open("hip:0");
  const AddOne kernel(device);
  const ost_ref_t refs[] = {slot(1), slot(2)};
  const uint32_t var_map[] = {0};
  ost_command_t c = command(OST_CMD_DISPATCH, refs);
  c.executable = kernel.executable->handle();
  c.entry = kernel.executable->entry();
  c.var_map = var_map;
  c.var_count = 1;
  for (uint32_t d = 0; d < 3; ++d) c.group[d] = d == 0 ? kernel.launch.lanes : 1;
  for (uint32_t d = 0; d < 3; ++d) c.grid_var[d] = d + 2;
  const auto list = CommandList::create(device, {&c, 1}, 2, 4);
  ASSERT_OK(list);
  const uint64_t made = calls("hipGraphInstantiate"),
                 set = calls("hipGraphExecKernelNodeSetParams");
  std::vector<BufferPtr> kept;
  for (const int64_t n : {3, 257, 0, 0, 1000, 1000}) {
    const auto x = test::on_device(device, std::vector<uint8_t>(4000, 1)).buffer;
    const auto y = test::on_device(device, std::vector<uint8_t>(4000, 0)).buffer;
    kept.insert(kept.end(), {x, y});
    const ost_ref_t bound[] = {ref(x, 0, 4000), ref(y, 0, 4000)};
    codegen::Launch launch = kernel.launch;
    ost_command_t shape{};
    set_launch(launch, std::vector<int64_t>{n}, shape);
    std::vector<int64_t> vars{n};
    for (const uint64_t items : shape.grid) vars.push_back(static_cast<int64_t>(items));
    ost_command_t replay = command(OST_CMD_CMDLIST, bound);
    replay.cmdlist = (*list)->handle();
    replay.vars = vars.data();
    replay.var_count = 4;
    ASSERT_OK(run(device, {&replay, 1}));
    const auto got = test::from_device({y, 0, 4000});
    for (size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(got[4 * i], i < static_cast<size_t>(n) ? 2 : 0) << "n " << n << ", element " << i;
  }
  // One with the kernel, one without: a graph has no launches of nothing.
  EXPECT_EQ(calls("hipGraphInstantiate") - made, 2u);
  EXPECT_EQ(calls("hipGraphExecKernelNodeSetParams") - set, 3u);
}

TEST(HipLists, WhatIsNoNodeIsGivenOneByOne) {
  const DevicePtr device = open("hip:0");
  const ost_ref_t to[] = {slot(1)};
  const ost_command_t c = fill(to, 0x0807060504030201, 8);
  const auto list = CommandList::create(device, {&c, 1}, 1, 0);
  ASSERT_OK(list);
  const uint64_t launched = calls("hipGraphLaunch");
  for (int round = 0; round < 3; ++round) {
    const auto a = test::on_device(device, std::vector<uint8_t>(24, 0)).buffer;
    const ost_ref_t bound[] = {ref(a, 0, 16)};
    ost_command_t replay = command(OST_CMD_CMDLIST, bound);
    replay.cmdlist = (*list)->handle();
    ASSERT_OK(run(device, {&replay, 1}));
    const auto got = test::from_device({a, 0, 24});
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[15], 8);
    EXPECT_EQ(got[16], 0);
  }
  EXPECT_EQ(calls("hipGraphLaunch"), launched);
}

TEST(HipLists, SeveralQueuesReplayOneListAtATime) {
  const DevicePtr device = open("hip:0");
  const ost_ref_t copied[] = {slot(2), slot(1)};
  const ost_command_t c = command(OST_CMD_COPY, copied);
  const auto list = CommandList::create(device, {&c, 1}, 2, 0);
  ASSERT_OK(list);
  constexpr size_t kJobs = 40;
  const auto timeline = Timeline::create(device);
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<BufferPtr> from, to;
  for (int q = 0; q < 4; ++q) queues.push_back(std::move(*Queue::create(device)));
  std::vector<std::shared_ptr<Timeline>> done;
  for (size_t i = 0; i < kJobs; ++i) {
    from.push_back(test::on_device(device, std::vector<uint8_t>(100, uint8_t(i + 1))).buffer);
    to.push_back(test::on_device(device, std::vector<uint8_t>(100, 0)).buffer);
    done.push_back(*Timeline::create(device));
    const ost_ref_t bound[] = {ref(from[i], 0, 100), ref(to[i], 0, 100)};
    ost_command_t replay = command(OST_CMD_CMDLIST, bound);
    replay.cmdlist = (*list)->handle();
    const ost_point_t signal{done[i]->handle(), 1};
    ASSERT_OK(queues[i % queues.size()]->submit({}, {&replay, 1}, {&signal, 1}));
  }
  for (size_t i = 0; i < kJobs; ++i) {
    ASSERT_OK(done[i]->wait(1));
    EXPECT_EQ(test::from_device({to[i], 0, 100}), std::vector<uint8_t>(100, uint8_t(i + 1)));
  }
}

// --- memory

ost_dbuffer_t* allocate(const DevicePtr& device, uint32_t heap, uint64_t bytes) {
  ost_dbuffer_t* out = nullptr;
  EXPECT_EQ(device->table().buffer_alloc(device->handle(), heap, bytes, 0, &out, nullptr), OST_OK);
  return out;
}

TEST(HipMemory, ManagedMemoryIsAHeapOfItsOwn) {
  const DevicePtr device = open("hip:0");
  const auto& t = device->table();
  ASSERT_EQ(t.heap_count(device->handle()), 3u);
  ost_heap_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(t.heap_info(device->handle(), 2, &info, nullptr), OST_OK);
  EXPECT_TRUE(info.flags & OST_HEAP_HOST_VISIBLE && info.flags & OST_HEAP_DEVICE_LOCAL);
  const uint64_t before = calls("hipMallocManaged");
  ost_dbuffer_t* buffer = allocate(device, 2, 100);
  EXPECT_EQ(calls("hipMallocManaged"), before + 1);
  void* mapped = nullptr;
  ASSERT_EQ(t.buffer_map(buffer, 10, 20, &mapped, nullptr), OST_OK);
  std::memset(mapped, 5, 20);
  std::vector<uint8_t> got(100);
  ASSERT_EQ(t.buffer_read(device->handle(), buffer, 0, got.data(), 100, nullptr), OST_OK);
  EXPECT_EQ(got[10], 5);
  EXPECT_EQ(got[30], 0xff);
  t.buffer_unmap(buffer, nullptr);
  t.buffer_free(device->handle(), buffer);
}

TEST(HipMemory, MemoryOfTheHostIsUsedWithoutACopy) {
  const DevicePtr device = open("hip:0");
  alignas(64) static int32_t numbers[64];
  std::fill_n(numbers, 64, 41);
  const AddOne kernel(device);
  {
    const auto x = Buffer::import_host(device, numbers, sizeof numbers, nullptr);
    ASSERT_OK(x);
    const auto y = Buffer::allocate(device, sizeof numbers);
    codegen::Launch launch = kernel.launch;
    const ost_ref_t refs[] = {ref(*x, 0, sizeof numbers), ref(*y, 0, sizeof numbers)};
    const int64_t vars[] = {64};
    ost_command_t c = command(OST_CMD_DISPATCH, refs);
    c.executable = kernel.executable->handle();
    c.vars = vars;
    c.var_count = 1;
    set_launch(launch, vars, c);
    ASSERT_OK(run(device, {&c, 1}));
    EXPECT_EQ(test::from_device({*y, 0, 4})[0], 42);
    EXPECT_ERROR(Buffer::import_host(device, numbers, 64, nullptr), "AlreadyRegistered");
    EXPECT_ERROR(Buffer::import_host(device, reinterpret_cast<char*>(numbers) + 4, 64, nullptr),
                 "no multiple of 16");
  }
  ASSERT_OK(Buffer::import_host(device, numbers, 64, nullptr));  // free again
}

TEST(HipMemory, ComesFromAPoolWhereThatIsAskedFor) {
  const uint64_t before = calls("hipMallocAsync");
  {
    const DevicePtr device = open("hip:0", {{"hip.pool", "on"}});
    const auto a = test::on_device(device, {1, 2, 3});
    EXPECT_EQ(test::from_device(a), (std::vector<uint8_t>{1, 2, 3}));
    EXPECT_EQ(calls("hipMallocAsync"), before + 1);
    EXPECT_FALSE(Buffer::allocate(device, uint64_t{1} << 40));
  }
  EXPECT_EQ(calls("hipFreeAsync"), before + 1);
}

// --- several devices

TEST(HipLinks, CopiesGoFromOneDeviceToTheOther) {
  const DevicePtr a = open("hip:0"), b = open("hip:1");
  const auto from = test::on_device(a, {1, 2, 3, 4}).buffer;
  const auto to = test::on_device(b, {0, 0, 0, 0, 0, 0}).buffer;
  const uint64_t before = calls("hipMemcpyAsync");
  const ost_ref_t refs[] = {ref(to, 1, 4), ref(from, 0, 4)};
  const ost_command_t c = command(OST_CMD_COPY, refs);
  ASSERT_OK(run(b, {&c, 1}));
  EXPECT_EQ(test::from_device({to, 0, 6}), (std::vector<uint8_t>{0, 1, 2, 3, 4, 0}));
  EXPECT_GT(calls("hipMemcpyAsync"), before);
  ASSERT_OK(run(a, {&c, 1}));
}

TEST(HipLinks, KernelsAndFillsStayAtHome) {
  const DevicePtr a = open("hip:0"), b = open("hip:1");
  const auto foreign = test::on_device(b, std::vector<uint8_t>(16, 3)).buffer;
  const ost_ref_t refs[] = {ref(foreign, 0, 16)};
  const ost_command_t c = fill(refs, 1, 1);
  EXPECT_ERROR(run(a, {&c, 1}), "a buffer of device 1, the queue is of 0");
}

TEST(HipLinks, AreAnsweredByWhatTheDeviceIs) {
  const DevicePtr a = open("hip:0"), b = open("hip:1");
  const auto link = [&](const ost_device_info_t& info) {
    ost_link_t out = 99;
    EXPECT_EQ(a->table().link_query(a->handle(), &info, &out, nullptr), OST_OK);
    return out;
  };
  EXPECT_EQ(link(a->info()), OST_LINK_NATIVE);
  EXPECT_EQ(link(b->info()), OST_LINK_COPY);
  ost_device_info_t other = a->info();
  other.name[0] = 'x';
  EXPECT_EQ(link(other), OST_LINK_NONE);
}

}  // namespace
}  // namespace ost::runtime
