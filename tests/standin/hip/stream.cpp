// Streams and events: each stream is a thread, so that work is as late here as it is on a GPU.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "standin.hpp"

namespace standin {
namespace {

class Stream {
 public:
  Stream() : device(current_device()), thread_([this] { work(); }) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void push(Task task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  const int device;

  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      if (sticky() == kSuccess) task();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool closing_ = false, busy_ = false;
  std::thread thread_;  // last
};

std::mutex streams_mutex;
std::vector<std::shared_ptr<Stream>> streams;

std::shared_ptr<Stream> find(void* handle) {
  const std::scoped_lock lock(streams_mutex);
  const auto it = std::ranges::find(streams, handle, [](const auto& s) { return s.get(); });
  return it == streams.end() ? nullptr : *it;
}

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point time;
};

}  // namespace

Error enqueue(void* stream, Task task) {
  const auto found = find(stream);
  if (found == nullptr)
    return kInvalidHandle;  // the null stream is not there: the driver has its own
  found->push(std::move(task));
  return kSuccess;
}

int device_of(void* stream) {
  const auto found = find(stream);
  return found == nullptr ? -1 : found->device;
}

void drain_all() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::scoped_lock lock(streams_mutex);
    all = streams;
  }
  for (const auto& s : all) s->drain();
}

}  // namespace standin

using namespace standin;

STANDIN_API int hipStreamCreateWithFlags(void** out, unsigned) {
  if (const Error e = entered("hipStreamCreateWithFlags")) return e;
  const auto stream = std::make_shared<Stream>();
  const std::scoped_lock lock(streams_mutex);
  streams.push_back(stream);
  *out = stream.get();
  return kSuccess;
}
STANDIN_API int hipStreamDestroy(void* handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return kInvalidHandle;
  stream->drain();
  const std::scoped_lock lock(streams_mutex);
  std::erase(streams, stream);
  return kSuccess;
}
STANDIN_API int hipStreamSynchronize(void* handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (capture_refuses(handle)) return kCaptureUnsupported;
  stream->drain();
  return entered("hipStreamSynchronize");
}

STANDIN_API int hipEventCreate(void** out) {
  if (const Error e = entered("hipEventCreate")) return e;
  *out = new Event;
  return kSuccess;
}
STANDIN_API int hipEventDestroy(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
STANDIN_API int hipEventRecord(void* handle, void* stream) {
  if (const Error e = entered("hipEventRecord")) return e;
  auto* event = static_cast<Event*>(handle);
  uint64_t turn;
  {
    const std::scoped_lock lock(event->mutex);
    turn = ++event->recorded;
  }
  return enqueue(stream, [=] {
    const std::scoped_lock lock(event->mutex);
    event->reached = turn;
    event->time = std::chrono::steady_clock::now();
    event->changed.notify_all();
  });
}
STANDIN_API int hipEventSynchronize(void* handle) {
  auto* event = static_cast<Event*>(handle);
  std::unique_lock lock(event->mutex);
  // A stream of a device that is lost runs nothing any more.
  while (event->reached < event->recorded && sticky() == kSuccess)
    event->changed.wait_for(lock, std::chrono::milliseconds(10));
  return sticky();
}
STANDIN_API int hipEventElapsedTime(float* out, void* from, void* to) {
  auto *first = static_cast<Event*>(from), *second = static_cast<Event*>(to);
  if (first == second) return *out = 0, kSuccess;
  const std::scoped_lock lock(first->mutex, second->mutex);
  if (first->recorded == 0 || second->recorded == 0) return kInvalidHandle;
  if (first->reached < first->recorded || second->reached < second->recorded) return kNotReady;
  *out = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return kSuccess;
}
