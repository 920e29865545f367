#include "queue.hpp"

#include <algorithm>

namespace levelzero {

constexpr uint64_t kForever = UINT64_MAX;

// --- lanes

Lane::Lane(Device& device, const Engine& engine) : device_(device), engine_(engine) {
  const Api& api = device.api();
  auto desc = typed<ze::QueueDesc>(ze::kQueueDesc);
  desc.ordinal = engine.ordinal;
  desc.index = device.next_queue(engine);
  desc.mode = ze::kAsynchronous;
  device.check(api.zeCommandQueueCreate(device.context(), device.handle(), &desc, &queue_),
               "zeCommandQueueCreate");
  const auto fence_desc = typed<ze::FlagsDesc>(ze::kFenceDesc);
  const ze::Result code = api.zeFenceCreate(queue_, &fence_desc, &fence_);
  if (code == ze::kSuccess) return;
  api.zeCommandQueueDestroy(queue_);
  device.check(code, "zeFenceCreate");
}

Lane::~Lane() {
  lists_.clear();
  device_.api().zeFenceDestroy(fence_);
  device_.api().zeCommandQueueDestroy(queue_);
}

List& Lane::list(size_t index) {
  while (lists_.size() <= index) lists_.push_back(std::make_unique<List>(device_, engine_));
  return *lists_[index];
}

void Lane::run(std::vector<ze::ListHandle> lists) {
  if (lists.empty()) return;
  const Api& api = device_.api();
  device_.check(api.zeCommandQueueExecuteCommandLists(queue_, static_cast<uint32_t>(lists.size()),
                                                      lists.data(), fence_),
                "zeCommandQueueExecuteCommandLists");
#ifndef OST_LEVELZERO_WITHOUT_WAITS  // a test shows that the test-suite finds this
  device_.check(api.zeFenceHostSynchronize(fence_, kForever), "zeFenceHostSynchronize");
  device_.check(api.zeFenceReset(fence_), "zeFenceReset");
#endif
}

void Lane::wait_until_idle() noexcept { device_.api().zeCommandQueueSynchronize(queue_, kForever); }

void Lane::reset_lists() {
  for (auto& list : lists_) list->reset();
}

// --- one run of a queue's thread

// Cuts a submit into lists: recorded ones as they are, all else in lists of the lane.
class Queue::Run {
 public:
  Run(Queue& queue, Lane& lane, Timer* timer) : queue_(queue), lane_(lane), timer_(timer) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    for (const auto& [list, recording] : lent_) list->give_back(recording);
  }

  void add(const Command& c, uint32_t index) {
    const bool recorded = c.kind == OST_CMD_CMDLIST;
    if (recorded && timer_ == nullptr) {
      finish();
      auto& list = static_cast<CommandList&>(*c.list);
      lent_.emplace_back(&list, list.borrow(c));
      lists_.push_back(lent_.back().second->list->get());
      return;
    }
    if (!recorder_) {
      List& list = lane_.list(used_++);
      recorder_.emplace(*queue_.device_, list, timer_);
      lists_.push_back(list.get());
    }
    if (recorded)
      recorder_->add_list(c.listed);
    else
      recorder_->add(c, index);
  }
  void execute() {
    finish();
    lane_.run(std::move(lists_));
  }

 private:
  void finish() {
    if (recorder_) recorder_->finish();
    recorder_.reset();
  }

  Queue& queue_;
  Lane& lane_;
  Timer* timer_;
  size_t used_ = 0;  // of the lane's lists
  std::optional<Recorder> recorder_;
  std::vector<ze::ListHandle> lists_;
  std::vector<std::pair<CommandList*, std::shared_ptr<CommandList::Recording>>> lent_;
};

// --- queues

Queue::Queue(DevicePtr device)
    : device_(std::move(device)),
      compute_(*device_, device_->compute()),
      timer_(*device_),
      worker_(device_->uses()) {}

void Queue::submit(std::vector<Command> commands, ost::plugin::Worker::Job job) {
  device_->use();
  for (const Command& c : commands) {
    if (c.kind == OST_CMD_DISPATCH) c.executable->check(c);
    for (const Command& listed : c.listed)
      if (listed.kind == OST_CMD_DISPATCH) listed.executable->check(listed);
  }
  job.run = [this, commands = std::move(commands)] { run(commands); };
  worker_.accept(std::move(job));
}

// Copies have an engine of their own where there is one.
Lane& Queue::lane_for(const std::vector<Command>& commands) {
  const auto& engine = device_->copy();
  if (!engine || !std::ranges::all_of(
                     commands, [&](const Command& c) { return Recorder::is_transfer(c, *engine); }))
    return compute_;
  if (copy_ == nullptr) copy_ = std::make_unique<Lane>(*device_, *engine);
  return *copy_;
}

void Queue::run(const std::vector<Command>& commands) {
  device_->use();
  bool timed = false;
  {
    const std::scoped_lock lock(mutex_);
    timed = profiling_;
  }
  if (commands.empty()) return;
  Lane& lane = lane_for(commands);
  try {
    Run run(*this, lane, timed ? &timer_ : nullptr);
    for (uint32_t i = 0; i < commands.size(); ++i) run.add(commands[i], i);
    run.execute();
    lane.reset_lists();  // they hold on to kernels and memory
  } catch (...) {
    lane.wait_until_idle();  // what they use may be freed afterwards
    ost::plugin::fence([&] { lane.reset_lists(); });
    timer_.cancel();
    throw;
  }
  if (!timed) return;
  const auto times = timer_.read();
  const std::scoped_lock lock(mutex_);
  times_.insert(times_.end(), times.begin(), times.end());
}

// --- profiling

void Queue::enable_profile(bool on) {
  if (on && device_->api().zeDeviceGetGlobalTimestamps == nullptr)
    ost::plugin::fail(OST_UNIMPLEMENTED, device_->api().path, " has no timestamps");
  const std::scoped_lock lock(mutex_);
  profiling_ = on;
}

void Queue::drain_profile(ost_profile_record_t* out, uint32_t capacity, uint32_t* out_count) {
  const std::scoped_lock lock(mutex_);
  ost::plugin::drain_records(times_, out, capacity, out_count);
}

}  // namespace levelzero
