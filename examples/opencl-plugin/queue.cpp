#include "queue.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace opencl {

using ost::plugin::fail_rule;

// --- commands

static Command::Ref copy_ref(const ost_ref_t& ref) {
  if (ref.slot != 0) fail_rule(8, "a slot outside of a command list");
  if (ref.buffer == nullptr) fail_rule(8, "a ref without a buffer");
  const Buffer& buffer = *reinterpret_cast<Buffer*>(ref.buffer);
  if (ref.offset > buffer.size || ref.size > buffer.size - ref.offset)
    fail_rule(8, "bytes ", ref.offset, " to ", ref.offset + ref.size, " of a buffer of ",
              buffer.size);
  return {buffer.memory.get(), ref.offset, ref.size};
}

static void check_copy(const Command& c) {
  if (c.refs.size() != 2) fail_rule(8, "a copy with ", c.refs.size(), " refs, wanted 2");
  const Command::Ref &to = c.refs[0], &from = c.refs[1];
  if (to.size != from.size) fail_rule(8, "a copy of ", from.size, " bytes to ", to.size);
  if (to.memory == from.memory && to.offset < from.offset + from.size &&
      from.offset < to.offset + to.size)
    fail_rule(8, "a copy between ranges that overlap");
}

static void check_fill(const Command& c) {
  const uint32_t size = c.fill_pattern_size;
  if (c.refs.size() != 1) fail_rule(8, "a fill with ", c.refs.size(), " refs, wanted 1");
  if (size != 1 && size != 2 && size != 4 && size != 8)
    fail_rule(8, "a pattern of ", size, " bytes, wanted 1, 2, 4 or 8");
  if (c.refs[0].size % size != 0)
    fail_rule(8, "a fill of ", c.refs[0].size, " bytes with a pattern of ", size);
}

Command copy_command(const Device& device, const ost_command_t& command) {
  ost::plugin::check_size(&command, "ost_command_t");
  Command c;
  c.kind = command.kind;
  if (command.ref_count > 0 && command.refs == nullptr) fail_rule(8, "refs are null");
  for (uint32_t i = 0; i < command.ref_count; ++i) c.refs.push_back(copy_ref(command.refs[i]));
  c.fill_pattern = command.fill_pattern;
  c.fill_pattern_size = command.fill_pattern_size;
  switch (command.kind) {
    case OST_CMD_COPY:
      check_copy(c);
      return c;
    case OST_CMD_FILL:
      check_fill(c);
      return c;
    case OST_CMD_DISPATCH:
      break;
    default:
      fail_rule(1, "a command of kind ", command.kind);
  }
  if (command.executable == nullptr) fail_rule(8, "a dispatch without an executable");
  c.executable = *reinterpret_cast<std::shared_ptr<Executable>*>(command.executable);
  if (command.entry != 0)
    ost::plugin::fail(OST_NOT_FOUND, "entry ", command.entry, " of an image with 1");
  for (const Command::Ref& r : c.refs)
    if (r.offset % device.align() != 0)
      fail_rule(8, "a parameter at byte ", r.offset, ", wanted a multiple of ", device.align());
  if (command.var_count > 0 && command.vars == nullptr) fail_rule(8, "variables are null");
  c.vars.assign(command.vars, command.vars + command.var_count);
  for (int d = 0; d < 3; ++d) c.grid[d] = command.grid[d], c.group[d] = command.group[d];
  for (int d = 0; d < 3; ++d)
    if (c.group[d] == 0 || c.grid[d] % c.group[d] != 0)
      fail_rule(8, "a grid of ", c.grid[d], " work-items in groups of ", c.group[d]);
  return c;
}

// --- the queue

Queue::Queue(DevicePtr device) : device_(std::move(device)) {
  cl_int code = CL_SUCCESS;
  queue_ = cl::CommandQueue(
      clCreateCommandQueue(device_->context(), device_->id(), CL_QUEUE_PROFILING_ENABLE, &code));
  cl::check(code, "clCreateCommandQueue");
  thread_ = std::thread([this] { work(); });
}

Queue::~Queue() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::submit(std::vector<Point> waits, std::vector<Command> commands,
                   std::vector<Point> signals) {
  std::vector<cl_mem> buffers;
  for (const Command& c : commands)
    for (const Command::Ref& r : c.refs) buffers.push_back(r.memory);
  device_->begin_work(buffers);
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(
        {std::move(waits), std::move(commands), std::move(signals), std::move(buffers)});
  }
  changed_.notify_all();
}

void Queue::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::optional<ost::plugin::Failure> failure;
    try {
      run(job);
    } catch (...) {
      failure = ost::plugin::current_failure();
    }
    device_->end_work(job.buffers);  // before the signal: who waits for it finds them unused
    for (const Point& p : job.signals) {
      if (failure)
        p.timeline->fail_with(failure->error());
      else
        ost::plugin::fence([&] { p.timeline->signal(p.value); });
    }
  }
}

void Queue::run(const Job& job) {
  for (const Point& p : job.waits) p.timeline->wait(p.value, UINT64_MAX);
  bool profiling;
  {
    const std::scoped_lock lock(mutex_);
    profiling = profiling_;
  }
  std::vector<std::pair<uint32_t, cl::Event>> events;
  for (uint32_t i = 0; i < job.commands.size(); ++i) {
    cl_event event = nullptr;
    const bool timed = profiling && job.commands[i].kind == OST_CMD_DISPATCH;
    give(job.commands[i], timed ? &event : nullptr);
    if (event != nullptr) events.emplace_back(i, cl::Event(event));
  }
  cl::check(clFinish(queue_.get()), "clFinish");
  if (!events.empty()) keep_times(events);
}

void Queue::give(const Command& c, cl_event* event) {
  if (c.kind == OST_CMD_FILL) return fill(c);
  if (c.kind == OST_CMD_COPY) {
    if (c.refs[0].size == 0) return;
    return cl::check(
        clEnqueueCopyBuffer(queue_.get(), c.refs[1].memory, c.refs[0].memory, c.refs[1].offset,
                            c.refs[0].offset, c.refs[0].size, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
  }
  std::vector<Executable::Buffer> buffers;
  for (const Command::Ref& r : c.refs) buffers.push_back({r.memory, r.offset});
  c.executable->launch(queue_.get(), buffers, c.vars, c.grid, c.group, event);
}

// OpenCL wants the offset to be a multiple of the pattern; elsewhere the bytes come from the host.
void Queue::fill(const Command& c) {
  const Command::Ref& to = c.refs[0];
  if (to.size == 0) return;
  if (to.offset % c.fill_pattern_size == 0)
    return cl::check(
        clEnqueueFillBuffer(queue_.get(), to.memory, &c.fill_pattern, c.fill_pattern_size,
                            to.offset, to.size, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  std::vector<unsigned char> bytes(to.size);
  for (uint64_t i = 0; i < to.size; i += c.fill_pattern_size)
    std::memcpy(&bytes[i], &c.fill_pattern, c.fill_pattern_size);
  cl::check(clEnqueueWriteBuffer(queue_.get(), to.memory, CL_TRUE, to.offset, to.size, bytes.data(),
                                 0, nullptr, nullptr),
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

std::vector<ost_profile_record_t> Queue::drain_profile(size_t most) {
  const std::scoped_lock lock(mutex_);
  const auto n = static_cast<std::ptrdiff_t>(std::min(most, times_.size()));
  std::vector<ost_profile_record_t> out(times_.begin(), times_.begin() + n);
  times_.erase(times_.begin(), times_.begin() + n);
  return out;
}

}  // namespace opencl
