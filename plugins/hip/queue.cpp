#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace hip {

// Times of dispatches, by events around each. Events give differences only: one that is waited for
// says what time of the host's clock it is on the stream.
class Queue::Stopwatch {
 public:
  explicit Stopwatch(Queue& queue) : queue_(queue), api_(queue.device_->api()) {
    base_ = record();
    queue_.device_->check(api_.hipEventSynchronize(base_), "hipEventSynchronize");
    base_ns_ = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::steady_clock::now().time_since_epoch())
                                         .count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    for (Event event : events_) api_.hipEventDestroy(event);
  }

  void start(uint32_t command) { laps_.push_back({command, record(), nullptr}); }
  void stop() { laps_.back().end = record(); }
  // The stream has ended all that was given to it.
  std::vector<ost_profile_record_t> read() const {
    std::vector<ost_profile_record_t> out;
    for (const Lap& lap : laps_)
      out.push_back(
          {sizeof(ost_profile_record_t), lap.command, time_of(lap.start), time_of(lap.end)});
    return out;
  }

 private:
  struct Lap {
    uint32_t command;
    Event start, end;
  };
  Event record() {
    Event event = nullptr;
    queue_.device_->check(api_.hipEventCreate(&event), "hipEventCreate");
    events_.push_back(event);
    queue_.device_->check(api_.hipEventRecord(event, queue_.stream_.get()), "hipEventRecord");
    return event;
  }
  uint64_t time_of(Event event) const {
    float ms = 0;
    queue_.device_->check(api_.hipEventElapsedTime(&ms, base_, event), "hipEventElapsedTime");
    return base_ns_ + static_cast<uint64_t>(std::max(0.0, static_cast<double>(ms) * 1e6));
  }

  Queue& queue_;
  const Api& api_;
  std::vector<Event> events_;  // owned
  std::vector<Lap> laps_;
  Event base_ = nullptr;
  uint64_t base_ns_ = 0;
};

Queue::Queue(DevicePtr device)
    : device_(std::move(device)),
      stream_(device_->api(), device_->index()),
      worker_(device_->uses()) {}

// The buffers of other devices that copies use, in use there as long as this lives.
class ForeignUses {
 public:
  ForeignUses(const Device& home, const std::vector<Command>& commands) {
    for (const Command& c : commands) {
      add(home, c);
      for (const Command& l : c.listed) add(home, l);
    }
  }
  ForeignUses(const ForeignUses&) = delete;
  ForeignUses& operator=(const ForeignUses&) = delete;
  ~ForeignUses() {
    for (const Use& u : uses_) u.device->uses().end({&u.buffer, 1});
  }

 private:
  struct Use {
    DevicePtr device;
    const void* buffer;
  };
  void add(const Device& home, const Command& c) {
    if (c.kind != OST_CMD_COPY) return;
    for (const Command::Ref& r : c.refs) {
      if (r.buffer->device->index() == home.index()) continue;
      uses_.push_back({r.buffer->device, r.buffer});
      r.buffer->device->uses().begin({&uses_.back().buffer, 1});
    }
  }
  std::vector<Use> uses_;
};

// Whether HIP has a function for this fill.
static bool fills_itself(const Api& api, const Command& c) {
  const uint32_t size = c.fill_pattern_size;
  return size == 1 ||
         (c.refs[0].offset % size == 0 && ((size == 2 && api.hipMemsetD16Async != nullptr) ||
                                           (size == 4 && api.hipMemsetD32Async != nullptr)));
}

static void check(const Device& device, const Command& c) {
  if (c.kind == OST_CMD_DISPATCH) c.executable->check(c);
  if (c.kind == OST_CMD_FILL) check_home(device, *c.refs[0].buffer);
  for (const Command& listed : c.listed) check(device, listed);
}

void Queue::submit(std::vector<Command> commands, ost::plugin::Worker::Job job) {
  device_->use();
  for (const Command& c : commands) check(*device_, c);
  auto foreign = std::make_shared<ForeignUses>(*device_, commands);
  job.run = [this, commands = std::move(commands), foreign] {
    try {
      run(commands);
    } catch (...) {
      // Those before the one that failed may still run.
      device_->api().hipStreamSynchronize(stream_.get());
      graphs_.clear();
      throw;
    }
  };
  worker_.accept(std::move(job));
}

void Queue::run(const std::vector<Command>& commands) {
  device_->use();
  std::optional<Stopwatch> watch;
  {
    const std::scoped_lock lock(mutex_);
    if (profiling_) watch.emplace(*this);
  }
  const auto one = [&](const Command& c, uint32_t index) {
    const bool timed = watch && c.kind == OST_CMD_DISPATCH;
    if (timed) watch->start(index);
    give(c);
    if (timed) watch->stop();
  };
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const Command& c = commands[i];
    if (c.kind != OST_CMD_CMDLIST) {
      one(c, i);
    } else if (!watch) {
      give_list(c);
    } else {  // each kernel by itself has a time
      for (uint32_t l = 0; l < c.listed.size(); ++l) one(c.listed[l], l);
    }
  }
  device_->check(device_->api().hipStreamSynchronize(stream_.get()), "hipStreamSynchronize");
  for (InUse& used : graphs_) used.list->put_back(std::move(used.graph));
  graphs_.clear();
  if (!watch) return;
  const auto times = watch->read();
  const std::scoped_lock lock(mutex_);
  times_.insert(times_.end(), times.begin(), times.end());
}

void Queue::give_list(const Command& c) {
  const auto list = std::static_pointer_cast<List>(c.list);
  std::unique_ptr<ListGraph> graph;
  if (device_->api().has_graphs() && list->as_graph() && !c.listed.empty()) {
    try {
      graph = list->take(c.listed);
      if (graph)
        graph->update(c.listed);
      else
        graph = std::make_unique<ListGraph>(*device_, stream_.get(), c.listed,
                                            [this](const Command& l) { capture(l); });
    } catch (const ost::plugin::Failure& why) {
      // What this HIP cannot capture or change is given one by one from now on.
      if (why.status() == OST_DEVICE_LOST || why.status() == OST_OUT_OF_MEMORY) throw;
      graph.reset();
      list->never_as_graph();
    }
  }
  if (!graph) {
    for (const Command& l : c.listed) give(l);
    return;
  }
  graph->launch(stream_.get());
  graphs_.push_back({list, std::move(graph)});
}

void Queue::capture(const Command& c) {
  if (c.kind == OST_CMD_FILL && !fills_itself(device_->api(), c))
    fail(OST_UNIMPLEMENTED, "a fill that comes from the host is no node of a graph");
  give(c);
}

void Queue::give(const Command& c) {
  if (c.kind == OST_CMD_FILL) return fill(c);
  if (c.kind == OST_CMD_DISPATCH) return c.executable->launch(stream_.get(), c);
  if (c.refs[0].size > 0) copy(c);
}

void Queue::copy(const Command& c) {
  const Api& api = device_->api();
  const Command::Ref &to = c.refs[0], &from = c.refs[1];
  const int to_device = to.buffer->device->index(), from_device = from.buffer->device->index();
  if (to_device != from_device && api.hipMemcpyPeerAsync != nullptr)
    return device_->check(api.hipMemcpyPeerAsync(address_of(to), to_device, address_of(from),
                                                 from_device, to.size, stream_.get()),
                          "hipMemcpyPeerAsync");
  device_->check(
      api.hipMemcpyAsync(address_of(to), address_of(from), to.size, kMemcpyDefault, stream_.get()),
      "hipMemcpyAsync");
}

void Queue::fill(const Command& c) {
  const Api& api = device_->api();
  const Command::Ref& to = c.refs[0];
  if (to.size == 0) return;
  if (!fills_itself(api, c)) return fill_from_host(c);
  const uint64_t count = to.size / c.fill_pattern_size;
  const auto pattern = static_cast<int>(c.fill_pattern);
  std::byte* const at = address_of(to);
  if (c.fill_pattern_size == 1)
    device_->check(api.hipMemsetAsync(at, pattern & 0xff, count, stream_.get()), "hipMemsetAsync");
  else if (c.fill_pattern_size == 2)
    device_->check(api.hipMemsetD16Async(at, static_cast<unsigned short>(c.fill_pattern), count,
                                         stream_.get()),
                   "hipMemsetD16Async");
  else
    device_->check(api.hipMemsetD32Async(at, pattern, count, stream_.get()), "hipMemsetD32Async");
}

// HIP has no pattern of 8 bytes, and none at an odd place: the bytes come from the host.
void Queue::fill_from_host(const Command& c) {
  const Command::Ref& to = c.refs[0];
  std::vector<std::byte> bytes(std::min<uint64_t>(to.size, 1u << 20));
  for (uint64_t i = 0; i < bytes.size(); i += c.fill_pattern_size)
    std::memcpy(&bytes[i], &c.fill_pattern, c.fill_pattern_size);
  for (uint64_t at = 0; at < to.size; at += bytes.size())
    device_->check(device_->api().hipMemcpyAsync(address_of(to) + at, bytes.data(),
                                                 std::min<uint64_t>(bytes.size(), to.size - at),
                                                 kMemcpyDefault, stream_.get()),
                   "hipMemcpyAsync");
  device_->check(device_->api().hipStreamSynchronize(stream_.get()), "hipStreamSynchronize");
}

// --- profiling

void Queue::enable_profile(bool on) {
  if (on && !device_->api().has_events())
    fail(OST_UNIMPLEMENTED, device_->api().path, " has no events");
  const std::scoped_lock lock(mutex_);
  profiling_ = on;
}

void Queue::drain_profile(ost_profile_record_t* out, uint32_t capacity, uint32_t* out_count) {
  const std::scoped_lock lock(mutex_);
  ost::plugin::drain_records(times_, out, capacity, out_count);
}

}  // namespace hip
