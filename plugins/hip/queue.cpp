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

static std::byte* data_of(const Command::Ref& ref) {
  return ref.buffer->memory->data() + ref.offset;
}

Queue::Queue(DevicePtr device)
    : device_(std::move(device)),
      stream_(device_->api(), device_->index()),
      worker_(device_->uses()) {}

void Queue::submit(std::vector<Command> commands, ost::plugin::Worker::Job job) {
  device_->use();
  for (const Command& c : commands)
    if (c.kind == OST_CMD_DISPATCH) c.executable->check(c);
  job.run = [this, commands = std::move(commands)] {
    try {
      run(commands);
    } catch (...) {
      // Those before the one that failed may still run.
      device_->api().hipStreamSynchronize(stream_.get());
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
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const bool timed = watch && commands[i].kind == OST_CMD_DISPATCH;
    if (timed) watch->start(i);
    give(commands[i]);
    if (timed) watch->stop();
  }
  device_->check(device_->api().hipStreamSynchronize(stream_.get()), "hipStreamSynchronize");
  if (!watch) return;
  const auto times = watch->read();
  const std::scoped_lock lock(mutex_);
  times_.insert(times_.end(), times.begin(), times.end());
}

void Queue::give(const Command& c) {
  if (c.kind == OST_CMD_FILL) return fill(c);
  if (c.kind == OST_CMD_DISPATCH) return c.executable->launch(stream_.get(), c);
  if (c.refs[0].size == 0) return;
  device_->check(device_->api().hipMemcpyAsync(data_of(c.refs[0]), data_of(c.refs[1]),
                                               c.refs[0].size, kMemcpyDefault, stream_.get()),
                 "hipMemcpyAsync");
}

void Queue::fill(const Command& c) {
  const Api& api = device_->api();
  const Command::Ref& to = c.refs[0];
  if (to.size == 0) return;
  const bool aligned = to.offset % c.fill_pattern_size == 0;
  const uint64_t count = to.size / c.fill_pattern_size;
  if (c.fill_pattern_size == 1)
    return device_->check(api.hipMemsetAsync(data_of(to), static_cast<int>(c.fill_pattern & 0xff),
                                             count, stream_.get()),
                          "hipMemsetAsync");
  if (c.fill_pattern_size == 2 && aligned && api.hipMemsetD16Async != nullptr)
    return device_->check(
        api.hipMemsetD16Async(data_of(to), static_cast<unsigned short>(c.fill_pattern), count,
                              stream_.get()),
        "hipMemsetD16Async");
  if (c.fill_pattern_size == 4 && aligned && api.hipMemsetD32Async != nullptr)
    return device_->check(
        api.hipMemsetD32Async(data_of(to), static_cast<int>(c.fill_pattern), count, stream_.get()),
        "hipMemsetD32Async");
  fill_from_host(c);
}

// HIP has no pattern of 8 bytes, and none at an odd place: the bytes come from the host.
void Queue::fill_from_host(const Command& c) {
  const Command::Ref& to = c.refs[0];
  std::vector<std::byte> bytes(std::min<uint64_t>(to.size, 1u << 20));
  for (uint64_t i = 0; i < bytes.size(); i += c.fill_pattern_size)
    std::memcpy(&bytes[i], &c.fill_pattern, c.fill_pattern_size);
  for (uint64_t at = 0; at < to.size; at += bytes.size())
    device_->check(device_->api().hipMemcpyAsync(data_of(to) + at, bytes.data(),
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
