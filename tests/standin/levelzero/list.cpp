// Command lists: what each append captures, and what it refuses.
#include <level_zero/ze_ddi.h>

#include <cstring>
#include <stdexcept>

#include "memory.hpp"
#include "module.hpp"
#include "queue.hpp"
#include "tables.hpp"

namespace standin {
namespace {

struct Order {
  ze_event_handle_t signal;
  uint32_t wait_count;
  ze_event_handle_t* waits;
};

// Appends, or runs at once where the list is immediate.
ze_result_t append(ze_command_list_handle_t h, const Order& order, Command command) {
  List& list = of<List>(h);
  if (list.closed) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is closed");
  if (list.in_use() && list.immediate == nullptr)
    refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the list is being executed");
  if (order.wait_count > 0 && order.waits == nullptr)
    refuse(ZE_RESULT_ERROR_INVALID_SIZE, "events to wait for without an array");
  for (uint32_t i = 0; i < order.wait_count; ++i)
    command.waits.push_back(&of<Event>(order.waits[i]));
  if (order.signal != nullptr) command.signal = &of<Event>(order.signal);
  command.objects.insert(command.objects.end(), command.waits.begin(), command.waits.end());
  if (command.signal != nullptr) command.objects.push_back(command.signal);
  auto shared = std::make_shared<const Command>(std::move(command));
  if (list.immediate == nullptr) {
    list.commands.push_back(std::move(shared));
    return ZE_RESULT_SUCCESS;
  }
  list.immediate->execute({std::move(shared)}, {&list}, nullptr);
  if (!list.immediate->synchronous()) return ZE_RESULT_SUCCESS;
  list.immediate->wait(UINT64_MAX);
  return device_lost() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

Command command_of(const char* call, std::function<void()> body,
                   std::vector<const void*> memory = {}) {
  Command c{};
  c.call = call;
  c.body = std::move(body);
  c.memory = std::move(memory);
  return c;
}

// --- lists

ze_result_t list_create(ze_context_handle_t c, ze_device_handle_t d,
                        const ze_command_list_desc_t* desc, ze_command_list_handle_t* out) {
  return device_entry("zeCommandListCreate", [&] {
    of<Context>(c), of<Device>(d);
    need_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
    if (desc->commandQueueGroupOrdinal >= kGroups)
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             "queue group " + std::to_string(desc->commandQueueGroupOrdinal));
    give(std::make_unique<List>(desc->commandQueueGroupOrdinal), out);
  });
}
ze_result_t list_create_immediate(ze_context_handle_t c, ze_device_handle_t d,
                                  const ze_command_queue_desc_t* desc,
                                  ze_command_list_handle_t* out) {
  return device_entry("zeCommandListCreateImmediate", [&] {
    of<Context>(c), of<Device>(d);
    need_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    if (desc->ordinal >= kGroups || desc->index >= kQueuesOf[desc->ordinal])
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no such engine");
    auto list = std::make_unique<List>(desc->ordinal);
    list->immediate =
        std::make_unique<Queue>(desc->ordinal, desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    give(std::move(list), out);
  });
}
ze_result_t list_destroy(ze_command_list_handle_t h) {
  return entry("zeCommandListDestroy", [&] { give_back<List>(h); });
}
ze_result_t list_close(ze_command_list_handle_t h) {
  return device_entry("zeCommandListClose", [&] {
    List& list = of<List>(h);
    if (list.closed) refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is closed already");
    list.closed = true;
  });
}
ze_result_t list_reset(ze_command_list_handle_t h) {
  return device_entry("zeCommandListReset", [&] {
    List& list = of<List>(h);
    if (list.in_use()) refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the list is being executed");
    list.closed = false;
    list.commands.clear();
  });
}

// --- order

ze_result_t barrier(ze_command_list_handle_t h, ze_event_handle_t signal, uint32_t count,
                    ze_event_handle_t* waits) {
  return device_entry("zeCommandListAppendBarrier", [&] {
    Command c = command_of("zeCommandListAppendBarrier", nullptr);
    c.barrier = true;
    return append(h, {signal, count, waits}, std::move(c));
  });
}
ze_result_t ranges_barrier(ze_command_list_handle_t h, uint32_t, const size_t*, const void**,
                           ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  return barrier(h, signal, count, waits);
}
ze_result_t signal_event(ze_command_list_handle_t h, ze_event_handle_t e) {
  return device_entry("zeCommandListAppendSignalEvent", [&] {
    of<Event>(e);
    return append(h, {e, 0, nullptr}, command_of("zeCommandListAppendSignalEvent", nullptr));
  });
}
ze_result_t wait_on_events(ze_command_list_handle_t h, uint32_t count, ze_event_handle_t* events) {
  return device_entry("zeCommandListAppendWaitOnEvents", [&] {
    need(events, "the events");
    return append(h, {nullptr, count, events},
                  command_of("zeCommandListAppendWaitOnEvents", nullptr));
  });
}
ze_result_t event_reset(ze_command_list_handle_t h, ze_event_handle_t e) {
  return device_entry("zeCommandListAppendEventReset", [&] {
    Event* event = &of<Event>(e);
    Command c = command_of("zeCommandListAppendEventReset", [event] { event->flag.reset(); });
    c.objects.push_back(event);
    return append(h, {nullptr, 0, nullptr}, std::move(c));
  });
}

// --- memory

ze_result_t copy(ze_command_list_handle_t h, void* to, const void* from, size_t bytes,
                 ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  return device_entry("zeCommandListAppendMemoryCopy", [&] {
    need(to, "the destination"), need(from, "the source");
    find_memory(to, bytes), find_memory(from, bytes);
    const auto *t = static_cast<const std::byte*>(to), *f = static_cast<const std::byte*>(from);
    if (t < f + bytes && f < t + bytes)
      refuse(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "the ranges overlap");
    return append(h, {signal, count, waits},
                  command_of("zeCommandListAppendMemoryCopy", [=] { std::memcpy(to, from, bytes); },
                             {to, from}));
  });
}
ze_result_t fill(ze_command_list_handle_t h, void* to, const void* pattern, size_t pattern_size,
                 size_t bytes, ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  return device_entry("zeCommandListAppendMemoryFill", [&] {
    need(to, "the destination"), need(pattern, "the pattern");
    const size_t most = kFillPatternOf[of<List>(h).group];
    if (pattern_size == 0 || (pattern_size & (pattern_size - 1)) != 0 || pattern_size > most ||
        bytes % pattern_size != 0)
      refuse(ZE_RESULT_ERROR_INVALID_SIZE,
             std::to_string(bytes) + " bytes by a pattern of " + std::to_string(pattern_size));
    if (reinterpret_cast<uintptr_t>(to) % pattern_size != 0)
      refuse(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "a pattern at an odd place");
    find_memory(to, bytes);
    const std::string kept(static_cast<const char*>(pattern), pattern_size);
    return append(h, {signal, count, waits},
                  command_of("zeCommandListAppendMemoryFill",
                             [=] {
                               for (size_t i = 0; i < bytes; i += kept.size())
                                 std::memcpy(static_cast<std::byte*>(to) + i, kept.data(),
                                             kept.size());
                             },
                             {to}));
  });
}

// --- kernels

ze_result_t launch(ze_command_list_handle_t h, ze_kernel_handle_t k, const ze_group_count_t* groups,
                   ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  return device_entry("zeCommandListAppendLaunchKernel", [&] {
    Kernel& kernel = of<Kernel>(k);
    need(groups, "the numbers of groups");
    if (of<List>(h).group != kComputeGroup)
      refuse(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a kernel in a list that only copies");
    if (kernel.group[0] == 0)
      refuse(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "the group size was not set");
    std::vector<const void*> memory;
    for (size_t i = 0; i < kernel.values.size(); ++i) {
      if (!kernel.values[i].set)
        refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               "argument " + std::to_string(i) + " of " + kernel.name + " was not set");
      if (kernel.info.arguments[i].kind != ArgumentKind::kGlobal) continue;
      const void* pointer = nullptr;
      std::memcpy(&pointer, kernel.values[i].bytes.data(), sizeof pointer);
      find_memory(pointer, 0);
      memory.push_back(pointer);
    }
    std::array<size_t, 3> local{}, global{};
    const uint32_t counts[3] = {groups->groupCountX, groups->groupCountY, groups->groupCountZ};
    for (size_t d = 0; d < 3; ++d) {
      local[d] = kernel.group[d];
      global[d] = local[d] * counts[d];
    }
    // The arguments are those of now, not of when the list is executed.
    auto body = [handle = kernel.handle, arguments = kernel.info.arguments, values = kernel.values,
                 local, global, name = kernel.name] {
      if (global[0] == 0 || global[1] == 0 || global[2] == 0) return;
      const cl_int error =
          Engine::get().launch(handle, arguments, values, global.data(), local.data());
      if (error != CL_SUCCESS)
        throw std::runtime_error("OpenCL error " + std::to_string(error) + " of " + name);
    };
    Command c = command_of("zeCommandListAppendLaunchKernel", body, std::move(memory));
    c.objects.push_back(&kernel);
    return append(h, {signal, count, waits}, std::move(c));
  });
}

}  // namespace

OST_ZE_TABLE(ze, CommandList, command_list, table->pfnCreate = list_create;
             table->pfnCreateImmediate = list_create_immediate; table->pfnDestroy = list_destroy;
             table->pfnClose = list_close; table->pfnReset = list_reset;
             table->pfnAppendBarrier = barrier;
             table->pfnAppendMemoryRangesBarrier = ranges_barrier;
             table->pfnAppendMemoryCopy = copy; table->pfnAppendMemoryFill = fill;
             table->pfnAppendSignalEvent = signal_event;
             table->pfnAppendWaitOnEvents = wait_on_events;
             table->pfnAppendEventReset = event_reset; table->pfnAppendLaunchKernel = launch)

}  // namespace standin
