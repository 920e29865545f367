// The handles behind a synchronous device's table, and the in-order queue: checks each command,
// runs it, keeps times. Invariant: a submit that fails has failed all its signals, so nobody waits
// for ever (rule 7).
#ifndef OSTINATO_PLUGIN_SYNC_QUEUE_HPP_
#define OSTINATO_PLUGIN_SYNC_QUEUE_HPP_

#include <algorithm>
#include <utility>

#include "command.hpp"
#include "sync.hpp"
#include "timeline.hpp"

namespace ost::plugin::sync {

// A device and whether it was lost. Shared by all handles made from it.
class DeviceState {
 public:
  explicit DeviceState(std::unique_ptr<SyncDevice> device) : device_(std::move(device)) {}
  // Throws once the device is lost.
  SyncDevice& get() {
    if (lost_.load(std::memory_order_acquire))
      throw Failure(OST_DEVICE_LOST, "the device was lost", 7);
    return *device_;
  }
  SyncDevice& even_if_lost() { return *device_; }
  void lose() { lost_.store(true, std::memory_order_release); }

 private:
  std::unique_ptr<SyncDevice> device_;
  std::atomic<bool> lost_{false};
};
using DevicePtr = std::shared_ptr<DeviceState>;

struct Buffer {
  DevicePtr device;
  std::byte* data = nullptr;
  uint64_t size = 0;
  bool imported = false;
};
struct Executable {
  DevicePtr device;
  std::shared_ptr<SyncExecutable> executable;
};
struct CommandList {
  DevicePtr device;
  std::unique_ptr<SyncCommandList> list;
  std::vector<uint64_t> slot_need;  // bytes that the range bound to each slot must have
  uint32_t var_count = 0;
};
struct Queue {
  DevicePtr device;
  std::vector<Range> ranges;  // refs of the command that is being run
  bool profiling = false;
  Profile profile;
};

inline Range part_of(const Buffer& buffer, uint64_t offset, uint64_t size) {
  if (offset > buffer.size || size > buffer.size - offset) {
    fail_rule(8, "bytes ", offset, " to ", offset, " + ", size, " are outside a buffer of ",
              buffer.size, " bytes");
  }
  return {buffer.data + offset, size};
}
inline Range resolve(const ost_ref_t& ref) {
  if (ref.slot != 0) fail_rule(8, "a slot is used outside a command list");
  return part_of(object<Buffer>(ref.buffer), ref.offset, ref.size);
}

inline void copy(Range to, Range from) {
  if (to.size != from.size) fail_rule(8, "copy of ", from.size, " bytes to a range of ", to.size);
  if (to.size > 0) std::memmove(to.data, from.data, to.size);
}

inline void fill(Range to, uint64_t pattern, uint32_t pattern_size) {
  if (to.size % pattern_size != 0) {
    fail_rule(8, "fill of ", to.size, " bytes with a pattern of ", pattern_size, " bytes");
  }
  if (pattern_size == 1) {
    if (to.size > 0) std::memset(to.data, static_cast<int>(pattern & 0xff), to.size);
    return;
  }
  unsigned char bytes[8];
  for (uint32_t i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(pattern >> (8 * i));
  for (uint64_t at = 0; at < to.size; at += pattern_size)
    std::memcpy(to.data + at, bytes, pattern_size);
}

// Runs a dispatch and keeps its time if somebody wants it.
inline void timed_dispatch(SyncDevice& device, const Dispatch& dispatch, uint32_t index,
                           Profile* profile) {
  if (profile == nullptr) return device.dispatch(dispatch);
  const uint64_t start = now_ns();
  device.dispatch(dispatch);
  profile->add(index, start, now_ns());
}

// The command list of devices that have none of their own.
class PlainList : public SyncCommandList {
 public:
  PlainList(DevicePtr device, Recording&& recording)
      : device_(std::move(device)), recording_(std::move(recording)) {}

  void run(std::span<const Range> slots, std::span<const int64_t> vars, Profile* profile) override {
    const std::scoped_lock lock(mutex_);
    SyncDevice& device = device_->get();
    for (uint32_t i = 0; i < recording_.commands.size(); ++i) {
      const Recorded& c = recording_.commands[i];
      ranges_.clear();
      for (const RecordedRef& ref : c.refs) ranges_.push_back(ref.bind(slots));
      if (c.kind == OST_CMD_COPY) copy(ranges_[0], ranges_[1]);
      if (c.kind == OST_CMD_FILL) fill(ranges_[0], c.fill_pattern, c.fill_pattern_size);
      if (c.kind == OST_CMD_DISPATCH) run_dispatch(device, c, vars, i, profile);
    }
  }

 private:
  void run_dispatch(SyncDevice& device, const Recorded& c, std::span<const int64_t> vars,
                    uint32_t index, Profile* profile) {
    vars_.clear();
    for (const uint32_t var : c.var_map) vars_.push_back(vars[var]);
    uint64_t grid[3];
    for (int d = 0; d < 3; ++d) {
      grid[d] = c.grid_var[d] > 0 ? static_cast<uint64_t>(vars[c.grid_var[d] - 1]) : c.grid[d];
    }
    timed_dispatch(device, {c.executable.get(), c.entry, ranges_, vars_, grid, c.group}, index,
                   profile);
  }

  DevicePtr device_;
  Recording recording_;
  std::mutex mutex_;
  std::vector<Range> ranges_;
  std::vector<int64_t> vars_;
};

inline Recorded record_command(const ost_command_t& c, uint32_t slot_count, uint32_t var_count) {
  check_shape(c);
  if (c.kind == OST_CMD_CMDLIST) fail_rule(10, "a command list inside a command list");
  Recorded out;
  out.kind = c.kind;
  out.level = c.level;
  for (uint32_t i = 0; i < c.ref_count; ++i) {
    const ost_ref_t& ref = c.refs[i];
    if (ref.slot > slot_count)
      fail_rule(8, "slot ", ref.slot, " of a command list with ", slot_count);
    if (ref.slot > 0 && ref.size > UINT64_MAX - ref.offset)
      fail_rule(8, "offset and size of a ref overflow");
    if (ref.slot > 0) {
      out.refs.push_back({nullptr, ref.offset, ref.size, ref.slot});
    } else {
      const Range range = resolve(ref);
      out.refs.push_back({range.data, 0, range.size, 0});
    }
  }
  if (c.kind == OST_CMD_FILL) {
    out.fill_pattern = c.fill_pattern;
    out.fill_pattern_size = c.fill_pattern_size;
  }
  if (c.kind != OST_CMD_DISPATCH) return out;
  if (c.var_count > 0 && c.var_map == nullptr)
    fail_rule(8, "a recorded dispatch with vars needs a var_map");
  for (uint32_t i = 0; i < c.var_count; ++i) {
    if (c.var_map[i] >= var_count)
      fail_rule(8, "variable ", c.var_map[i], " of a command list with ", var_count);
    out.var_map.push_back(c.var_map[i]);
  }
  out.executable = object<Executable>(c.executable).executable;
  out.entry = c.entry;
  std::copy_n(c.grid, 3, out.grid);
  std::copy_n(c.group, 3, out.group);
  std::copy_n(c.grid_var, 3, out.grid_var);
  for (const uint32_t var : out.grid_var) {
    if (var > var_count)
      fail_rule(8, "a grid uses variable ", var - 1, " of a command list with ", var_count);
  }
  return out;
}

inline std::unique_ptr<CommandList> make_list(const DevicePtr& device,
                                              const ost_command_t* commands, uint32_t count,
                                              uint32_t slot_count, uint32_t var_count) {
  SyncDevice& target = device->get();
  auto out = std::make_unique<CommandList>();
  out->device = device;
  out->slot_need.resize(slot_count);
  out->var_count = var_count;
  Recording recording{{}, slot_count, var_count};
  for (uint32_t i = 0; i < count; ++i) {
    recording.commands.push_back(record_command(command_at(commands, i), slot_count, var_count));
    for (const RecordedRef& ref : recording.commands.back().refs) {
      if (ref.slot == 0) continue;
      uint64_t& need = out->slot_need[ref.slot - 1];
      need = std::max(need, ref.offset + ref.size);
    }
  }
  out->list = target.record(recording);
  if (!out->list) out->list = std::make_unique<PlainList>(device, std::move(recording));
  return out;
}

// Replays a list with the binding table in `slots`.
inline void run_list(CommandList& list, const ost_command_t& c, std::span<const Range> slots,
                     Profile* profile) {
  if (slots.size() != list.slot_need.size()) {
    fail_rule(8, "command list has ", list.slot_need.size(), " slots, ", slots.size(),
              " were bound");
  }
  if (c.var_count != list.var_count || (c.var_count > 0 && c.vars == nullptr)) {
    fail_rule(8, "command list has ", list.var_count, " variables, ", c.var_count, " were given");
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].size < list.slot_need[i]) {
      fail_rule(8, "slot ", i + 1, " needs ", list.slot_need[i], " bytes, ", slots[i].size,
                " were bound");
    }
  }
  list.list->run(slots, {c.vars, c.var_count}, profile);
}

inline void run_command(Queue& queue, SyncDevice& device, const ost_command_t& c, uint32_t index) {
  check_shape(c);
  queue.ranges.clear();
  for (uint32_t i = 0; i < c.ref_count; ++i) queue.ranges.push_back(resolve(c.refs[i]));
  const std::vector<Range>& ranges = queue.ranges;
  Profile* profile = queue.profiling ? &queue.profile : nullptr;
  switch (c.kind) {
    case OST_CMD_COPY:
      return copy(ranges[0], ranges[1]);
    case OST_CMD_FILL:
      return fill(ranges[0], c.fill_pattern, c.fill_pattern_size);
    case OST_CMD_DISPATCH: {
      if (c.var_count > 0 && c.vars == nullptr) fail_rule(8, "a dispatch with vars has no values");
      SyncExecutable* executable = object<Executable>(c.executable).executable.get();
      return timed_dispatch(device,
                            {executable, c.entry, ranges, {c.vars, c.var_count}, c.grid, c.group},
                            index, profile);
    }
    default:
      return run_list(object<CommandList>(c.cmdlist), c, ranges, profile);
  }
}

inline void submit(Queue& queue, std::span<const ost_point_t> waits, const ost_command_t* commands,
                   uint32_t count, std::span<const ost_point_t> signals) {
  try {
    SyncDevice& device = queue.device->get();
    for (const ost_point_t& p : waits) object<Timeline>(p.timeline).wait(p.value, UINT64_MAX);
    for (uint32_t i = 0; i < count; ++i) run_command(queue, device, command_at(commands, i), i);
    for (const ost_point_t& p : signals) object<Timeline>(p.timeline).signal(p.value);
  } catch (...) {
    const Failure failure = current_failure();
    for (const ost_point_t& p : signals) {
      if (p.timeline == nullptr) continue;
      auto& timeline = object<Timeline>(p.timeline);
      if (timeline.value() < p.value) timeline.fail_with(failure.error());
    }
    throw;
  }
}

}  // namespace ost::plugin::sync

#endif  // OSTINATO_PLUGIN_SYNC_QUEUE_HPP_
