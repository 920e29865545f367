// A Level Zero program in short: the first device of the driver, its memory, kernels and lists.
#pragma once

#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace lab {

#define OST_ZE_OK(call) ASSERT_EQ(ZE_RESULT_SUCCESS, call)

constexpr uint64_t kForever = UINT64_MAX;

struct Lab {
  Lab() {
    check(zeInit(0));
    uint32_t one = 1;
    check(zeDriverGet(&one, &driver));
    check(zeDeviceGet(driver, &one, &device));
    const ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    check(zeContextCreate(driver, &desc, &context));
    queue = make_queue(0);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() {
    zeCommandQueueDestroy(queue);
    zeContextDestroy(context);
  }

  static void check(ze_result_t code) {
    if (code != ZE_RESULT_SUCCESS) throw std::runtime_error("error " + std::to_string(code));
  }
  ze_command_queue_handle_t make_queue(uint32_t group) const {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.ordinal = group;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_queue_handle_t out = nullptr;
    check(zeCommandQueueCreate(context, device, &desc, &out));
    return out;
  }
  ze_command_list_handle_t make_list(uint32_t group = 0) const {
    const ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, group, 0};
    ze_command_list_handle_t out = nullptr;
    check(zeCommandListCreate(context, device, &desc, &out));
    return out;
  }
  // Closes it, runs it, waits for it by a fence and destroys it.
  ze_result_t run(ze_command_list_handle_t list, ze_command_queue_handle_t on = nullptr) const {
    check(zeCommandListClose(list));
    const ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    ze_command_queue_handle_t q = on != nullptr ? on : queue;
    ze_fence_handle_t fence = nullptr;
    check(zeFenceCreate(q, &desc, &fence));
    ze_result_t code = zeCommandQueueExecuteCommandLists(q, 1, &list, fence);
    if (code == ZE_RESULT_SUCCESS) code = zeFenceHostSynchronize(fence, kForever);
    check(zeFenceDestroy(fence));
    check(zeCommandListDestroy(list));
    return code;
  }

  void* device_memory(size_t bytes) const {
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* out = nullptr;
    check(zeMemAllocDevice(context, &desc, bytes, 64, device, &out));
    return out;
  }
  float* host_memory(size_t count) const {
    const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* out = nullptr;
    check(zeMemAllocHost(context, &desc, count * sizeof(float), 64, &out));
    return static_cast<float*>(out);
  }

  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_command_queue_handle_t queue = nullptr;
};

inline std::vector<uint8_t> read(const std::string& name) {
  std::ifstream in(std::string(OST_ZE_TEST_MODULES) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Module {
  Module(const Lab& lab, const std::vector<uint8_t>& bytes, ze_module_format_t format,
         const char* flags = nullptr) {
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = format;
    desc.inputSize = bytes.size();
    desc.pInputModule = bytes.data();
    desc.pBuildFlags = flags;
    ze_module_build_log_handle_t text = nullptr;
    code = zeModuleCreate(lab.context, lab.device, &desc, &handle, &text);
    if (text == nullptr) return;
    size_t size = 0;
    zeModuleBuildLogGetString(text, &size, nullptr);
    log.resize(size);
    zeModuleBuildLogGetString(text, &size, log.data());
    zeModuleBuildLogDestroy(text);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (handle != nullptr) zeModuleDestroy(handle);
  }
  ze_result_t code;
  ze_module_handle_t handle = nullptr;
  std::string log;
};

struct Kernel {
  Kernel(const Module& module, const char* name, uint32_t group = 16) {
    const ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
    Lab::check(zeKernelCreate(module.handle, &desc, &handle));
    Lab::check(zeKernelSetGroupSize(handle, group, 1, 1));
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() { zeKernelDestroy(handle); }
  template <class T>
  ze_result_t set(uint32_t index, T value) const {
    return zeKernelSetArgumentValue(handle, index, sizeof value, &value);
  }
  ze_result_t launch(ze_command_list_handle_t list, uint32_t groups,
                     ze_event_handle_t signal = nullptr, ze_event_handle_t wait = nullptr) const {
    const ze_group_count_t count{groups, 1, 1};
    return zeCommandListAppendLaunchKernel(list, handle, &count, signal, wait != nullptr ? 1 : 0,
                                           wait != nullptr ? &wait : nullptr);
  }
  ze_kernel_handle_t handle = nullptr;
};

}  // namespace lab
