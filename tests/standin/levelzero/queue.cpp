#include "queue.hpp"

#include <level_zero/ze_ddi.h>

#include "memory.hpp"
#include "tables.hpp"

namespace standin {

Queue::Queue(uint32_t group, bool synchronous)
    : Object(kKind, nullptr),
      group_(group),
      synchronous_(synchronous),
      thread_([this] { work(); }) {}

Queue::~Queue() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::execute(Commands commands, std::vector<Object*> users, Fence* fence) {
  users.push_back(this);
  if (fence != nullptr) users.push_back(fence);
  for (Object* o : users) o->begin_use();
  for (const auto& c : commands) {
    for (Object* o : c->objects) o->begin_use();
    begin_memory_use(c->memory);
  }
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back({std::move(commands), std::move(users), fence});
    ++accepted_;
  }
  changed_.notify_all();
}

bool Queue::wait(uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const uint64_t until = accepted_;
  const auto over = [&] { return ended_ >= until; };
  if (timeout_ns > uint64_t{1} << 60) {
    changed_.wait(lock, over);
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  return changed_.wait_until(lock, end, over);
}

void Queue::run(const Job& job) {
  run_commands(job.commands);
  for (const auto& c : job.commands) {
    end_memory_use(c->memory);
    for (Object* o : c->objects) o->end_use();
  }
  for (Object* o : job.users) o->end_use();
  if (job.fence != nullptr)
    job.fence->flag.set();  // of a lost device too: who waits finds that out
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    run(job);
    lock.lock();
    ++ended_;
    changed_.notify_all();
  }
}

namespace {

uint32_t checked_group(const ze_command_queue_desc_t* desc) {
  need_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  if (desc->ordinal >= kGroups || desc->index >= kQueuesOf[desc->ordinal])
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           "engine " + std::to_string(desc->index) + " of group " + std::to_string(desc->ordinal));
  return desc->ordinal;
}

// Of waits: with a lost device too, what was accepted has ended when they return.
ze_result_t after(bool ended) {
  if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;
  return ended ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t queue_create(ze_context_handle_t c, ze_device_handle_t d,
                         const ze_command_queue_desc_t* desc, ze_command_queue_handle_t* out) {
  return device_entry("zeCommandQueueCreate", [&] {
    of<Context>(c), of<Device>(d);
    const uint32_t group = checked_group(desc);
    give(std::make_unique<Queue>(group, desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS), out);
  });
}
ze_result_t queue_destroy(ze_command_queue_handle_t h) {
  return entry("zeCommandQueueDestroy", [&] { give_back<Queue>(h); });
}
ze_result_t queue_execute(ze_command_queue_handle_t h, uint32_t count,
                          ze_command_list_handle_t* lists, ze_fence_handle_t f) {
  return device_entry("zeCommandQueueExecuteCommandLists", [&] {
    Queue& queue = of<Queue>(h);
    need(lists, "the lists");
    if (count == 0) refuse(ZE_RESULT_ERROR_INVALID_SIZE, "no lists");
    Fence* fence = f != nullptr ? &of<Fence>(f) : nullptr;
    if (fence != nullptr && fence->flag.wait(0))
      refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the fence is signalled and was not reset");
    Commands commands;
    std::vector<Object*> users;
    for (uint32_t i = 0; i < count; ++i) {
      List& list = of<List>(lists[i]);
      if (!list.closed || list.immediate != nullptr)
        refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a list that is not closed");
      if (list.in_use())
        refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "a list that is being executed already");
      if (list.group != queue.group())
        refuse(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a list of another queue group");
      commands.insert(commands.end(), list.commands.begin(), list.commands.end());
      users.push_back(&list);
    }
    queue.execute(std::move(commands), std::move(users), fence);
    return queue.synchronous() ? after(queue.wait(UINT64_MAX)) : ZE_RESULT_SUCCESS;
  });
}
ze_result_t queue_synchronize(ze_command_queue_handle_t h, uint64_t timeout_ns) {
  return entry("zeCommandQueueSynchronize", [&] { return after(of<Queue>(h).wait(timeout_ns)); });
}

ze_result_t fence_create(ze_command_queue_handle_t h, const ze_fence_desc_t* desc,
                         ze_fence_handle_t* out) {
  return device_entry("zeFenceCreate", [&] {
    Queue& queue = of<Queue>(h);
    need_desc(desc, ZE_STRUCTURE_TYPE_FENCE_DESC);
    auto fence = std::make_unique<Fence>(queue);
    if ((desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0) fence->flag.set();
    give(std::move(fence), out);
  });
}
ze_result_t fence_destroy(ze_fence_handle_t h) {
  return entry("zeFenceDestroy", [&] { give_back<Fence>(h); });
}
ze_result_t fence_synchronize(ze_fence_handle_t h, uint64_t timeout_ns) {
  return entry("zeFenceHostSynchronize", [&] { return after(of<Fence>(h).flag.wait(timeout_ns)); });
}
ze_result_t fence_query(ze_fence_handle_t h) {
  return device_entry("zeFenceQueryStatus", [&] { return after(of<Fence>(h).flag.wait(0)); });
}
ze_result_t fence_reset(ze_fence_handle_t h) {
  return device_entry("zeFenceReset", [&] {
    Fence& fence = of<Fence>(h);
    if (fence.in_use()) refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "a fence that is in use");
    fence.flag.reset();
  });
}

}  // namespace

OST_ZE_TABLE(ze, CommandQueue, command_queue, table->pfnCreate = queue_create;
             table->pfnDestroy = queue_destroy; table->pfnExecuteCommandLists = queue_execute;
             table->pfnSynchronize = queue_synchronize)
OST_ZE_TABLE(ze, Fence, fence, table->pfnCreate = fence_create; table->pfnDestroy = fence_destroy;
             table->pfnHostSynchronize = fence_synchronize; table->pfnQueryStatus = fence_query;
             table->pfnReset = fence_reset)

}  // namespace standin
