#include "queue.hpp"

#include <cstring>

namespace opencl {

Queue::Queue(DevicePtr device) : device_(std::move(device)), worker_(device_->uses()) {
  cl_int code = CL_SUCCESS;
  queue_ = cl::CommandQueue(
      clCreateCommandQueue(device_->context(), device_->id(), CL_QUEUE_PROFILING_ENABLE, &code));
  cl::check(code, "clCreateCommandQueue");
}

void Queue::submit(std::vector<Command> commands, ost::plugin::Worker::Job job) {
  for (const Command& c : commands)
    if (c.kind == OST_CMD_DISPATCH) c.executable->check(c);
  job.run = [this, commands = std::move(commands)] {
    try {
      run(commands);
    } catch (...) {
      clFinish(queue_.get());  // those before the one that failed may still run
      throw;
    }
  };
  worker_.accept(std::move(job));
}

void Queue::run(const std::vector<Command>& commands) {
  bool profiling;
  {
    const std::scoped_lock lock(mutex_);
    profiling = profiling_;
  }
  std::vector<std::pair<uint32_t, cl::Event>> events;
  for (uint32_t i = 0; i < commands.size(); ++i) {
    cl_event event = nullptr;
    const bool timed = profiling && commands[i].kind == OST_CMD_DISPATCH;
    give(commands[i], timed ? &event : nullptr);
    if (event != nullptr) events.emplace_back(i, cl::Event(event));
  }
  cl::check(clFinish(queue_.get()), "clFinish");
  if (!events.empty()) keep_times(events);
}

void Queue::give(const Command& c, cl_event* event) {
  if (c.kind == OST_CMD_FILL) return fill(c);
  if (c.kind == OST_CMD_DISPATCH) return c.executable->launch(queue_.get(), c, event);
  const Command::Ref &to = c.refs[0], &from = c.refs[1];
  if (to.size == 0) return;
  cl::check(clEnqueueCopyBuffer(queue_.get(), from.buffer->memory.get(), to.buffer->memory.get(),
                                from.offset, to.offset, to.size, 0, nullptr, nullptr),
            "clEnqueueCopyBuffer");
}

// OpenCL wants the offset to be a multiple of the pattern; elsewhere the bytes come from the host.
void Queue::fill(const Command& c) {
  const Command::Ref& to = c.refs[0];
  if (to.size == 0) return;
  if (to.offset % c.fill_pattern_size == 0)
    return cl::check(
        clEnqueueFillBuffer(queue_.get(), to.buffer->memory.get(), &c.fill_pattern,
                            c.fill_pattern_size, to.offset, to.size, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  std::vector<unsigned char> bytes(to.size);
  for (uint64_t i = 0; i < to.size; i += c.fill_pattern_size)
    std::memcpy(&bytes[i], &c.fill_pattern, c.fill_pattern_size);
  cl::check(clEnqueueWriteBuffer(queue_.get(), to.buffer->memory.get(), CL_TRUE, to.offset, to.size,
                                 bytes.data(), 0, nullptr, nullptr),
            "clEnqueueWriteBuffer");
}

// --- profiling

void Queue::enable_profile(bool on) {
  const std::scoped_lock lock(mutex_);
  profiling_ = on;
}

void Queue::keep_times(const std::vector<std::pair<uint32_t, cl::Event>>& events) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [command, event] : events) {
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr);
    clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
    times_.push_back({sizeof(ost_profile_record_t), command, start, end});
  }
}

void Queue::drain_profile(ost_profile_record_t* out, uint32_t capacity, uint32_t* out_count) {
  const std::scoped_lock lock(mutex_);
  ost::plugin::drain_records(times_, out, capacity, out_count);
}

}  // namespace opencl
