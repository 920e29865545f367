// The test driver itself, through the real loader with its validation layer.
#include <cstring>

#include "lab.hpp"

namespace {

using lab::Kernel;
using lab::Lab;
using lab::Module;

const bool kReverse = std::getenv("OST_ZE_REVERSE") != nullptr;
constexpr size_t kCount = 48;  // three groups

std::vector<uint8_t> kernels() { return lab::read("kernels.spv"); }

ze_result_t barrier(ze_command_list_handle_t list) {
  return zeCommandListAppendBarrier(list, nullptr, 0, nullptr);
}
ze_result_t copy(ze_command_list_handle_t list, void* to, const void* from, size_t bytes) {
  return zeCommandListAppendMemoryCopy(list, to, from, bytes, nullptr, 0, nullptr);
}

TEST(Standin, RunsAKernelOnDeviceMemory) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
  OST_ZE_OK(module.code) << module.log;
  const Kernel add(module, "add");
  float* host = lab.host_memory(3 * kCount);
  auto* memory = static_cast<float*>(lab.device_memory(3 * kCount * sizeof(float)));
  for (size_t i = 0; i < kCount; ++i) host[i] = static_cast<float>(i), host[kCount + i] = 0.5f;
  OST_ZE_OK(add.set(0, memory + 2 * kCount));
  OST_ZE_OK(add.set(1, memory));
  OST_ZE_OK(add.set(2, memory + kCount));
  ze_command_list_handle_t list = lab.make_list();
  OST_ZE_OK(copy(list, memory, host, 2 * kCount * sizeof(float)));
  OST_ZE_OK(barrier(list));
  OST_ZE_OK(add.launch(list, kCount / 16));
  OST_ZE_OK(barrier(list));
  OST_ZE_OK(copy(list, host + 2 * kCount, memory + 2 * kCount, kCount * sizeof(float)));
  OST_ZE_OK(lab.run(list));
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(host[2 * kCount + i], static_cast<float>(i) + 0.5f);
  OST_ZE_OK(zeMemFree(lab.context, memory));
  OST_ZE_OK(zeMemFree(lab.context, host));
}

// x, 2x+1, 3(2x+1)+1: which of two launches is first shows in the result.
TEST(Standin, OnlyBarriersAndEventsOrderTheCommandsOfAList) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
  const Kernel step(module, "step");
  float* host = lab.host_memory(kCount);
  OST_ZE_OK(step.set(0, host));
  const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
  ze_event_pool_handle_t pool = nullptr;
  OST_ZE_OK(zeEventPoolCreate(lab.context, &pool_desc, 0, nullptr, &pool));
  const ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
  ze_event_handle_t event = nullptr;
  OST_ZE_OK(zeEventCreate(pool, &event_desc, &event));
  enum How { kNothing, kBarrier, kEvent };
  for (const How how : {kNothing, kBarrier, kEvent}) {
    for (size_t i = 0; i < kCount; ++i) host[i] = 1;
    ze_command_list_handle_t list = lab.make_list();
    OST_ZE_OK(step.set(1, 2.0f));
    OST_ZE_OK(step.launch(list, kCount / 16, how == kEvent ? event : nullptr));
    if (how == kBarrier) {
      OST_ZE_OK(barrier(list));
    }
    OST_ZE_OK(step.set(1, 3.0f));
    OST_ZE_OK(step.launch(list, kCount / 16, nullptr, how == kEvent ? event : nullptr));
    OST_ZE_OK(lab.run(list));
    EXPECT_EQ(host[0], how == kNothing && kReverse ? 9.0f : 10.0f) << how;
  }
  OST_ZE_OK(zeEventDestroy(event));
  OST_ZE_OK(zeEventPoolDestroy(pool));
  OST_ZE_OK(zeMemFree(lab.context, host));
}

TEST(Standin, TheCopyEngineCopiesAndFillsAndRunsNoKernels) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
  const Kernel step(module, "step");
  float* host = lab.host_memory(kCount);
  OST_ZE_OK(step.set(0, host));
  OST_ZE_OK(step.set(1, 2.0f));
  ze_command_queue_handle_t copies = lab.make_queue(1);
  ze_command_list_handle_t list = lab.make_list(1);
  EXPECT_EQ(step.launch(list, 1), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  const uint64_t pattern = 0x4040404040404040;
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, host, &pattern, 8, 16, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  OST_ZE_OK(zeCommandListAppendMemoryFill(list, host, &pattern, 4, kCount * sizeof(float), nullptr,
                                          0, nullptr));
  OST_ZE_OK(lab.run(list, copies));
  EXPECT_EQ(host[kCount - 1], 3.00392150878906250f);  // 0x40404040
  list = lab.make_list(1);
  OST_ZE_OK(zeCommandListClose(list));
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(lab.queue, 1, &list, nullptr),
            ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  OST_ZE_OK(zeCommandListDestroy(list));
  OST_ZE_OK(zeCommandQueueDestroy(copies));
  OST_ZE_OK(zeMemFree(lab.context, host));
}

TEST(Standin, EventsKnowWhenAKernelRan) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
  const Kernel step(module, "step");
  float* host = lab.host_memory(kCount);
  OST_ZE_OK(step.set(0, host));
  OST_ZE_OK(step.set(1, 2.0f));
  const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                       ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1};
  ze_event_pool_handle_t pool = nullptr;
  OST_ZE_OK(zeEventPoolCreate(lab.context, &pool_desc, 0, nullptr, &pool));
  const ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
  ze_event_handle_t event = nullptr;
  OST_ZE_OK(zeEventCreate(pool, &event_desc, &event));
  ze_kernel_timestamp_result_t time{};
  EXPECT_EQ(zeEventQueryKernelTimestamp(event, &time), ZE_RESULT_NOT_READY);
  ze_command_list_handle_t list = lab.make_list();
  OST_ZE_OK(step.launch(list, 1, event));
  OST_ZE_OK(lab.run(list));
  OST_ZE_OK(zeEventQueryKernelTimestamp(event, &time));
  EXPECT_LE(time.global.kernelStart, time.global.kernelEnd);
  EXPECT_LT(time.global.kernelEnd, uint64_t{1} << 36);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  OST_ZE_OK(zeEventDestroy(event));
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "a dead handle";
  OST_ZE_OK(zeEventPoolDestroy(pool));
  OST_ZE_OK(zeMemFree(lab.context, host));
}

TEST(Standin, RefusesWhatRealDriversMayNotNotice) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
  const Kernel add(module, "add"), step(module, "step");
  float* host = lab.host_memory(kCount);
  ze_command_list_handle_t list = lab.make_list();
  EXPECT_EQ(add.set(7, host), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  EXPECT_EQ(step.set(1, 2.0), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  EXPECT_EQ(add.set(0, &lab), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "no memory of the driver";
  EXPECT_EQ(add.launch(list, 1), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "arguments that are not set";
  EXPECT_EQ(zeKernelSetGroupSize(add.handle, 1024, 1, 1),
            ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  EXPECT_EQ(copy(list, host, host + 1, 8), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(copy(list, host + kCount - 1, host, 8), ZE_RESULT_ERROR_INVALID_SIZE);
  float outside[2] = {};
  EXPECT_EQ(copy(list, host, outside, 8), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(lab.queue, 1, &list, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "an open list";
  OST_ZE_OK(zeCommandListClose(list));
  EXPECT_EQ(barrier(list), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "a closed list";
  OST_ZE_OK(zeCommandListDestroy(list));
  EXPECT_EQ(zeModuleDestroy(module.handle), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  OST_ZE_OK(zeMemFree(lab.context, host));
  EXPECT_EQ(zeMemFree(lab.context, host), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST(Standin, WhatRunsCannotBeTakenAway) {
  const Lab lab;
  const ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                       ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
  ze_event_pool_handle_t pool = nullptr;
  OST_ZE_OK(zeEventPoolCreate(lab.context, &pool_desc, 0, nullptr, &pool));
  const ze_event_desc_t event_desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
  ze_event_handle_t event = nullptr;
  OST_ZE_OK(zeEventCreate(pool, &event_desc, &event));
  float* host = lab.host_memory(kCount);
  ze_command_list_handle_t list = lab.make_list();
  OST_ZE_OK(zeCommandListAppendMemoryCopy(list, host, host + 8, 8, nullptr, 1, &event));
  OST_ZE_OK(zeCommandListClose(list));
  OST_ZE_OK(zeCommandQueueExecuteCommandLists(lab.queue, 1, &list, nullptr));
  EXPECT_EQ(zeCommandListReset(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(lab.queue, 1, &list, nullptr),
            ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeMemFree(lab.context, host), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeCommandQueueSynchronize(lab.queue, 1000000), ZE_RESULT_NOT_READY);
  OST_ZE_OK(zeEventHostSignal(event));
  OST_ZE_OK(zeCommandQueueSynchronize(lab.queue, lab::kForever));
  OST_ZE_OK(zeCommandListDestroy(list));
  OST_ZE_OK(zeEventDestroy(event));
  OST_ZE_OK(zeEventPoolDestroy(pool));
  OST_ZE_OK(zeMemFree(lab.context, host));
}

TEST(Standin, ANativeBinaryIsAModuleToo) {
  const Lab lab;
  const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV,
                      "-ze-fp32-correctly-rounded-divide-sqrt");
  OST_ZE_OK(module.code) << module.log;
  size_t size = 0;
  OST_ZE_OK(zeModuleGetNativeBinary(module.handle, &size, nullptr));
  std::vector<uint8_t> binary(size);
  OST_ZE_OK(zeModuleGetNativeBinary(module.handle, &size, binary.data()));
  const Module again(lab, binary, ZE_MODULE_FORMAT_NATIVE);
  OST_ZE_OK(again.code) << again.log;
  const Kernel step(again, "step");
  float* host = lab.host_memory(16);
  for (int i = 0; i < 16; ++i) host[i] = 4;
  OST_ZE_OK(step.set(0, host));
  OST_ZE_OK(step.set(1, 0.5f));
  ze_command_list_handle_t list = lab.make_list();
  OST_ZE_OK(step.launch(list, 1));
  OST_ZE_OK(lab.run(list));
  EXPECT_EQ(host[15], 3.0f);
  OST_ZE_OK(zeMemFree(lab.context, host));
  binary.resize(binary.size() / 4);
  EXPECT_EQ(Module(lab, binary, ZE_MODULE_FORMAT_NATIVE).code,
            ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

TEST(Standin, ModulesThatAreNoneAreRefusedWithALog) {
  const Lab lab;
  std::vector<uint8_t> bytes = kernels();
  bytes.resize(bytes.size() - 4);
  EXPECT_EQ(Module(lab, {1, 2, 3, 4}, ZE_MODULE_FORMAT_IL_SPIRV).code,
            ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  const Module cut(lab, bytes, ZE_MODULE_FORMAT_IL_SPIRV);
  EXPECT_EQ(cut.code, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  EXPECT_NE(cut.log.find("cut off"), std::string::npos) << cut.log;
  const Module wide(lab, lab::read("wide.spv"), ZE_MODULE_FORMAT_IL_SPIRV);
  const bool no_double = std::getenv("OST_ZE_NO_FP64") != nullptr;
  EXPECT_EQ(wide.code, no_double ? ZE_RESULT_ERROR_MODULE_BUILD_FAILURE : ZE_RESULT_SUCCESS);
  const Module flags(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV, "-cl-fast-relaxed-math");
  EXPECT_EQ(flags.code, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

// --- what ends the process or the device: each in a process of its own

using StandinDeathTest = testing::Test;

TEST(StandinDeathTest, TheHostCannotTouchDeviceMemory) {
  if (std::getenv("OST_ZE_GUARD") == nullptr) GTEST_SKIP() << "needs OST_ZE_GUARD=1";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const Lab lab;
        auto* memory = static_cast<volatile char*>(lab.device_memory(64));
        std::_Exit(memory[0] == 0 ? 1 : 0);
      },
      "");
}

TEST(StandinDeathTest, WhatIsLeftAtTheEndIsNamed) {
  if (std::getenv("OST_ZE_LEAKS") == nullptr) GTEST_SKIP() << "needs OST_ZE_LEAKS=1";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Lab lab;
        lab.make_list();
        lab.device_memory(100);
        std::exit(0);
      },
      testing::ExitedWithCode(86), "100 bytes");
}

TEST(StandinDeathTest, AWriteOutsideOfAnAllocationLosesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Lab lab;
        const Module module(lab, kernels(), ZE_MODULE_FORMAT_IL_SPIRV);
        const Kernel outside(module, "outside", 1);
        void* memory = lab.device_memory(100);
        outside.set(0, memory);
        outside.set(1, int64_t{25});
        ze_command_list_handle_t list = lab.make_list();
        outside.launch(list, 1);
        const bool lost = lab.run(list) == ZE_RESULT_ERROR_DEVICE_LOST &&
                          zeCommandQueueSynchronize(lab.queue, 0) == ZE_RESULT_ERROR_DEVICE_LOST;
        zeMemFree(lab.context, memory);
        std::_Exit(lost ? 7 : 1);
      },
      testing::ExitedWithCode(7), "a write outside of an allocation of 100 bytes");
}

TEST(StandinDeathTest, ACommandFailsOnRequest) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("OST_ZE_FAIL", "execute:2:0x70000001", 1);
        const Lab lab;
        float* host = lab.host_memory(kCount);
        ze_command_list_handle_t list = lab.make_list();
        copy(list, host, host + 8, 8);
        copy(list, host, host + 8, 8);
        std::_Exit(lab.run(list) == ZE_RESULT_ERROR_DEVICE_LOST ? 7 : 1);
      },
      testing::ExitedWithCode(7), "as it was asked to");
}

}  // namespace
